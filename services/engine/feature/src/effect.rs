//! What events do to state.
//!
//! Plain counters, profiles and fields change when an event takes effect. Counters of rates change when a ranking is
//! closed, interactions and impressions together, so that no rate exceeds what was shown, unless the sender reports impressions
//! itself.

mod closed;
mod lately;

pub use closed::ClosedInteraction;
pub(crate) use closed::texts;
pub(crate) use lately::{KEPT, Lately};

use crate::encode::Encoded;
use crate::lexicon::referrer;
use crate::slot::{Derived, Meaning, Numbered, Owner, Retention};
use closed::{ShownRule, ShownTarget};
use compact_str::CompactString;
use rankwright_event::{
    Event, Field, Interaction, ItemId, ItemUpdate, Ranking, SessionId, Tenant, Timestamp, UserId, UserUpdate, Value,
};
use rankwright_state::{Cell, FieldValue, Key, Recent, Scope, Slot, Stored, Visit, Windows};

/// The synthetic interaction: an item was looked at.
pub const IMPRESSION: &str = "impression";

/// Receives the effects of events.
pub trait Effects {
    /// One value to be absorbed.
    fn write(&mut self, key: &Key, slot: Slot, stored: Stored);
}

impl Effects for rankwright_state::Overlay {
    fn write(&mut self, key: &Key, slot: Slot, stored: Stored) {
        rankwright_state::Overlay::write(self, key, slot, stored);
    }
}

impl Effects for rankwright_state::Foreseen {
    fn write(&mut self, key: &Key, slot: Slot, stored: Stored) {
        rankwright_state::Foreseen::write(self, key, slot, &stored);
    }
}

/// What to do with which events, by slot: a slot that several features share is written once.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    item_fields: Vec<(CompactString, Slot)>,
    item_updates: Vec<(CompactString, Slot, u32)>,
    derived: Vec<(Derived, Slot)>,
    item_updated: Option<Slot>,
    user_fields: Vec<(CompactString, Slot)>,
    counts: Vec<Rule>,
    shown: Vec<ShownRule>,
    mediums: Vec<MediumRule>,
    seen: Vec<SeenRule>,
}

#[derive(Debug)]
struct Rule {
    interaction: CompactString,
    owner: Owner,
    slot: Slot,
    what: What,
}

#[derive(Debug)]
enum What {
    Count,
    Windows { bucket: i64, keep: u32 },
    Recent { keep: u32 },
}

/// Items that visitors interact with in one of these ways; in any, where there is none.
#[derive(Debug)]
struct SeenRule {
    interactions: Vec<CompactString>,
    slot: Slot,
    keep: u32,
}

#[derive(Debug)]
struct MediumRule {
    source: MediumSource,
    field: CompactString,
    owner: Owner,
    slot: Slot,
}

/// Which events bring a medium along.
#[derive(Debug)]
enum MediumSource {
    User,
    Ranking,
    /// Of one type, or of any.
    Interaction(Option<CompactString>),
    Any,
}

/// What an event is keyed by.
struct Subject<'a> {
    tenant: &'a Tenant,
    item: Option<&'a ItemId>,
    user: Option<&'a UserId>,
    session: Option<&'a SessionId>,
}

impl<'a> Subject<'a> {
    fn of(interaction: &'a Interaction) -> Self {
        let (user, session) = (interaction.user.as_ref(), interaction.session.as_ref());
        Self { tenant: &interaction.tenant, item: Some(&interaction.item), user, session }
    }

    fn key(&self, owner: Owner) -> Option<Key> {
        let scope = match owner {
            Owner::Global => Scope::Global,
            Owner::Item => Scope::Item(self.item?.clone()),
            Owner::User => Scope::User(self.user?.clone()),
            Owner::Session => Scope::Session(self.session?.clone()),
        };
        Some(Key::new(self.tenant, scope))
    }
}

impl Rules {
    /// From slots.
    pub(crate) fn new(slots: &Numbered) -> Self {
        let mut rules = Self::default();
        for (meaning, slot, kept) in slots.iter().filter(|(.., kept)| !kept.ttl.is_zero()) {
            rules.add(meaning, slot, kept, slots);
        }
        rules
    }

