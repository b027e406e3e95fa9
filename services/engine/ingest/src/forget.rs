//! Forgetting a visitor or an item: what lies in the state for the join.
//!
//! A record on its way that shows the subject is removed as a whole, with other visitors and items in it: there are only a few.

use crate::error::Error;
use crate::feedback::notes;
use crate::record;
use crate::shared::{WRITER, stored};
use rankwright_clickthrough::{Subject, Who};
use rankwright_event::{Interaction, Ranking, SessionId};
use rankwright_state::{Commit, Entity, Key, Outcome, Space, Store, Writer};
use std::collections::HashSet;

/// Keys that are removed at once.
const AT_ONCE: usize = 1000;

/// What was removed from the state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unjoined {
    /// Rankings that were open.
    pub open: u64,
    /// Interactions that waited for their ranking.
    pub waiting: u64,
    /// Click-throughs that were closed, and not durable elsewhere yet.
    pub closed: u64,
    /// Visits that the records of a visitor name.
    pub sessions: HashSet<SessionId>,
}

/// Whose record it is, and what it shows.
#[derive(Default)]
struct Shown {
    ranking: Option<Ranking>,
    interactions: Vec<Interaction>,
}

/// Visits that records of a visitor in the state name.
///
/// # Errors
/// As [`forget`].
pub async fn sessions(store: &dyn Store, many: bool, subject: &Subject) -> Result<HashSet<SessionId>, Error> {
    find(store, many, subject).await.map(|(unjoined, _)| unjoined.sessions)
}

/// Removes open rankings, waiting interactions and closed click-throughs of a subject from a state, which has `many` writers
/// or one. No process may close rankings meanwhile.
///
/// # Errors
/// When the store fails, or holds a damaged record.
pub async fn forget(store: &dyn Store, many: bool, subject: &Subject) -> Result<Unjoined, Error> {
    let lease = store.acquire(&Writer(WRITER.to_owned())).await?; // the process that closed rankings has to read them again
    let (unjoined, keys) = find(store, many, subject).await?;
    for some in keys.chunks(AT_ONCE) {
        let writes = some.iter().map(|key| (key.clone(), None)).collect();
        let (from, to) = (lease.position.clone(), lease.position.clone());
        match store.commit(&lease, Commit { from, to, writes, ..Commit::default() }).await? {
            Outcome::Applied => {}
            Outcome::LostLease | Outcome::Exists => return Err(Error::LostLease { writer: WRITER.to_owned() }),
        }
    }
    Ok(unjoined)
}

/// What there is, and where.
async fn find(store: &dyn Store, many: bool, subject: &Subject) -> Result<(Unjoined, Vec<Key>), Error> {
    let (mut unjoined, mut keys) = (Unjoined::default(), Vec::new());
    for space in [Space::Joins, Space::Waiting, Space::Outbox] {
        for (key, entity) in store.scan(space).await? {
            let shown = if many { shown(&key, &entity)? } else { shown_alone(&key, &entity)? };
            if key.tenant != subject.tenant || !shown.has(subject) {
                continue;
            }
            match space {
                Space::Joins => unjoined.open += 1,
                Space::Waiting => unjoined.waiting += 1,
                _ => unjoined.closed += 1,
            }
            unjoined.sessions.extend(shown.sessions(subject));
            keys.push(key);
        }
    }
    let noted = store.scan(Space::Seen).await?.into_iter().map(|(key, _)| key);
    let noted = noted.filter(|key| key.tenant == subject.tenant && notes(key, subject));
    keys.extend(noted);
    Ok((unjoined, keys))
}

/// As many writers leave it.
fn shown(key: &Key, entity: &Entity) -> Result<Shown, Error> {
    if let Some(interaction) = stored::waiting(key, entity)? {
        return Ok(Shown { interactions: vec![interaction], ranking: None });
    }
    let ranking = stored::ranking(key, entity)?.map(|shown| shown.ranking);
    Ok(Shown { ranking, interactions: stored::late(key, entity)? })
}

/// As a single writer leaves it.
fn shown_alone(key: &Key, entity: &Entity) -> Result<Shown, Error> {
    let damaged = |reason| Error::Damaged { ranking: key.to_string(), reason };
    let restored = record::restore(entity).map_err(damaged)?;
    Ok(Shown { ranking: restored.shown.map(|shown| shown.ranking), interactions: restored.interactions })
}

impl Shown {
    fn has(&self, subject: &Subject) -> bool {
        match &subject.who {
            Who::User(user) => {
                let theirs = |of: &Option<_>| of.as_ref() == Some(user);
                self.ranking.as_ref().is_some_and(|ranking| theirs(&ranking.user))
                    || self.interactions.iter().any(|interaction| theirs(&interaction.user))
            }
            Who::Item(item) => {
                self.ranking.iter().flat_map(|ranking| &ranking.items).any(|shown| shown.id == *item)
                    || self.interactions.iter().any(|interaction| interaction.item == *item)
            }
        }
    }

    /// Those that belong to a visitor who is forgotten.
    fn sessions(&self, subject: &Subject) -> Vec<SessionId> {
        let Who::User(user) = &subject.who else { return Vec::new() };
        let of_ranking = self.ranking.iter().map(|ranking| (&ranking.user, &ranking.session));
        let of_clicks = self.interactions.iter().map(|interaction| (&interaction.user, &interaction.session));
        let theirs = of_ranking.chain(of_clicks).filter(|(of, _)| of.as_ref() == Some(user));
        theirs.filter_map(|(_, session)| session.clone()).collect()
    }
}
