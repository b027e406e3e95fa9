//! What events carry: fields by whose they are, and kinds of interactions.

use super::delays::{Delays, Shown};
use super::distinct::Distinct;
use super::field::Field;
use compact_str::CompactString;
use rankwright_event::{Event, Field as Carried, Interaction, Ranking, Timestamp};
use std::collections::BTreeMap;

/// More fields of one owner, and more kinds of interactions, are counted and not looked at.
const MOST: usize = 256;

/// All that is known of events.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) items: Group,
    pub(super) users: Group,
    pub(super) rankings: Group,
    /// Items of rankings, with their fields.
    pub(super) shown: Group,
    pub(super) interactions: BTreeMap<CompactString, Taken>,
    pub(super) span: Option<(Timestamp, Timestamp)>,
    pub(super) item_ids: Distinct,
    pub(super) user_ids: Distinct,
    times: Shown,
    /// Rankings whose items have labels.
    pub(super) labelled: u64,
    /// Kinds of interactions that there was no room for.
    pub(super) other_interactions: u64,
    most: usize,
}

/// Events of one owner.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) events: u64,
    pub(super) fields: BTreeMap<CompactString, Field>,
    /// Values of fields that there was no room for.
    pub(super) left_out: u64,
}

/// Interactions of one kind.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) count: u64,
    pub(super) with_ranking: u64,
    pub(super) with_user: u64,
    pub(super) with_session: u64,
    pub(super) items: Distinct,
    /// Users, else sessions.
    pub(super) visitors: Distinct,
    pub(super) sessions: Distinct,
    pub(super) delays: Delays,
}

impl Seen {
    /// Nothing yet; texts that are one in `most` are to be found.
    pub(super) fn new(most: usize) -> Self {
        Self {
            items: Group::default(),
            users: Group::default(),
            rankings: Group::default(),
            shown: Group::default(),
            interactions: BTreeMap::new(),
            span: None,
            item_ids: Distinct::default(),
            user_ids: Distinct::default(),
            times: Shown::default(),
            labelled: 0,
            other_interactions: 0,
            most,
        }
    }

    pub(super) fn see(&mut self, event: &Event) {
        let at = event.timestamp();
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        match event {
            Event::Item(update) => {
                self.item_ids.add(update.item.as_str());
                self.items.see(&update.fields, self.most);
            }
            Event::User(update) => {
                self.user_ids.add(update.user.as_str());
                self.users.see(&update.fields, self.most);
            }
            Event::Ranking(ranking) => self.ranking(ranking),
            Event::Interaction(interaction) => self.interaction(interaction),
        }
    }

    fn ranking(&mut self, ranking: &Ranking) {
        self.times.add(ranking);
        self.rankings.see(&ranking.fields, self.most);
        ranking.items.iter().for_each(|item| self.shown.see(&item.fields, self.most));
        self.labelled += u64::from(ranking.items.iter().any(|item| item.label.is_some_and(|label| label > 0.0)));
    }

    fn interaction(&mut self, interaction: &Interaction) {
        if self.interactions.len() >= MOST && !self.interactions.contains_key(&interaction.kind) {
            self.other_interactions += 1;
            return;
        }
        let taken = self.interactions.entry(interaction.kind.clone()).or_default();
        taken.see(interaction);
        self.times.delay(interaction).into_iter().for_each(|seconds| taken.delays.add(seconds));
    }

    /// Days from the first event to the last.
    pub(super) fn days(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| last.millis_since(first) as f64 / 86_400_000.0)
    }
}

impl Group {
    fn see(&mut self, fields: &[Carried], most: usize) {
        self.events += 1;
        for field in fields {
            if let Some(known) = self.fields.get_mut(&field.name) {
                known.see(&field.value);
            } else if self.fields.len() < MOST {
                self.fields.entry(field.name.clone()).or_insert_with(|| Field::new(most)).see(&field.value);
            } else {
                self.left_out += 1;
            }
        }
    }
}

impl Taken {
    fn see(&mut self, interaction: &Interaction) {
        let (user, session) = (interaction.user.as_ref(), interaction.session.as_ref());
        self.count += 1;
        self.with_ranking += u64::from(interaction.ranking.is_some());
        self.with_user += u64::from(user.is_some());
        self.with_session += u64::from(session.is_some());
        self.items.add(interaction.item.as_str());
        let visitor = user.map(|user| user.as_str()).or(session.map(|session| session.as_str()));
        visitor.into_iter().for_each(|visitor| self.visitors.add(visitor));
        session.into_iter().for_each(|session| self.sessions.add(session.as_str()));
    }
}