    fn add(&mut self, meaning: &Meaning, slot: Slot, kept: Retention, slots: &Numbered) {
        match meaning {
            Meaning::ItemField(field) => self.item_fields.push((field.into(), slot)),
            Meaning::ItemUpdates(field) => self.item_updates.push((field.into(), slot, kept.keep)),
            Meaning::Derived(derived) => self.derived.push((derived.clone(), slot)),
            Meaning::ItemUpdated => self.item_updated = Some(slot),
            Meaning::UserField(field) => self.user_fields.push((field.into(), slot)),
            Meaning::Count { interaction, scope } => self.count(interaction, *scope, slot, What::Count),
            Meaning::Windows { interaction, scope, bucket } => {
                self.count(interaction, *scope, slot, What::Windows { bucket: *bucket, keep: kept.keep });
            }
            Meaning::Recent { interaction, scope } => {
                self.count(interaction, *scope, slot, What::Recent { keep: kept.keep });
            }
            Meaning::Shown { interaction, target, bucket } => {
                let (target, windows) = (ShownTarget::new(target, slots), Some((*bucket, kept.keep)));
                self.shown.push(ShownRule { interaction: interaction.into(), windows, slot, target });
            }
            Meaning::ShownCount { interaction, target } => {
                let target = ShownTarget::new(target, slots);
                self.shown.push(ShownRule { interaction: interaction.into(), windows: None, slot, target });
            }
            Meaning::Mediums { source, scope } => self.mediums.extend(MediumRule::parse(source, *scope, slot)),
            Meaning::Seen { interactions, keep } => {
                let interactions = interactions.iter().map(CompactString::from).collect();
                self.seen.push(SeenRule { interactions, slot, keep: *keep });
            }
            Meaning::RankingField(_) => {}
        }
    }

    fn count(&mut self, interaction: &str, owner: Owner, slot: Slot, what: What) {
        self.counts.push(Rule { interaction: interaction.into(), owner, slot, what });
    }

    /// Effects of an event as such; those on rates come with [`Rules::closed`] and [`Rules::unranked`].
    pub(crate) fn event(&self, event: &Event, encoded: &Encoded, effects: &mut impl Effects) {
        match event {
            Event::Item(update) => self.item(update, encoded, effects),
            Event::User(update) => self.user(update, effects),
            Event::Ranking(ranking) => self.ranking(ranking, effects),
            Event::Interaction(interaction) => self.interaction(interaction, effects),
        }
    }

    fn item(&self, update: &ItemUpdate, encoded: &Encoded, effects: &mut impl Effects) {
        let key = Key::new(&update.tenant, Scope::Item(update.item.clone()));
        let event = update.id.digest();
        write_fields(&self.item_fields, &update.fields, &key, update.timestamp, event, effects);
        for (name, slot, keep) in &self.item_updates {
            for field in update.fields.iter().filter(|field| field.name == *name) {
                let one = lately::update(update.timestamp, event, &field.value);
                let cell = Cell::Recent(Recent::one(one, *keep));
                effects.write(&key, *slot, Stored { at: update.timestamp, event, cell });
            }
        }
        for (derived, slot) in &self.derived {
            for field in update.fields.iter().filter(|field| field.name == derived.field) {
                if let Some(value) = (derived.derive)(&update.item, &field.value, encoded) {
                    effects.write(&key, *slot, Stored { at: update.timestamp, event, cell: Cell::Field(value) });
                }
            }
        }
        if let Some(slot) = self.item_updated {
            let cell = Cell::Field(FieldValue::Number(update.timestamp.seconds()));
            effects.write(&key, slot, Stored { at: update.timestamp, event, cell });
        }
    }

    fn user(&self, update: &UserUpdate, effects: &mut impl Effects) {
        let key = Key::new(&update.tenant, Scope::User(update.user.clone()));
        let event = update.id.digest();
        write_fields(&self.user_fields, &update.fields, &key, update.timestamp, event, effects);
        let subject = Subject { tenant: &update.tenant, item: None, user: Some(&update.user), session: None };
        for rule in self.mediums.iter().filter(|rule| matches!(rule.source, MediumSource::User | MediumSource::Any)) {
            rule.apply(&update.fields, &subject, update.timestamp, event, effects);
        }
    }

