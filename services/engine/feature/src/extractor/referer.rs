//! `referer`: by which mediums a visitor came.

use super::compiler::{Compile, Compiled, Compiler};
use super::field::FieldReader;
use super::{Columns, Extractor, entity};
use crate::candidates::Candidates;
use crate::lexicon::referrer::{Medium, medium};
use crate::slot::{Meaning, Owner, Slots};
use rankwright_config::feature::{self, Entity};
use rankwright_state::{FieldValue, Slot};
use std::time::Duration;

/// All mediums seen for the visitor, and that of the request itself; several may be set.
pub(crate) struct Referer {
    slot: Slot,
    owner: Owner,
    ttl: Duration,
    /// Where the request carries its own.
    reader: Option<FieldReader>,
}

/// Where the mediums lie.
fn mediums(of: &feature::Referer) -> Meaning {
    Meaning::Mediums { source: of.source.to_string(), scope: of.scope.into() }
}

impl Compile for feature::Referer {
    fn need(&self, ttl: Duration, slots: &mut Slots) {
        slots.need(mediums(self), ttl, 0);
    }

    fn meaning(&self) -> String {
        format!("referer {} {:?}", self.source, Owner::from(self.scope))
    }

    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled {
        let is_asked = matches!(self.source.entity, Entity::Ranking | Entity::Any);
        let reader = is_asked.then(|| compiler.request(&self.source.field));
        let (slot, owner, ttl) = (compiler.slots.slot(&mediums(self)), self.scope.into(), compiler.ttl);
        Ok(Box::new(Referer { slot, owner, ttl, reader }))
    }
}

impl Extractor for Referer {
    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        if candidates.len() == 0 {
            return;
        }
        let stored = entity(candidates, self.owner, 0).and_then(|who| who.flags(self.slot, candidates.now, self.ttl));
        let own = match self.reader.as_ref().and_then(|reader| reader.of(candidates, 0)) {
            Some(FieldValue::Text(text)) => 1 << medium(text.as_str(), &[] as &[&str]).index(),
            _ => 0,
        };
        let flags = stored.unwrap_or(0) | own;
        for column in 0..Medium::NAMES.len() {
            columns.set_all(column, ((flags >> column) & 1) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Shop, assert_rows};

    #[test]
    fn mediums_of_earlier_rankings_are_remembered() {
        let shop = Shop::new("{name: from, type: referer, source: ranking.referer, scope: user}");
        let columns = ["from_unknown", "from_search", "from_internal", "from_social", "from_email", "from_paid"];
        assert_eq!(shop.columns(), columns);
        let shop = shop.asked("referer", "https://www.google.com/search?q=shoes").shown(["a"]);
        let rows = shop.asked("referer", "https://twitter.com/home").rows(["a"]);
        assert_rows(&rows, [[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]]);
    }

    #[test]
    fn what_users_bring_along_is_kept_with_them_whatever_the_scope() {
        for scope in ["", ", scope: user", ", scope: session"] {
            let shop = Shop::new(&format!("{{name: from, type: referer, source: user.ref{scope}}}"));
            let shop = shop.user([("ref", "https://www.google.com/search?q=shoes".into())]);
            assert_rows(&shop.rows(["a"]), [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]);
        }
    }

    const SEARCH: [f32; 6] = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    const SOCIAL: [f32; 6] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];

    fn from(source: &str) -> Shop {
        Shop::new(&format!("{{name: from, type: referer, source: '{source}', scope: user}}"))
            .interaction_with("click", "a", "ref", "https://www.google.com/search?q=shoes")
            .interaction_with("like", "a", "ref", "https://twitter.com/home")
    }

    #[test]
    fn interactions_of_one_type_or_of_all_bring_a_medium() {
        assert_rows(&from("interaction:click.ref").rows(["a"]), [SEARCH]);
        assert_rows(&from("interaction:like.ref").rows(["a"]), [SOCIAL]);
        assert_rows(&from("interaction:buy.ref").rows(["a"]), [[0.0; 6]]);
        assert_rows(&from("interaction.ref").rows(["a"]), [[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]]);
    }

    #[test]
    fn any_event_of_the_visitor_brings_a_medium() {
        let any = || Shop::new("{name: from, type: referer, source: '*.ref', scope: user}");
        let (search, social) = ("https://www.google.com/search?q=shoes", "https://twitter.com/home");
        assert_rows(&any().interaction_with("click", "a", "ref", search).rows(["a"]), [SEARCH]);
        assert_rows(&any().user([("ref", social.into())]).rows(["a"]), [SOCIAL]);
        assert_rows(&any().asked("ref", social).rows(["a"]), [SOCIAL]);
        assert_rows(&any().asked("ref", search).shown(["a"]).asked("other", 1.0).rows(["a"]), [SEARCH]);
    }

    #[test]
    fn a_visitor_who_was_never_seen_came_from_nowhere() {
        let shop = Shop::new("{name: from, type: referer, source: ranking.referer, scope: session}");
        assert_rows(&shop.rows(["a"]), [[0.0; 6]]);
    }
}
