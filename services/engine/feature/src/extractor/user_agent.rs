//! `ua`: what a user agent says of the visitor's device.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor};
use crate::candidates::Candidates;
use crate::lexicon::agent::{Agents, Browser, Os, Platform};
use crate::slot::Slots;
use rankwright_config::feature::{self, AgentField};
use rankwright_state::FieldValue;
use std::time::Duration;

/// One column for each platform, system or browser; one for "is a crawler".
pub(crate) struct UserAgent {
    reader: FieldReader,
    field: AgentField,
    agents: &'static Agents,
}

impl Compile for feature::UserAgent {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        FieldReader::need(&self.source, ttl, slots);
    }

    fn meaning(&self) -> String {
        format!("ua {}", self.source)
    }

    /// Compiles the rules as well, unless that is done: no visitor waits for it.
    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let reader = compiler.reader(&self.source);
        Ok(Box::new(UserAgent { reader, field: self.field, agents: Agents::shared() }))
    }
}

impl UserAgent {
    fn column(&self, agent: &str) -> Option<usize> {
        match self.field {
            AgentField::Platform => self.agents.platform(agent).map(Platform::index),
            AgentField::Os => self.agents.os(agent).map(Os::index),
            AgentField::Browser => self.agents.browser(agent).map(Browser::index),
            AgentField::Bot => self.agents.bot(agent).then_some(0),
        }
    }
}

impl Extractor for UserAgent {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        columns.clear(self.field.values().len());
        let mut known: Option<(&str, Option<usize>)> = None;
        for item in 0..candidates.len() {
            let Some(FieldValue::Text(agent)) = self.reader.of(candidates, item) else { continue };
            let agent = agent.as_str();
            let column = match known {
                Some((before, column)) if before == agent => column,
                _ => self.column(agent),
            };
            known = Some((agent, column));
            column.into_iter().for_each(|column| columns.set(item, column, 1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    const IPHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 15_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.2 Mobile/15E148 Safari/604.1";

    fn ua(field: &str) -> Shop {
        Shop::new(&format!("{{name: ua, type: ua, source: ranking.ua, field: {field}}}"))
    }

    #[test]
    fn a_device_is_one_hot() {
        assert_rows(&ua("platform").asked("ua", IPHONE).rows(["a"]), [[1.0, 0.0, 0.0]]);
        assert_eq!(ua("platform").columns(), ["ua_mobile", "ua_desktop", "ua_tablet"]);
        assert_rows(&ua("os").asked("ua", IPHONE).rows(["a"]), [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]);
        assert_rows(&ua("browser").asked("ua", IPHONE).rows(["a"]), [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]);
    }

    #[test]
    fn a_crawler_is_told_from_a_person() {
        let crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        assert_rows(&ua("bot").asked("ua", crawler).rows(["a"]), [[1.0]]);
        assert_rows(&ua("bot").asked("ua", IPHONE).rows(["a"]), [[0.0]]);
    }

    #[test]
    fn the_field_of_an_interaction_is_missing() {
        let shop = Shop::new("{name: ua, type: ua, source: 'interaction:click.ua', field: platform}");
        assert_rows(&shop.asked("ua", IPHONE).rows(["a"]), [[0.0, 0.0, 0.0]]);
    }

    #[test]
    fn without_a_user_agent_nothing_is_set() {
        assert_rows(&ua("platform").rows(["a"]), [[0.0, 0.0, 0.0]]);
    }
}