    pub(crate) fn ranking(&self, ranking: &Ranking, effects: &mut impl Effects) {
        let (user, session) = (ranking.user.as_ref(), ranking.session.as_ref());
        let subject = Subject { tenant: &ranking.tenant, item: None, user, session };
        for rule in self.mediums.iter().filter(|rule| matches!(rule.source, MediumSource::Ranking | MediumSource::Any))
        {
            rule.apply(&ranking.fields, &subject, ranking.timestamp, ranking.id.digest(), effects);
        }
    }

    pub(crate) fn interaction(&self, interaction: &Interaction, effects: &mut impl Effects) {
        let (subject, at, event) = (Subject::of(interaction), interaction.timestamp, interaction.id.digest());
        // impressions count when their ranking closes, each item once, or with `Rules::unranked`
        if interaction.kind != IMPRESSION {
            self.counted(&interaction.kind, &subject, at, event, effects);
        }
        for rule in self.seen.iter().filter(|rule| rule.counts(&interaction.kind)) {
            let Some(key) = subject.key(Owner::User) else { continue };
            let visit = Visit { at, event, item: interaction.item.clone() };
            let cell = Cell::Items(Recent::one(visit, rule.keep));
            effects.write(&key, rule.slot, Stored { at, event, cell });
        }
        for rule in self.mediums.iter().filter(|rule| rule.source.is_interaction(&interaction.kind)) {
            rule.apply(&interaction.fields, &subject, at, event, effects);
        }
    }

    fn counted(&self, kind: &str, subject: &Subject<'_>, at: Timestamp, event: u64, effects: &mut impl Effects) {
        for rule in self.counts.iter().filter(|rule| rule.interaction == kind) {
            let (Some(key), Some(item)) = (subject.key(rule.owner), subject.item) else { continue };
            let cell = match rule.what {
                What::Count => Cell::Counter(1),
                What::Windows { bucket, keep } => Cell::Windows(Windows::one(at.millis().div_euclid(bucket), keep)),
                What::Recent { keep } => Cell::Recent(Recent::one(Visit { at, event, item: item.clone() }, keep)),
            };
            effects.write(&key, rule.slot, Stored { at, event, cell });
        }
    }
}

fn write_fields(
    known: &[(CompactString, Slot)],
    fields: &[Field],
    key: &Key,
    at: Timestamp,
    event: u64,
    effects: &mut impl Effects,
) {
    for field in fields {
        if let Some((_, slot)) = known.iter().find(|(name, _)| *name == field.name) {
            effects.write(key, *slot, Stored { at, event, cell: Cell::Field(FieldValue::from(&field.value)) });
        }
    }
}

impl SeenRule {
    fn counts(&self, kind: &str) -> bool {
        let any = self.interactions.is_empty() && kind != IMPRESSION;
        any || self.interactions.iter().any(|of| of == kind)
    }
}

impl MediumSource {
    fn is_interaction(&self, kind: &str) -> bool {
        match self {
            Self::User | Self::Ranking => false,
            Self::Interaction(of) => of.as_ref().is_none_or(|of| of == kind),
            Self::Any => true,
        }
    }
}

impl MediumRule {
    fn parse(source: &str, owner: Owner, slot: Slot) -> Option<Self> {
        let (entity, field) = source.split_once('.')?;
        let source = match entity {
            "user" => MediumSource::User,
            "ranking" => MediumSource::Ranking,
            "interaction" => MediumSource::Interaction(None),
            "*" => MediumSource::Any,
            _ => MediumSource::Interaction(Some(entity.strip_prefix("interaction:")?.into())),
        };
        Some(Self { source, field: field.into(), owner, slot })
    }

    fn apply(&self, fields: &[Field], subject: &Subject<'_>, at: Timestamp, event: u64, effects: &mut impl Effects) {
        let referer = fields.iter().rev().find(|field| field.name == self.field).map(|field| &field.value);
        let (Some(Value::Text(referer)), Some(key)) = (referer, subject.key(self.owner)) else { return };
        let cell = Cell::Flags(1 << referrer::medium(referer, &[] as &[&str]).index());
        effects.write(&key, self.slot, Stored { at, event, cell });
    }
}
