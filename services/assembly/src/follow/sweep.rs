//! Outdated values go from a state that does not forget them itself.
//!
//! By the time of events alone: a partition that is read to its end comes as far as the wall clock, and last year's events,
//! read today, would be gone at once.

use rankwright_event::Timestamp;
use rankwright_feature::Plan;
use rankwright_state::{Error, Store};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
/// How long a value of a slot that no feature uses any more is kept.
const FORGOTTEN: Duration = Duration::from_secs(90 * 86_400);

/// When values were last looked through, in the time of events.
#[derive(Default)]
pub(super) struct Sweep(Option<Timestamp>);

impl Sweep {
    /// Events have come to `reached`: once in a day of their time, what is outdated by then is removed.
    pub(super) async fn reach(&mut self, reached: Timestamp, plan: &Plan, store: &dyn Store) -> Result<(), Error> {
        if store.shared() || self.0.is_some_and(|swept| reached <= swept.plus(DAY)) {
            return Ok(());
        }
        self.0 = Some(reached);
        store.expire(reached, plan.retention(), FORGOTTEN).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rankwright_config::Config;
    use rankwright_event::{Tenant, json};
    use rankwright_state::{Commit, Key, MemoryStore, Overlay, Position, Scope, Writer};

    const FEATURE: &str = "features: [{name: price, type: number, field: item.price, ttl: 10 days}]";

    #[tokio::test]
    async fn values_go_when_events_have_passed_their_time_and_not_by_the_clock() {
        let store = MemoryStore::default();
        let plan = Plan::compile(&Config::parse(FEATURE, "test").unwrap().0.features, &store).await.unwrap();
        let lease = store.acquire(&Writer("w".into())).await.unwrap();
        let write = async |item: &str, day: i64| {
            let event = format!(
                r#"{{"event":"item","id":"e{day}","timestamp":"{}","item":"{item}","fields":[{{"name":"price","value":1}}]}}"#,
                day * 86_400_000
            );
            let mut overlay = Overlay::default();
            plan.event(&json::decode(event.as_bytes()).unwrap(), &mut overlay);
            let (commit, _): (Commit, u64) = overlay.take(Position::default(), Position::default());
            store.commit(&lease, commit).await.unwrap();
        };
        write("a", 0).await;
        let key = Key::new(&Tenant::default(), Scope::Item("a".into()));
        let mut sweep = Sweep::default();
        for (day, there) in [(1, true), (9, true), (9, true), (12, false)] {
            write("b", day).await;
            sweep.reach(Timestamp::from_millis(day * 86_400_000), &plan, &store).await.unwrap();
            assert_eq!(store.read(std::slice::from_ref(&key)).await.unwrap()[0].is_some(), there, "day {day}");
        }
    }
}
