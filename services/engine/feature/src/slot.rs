//! What stored values mean. Features that need the same value share it.

use crate::column::digest;
use crate::encode::{Encoded, Models};
use rankwright_config::feature::{RateScope, Scope, Visitor};
use rankwright_event::{ItemId, Value};
use rankwright_state::{Error, FieldValue, Fingerprint, Slot, Store};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Meaning of one stored value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meaning {
    /// Newest value of an item's field.
    ItemField(String),
    /// An item's newest updates of a field, for counters by its values.
    ItemUpdates(String),
    /// Seconds since 1970 of an item's newest metadata event.
    ItemUpdated,
    /// Newest value of a visitor's field.
    UserField(String),
    /// Number of interactions.
    Count {
        /// Interaction type.
        interaction: String,
        /// Whose.
        scope: Owner,
    },
    /// Number of interactions by period, when they happen.
    Windows {
        /// Interaction type.
        interaction: String,
        /// Whose.
        scope: Owner,
        /// Length of a period in milliseconds.
        bucket: i64,
    },
    /// Number of interactions or impressions by period, when their ranking closes.
    Shown {
        /// Interaction type, or `impression`.
        interaction: String,
        /// Whose.
        target: Target,
        /// Length of a period in milliseconds.
        bucket: i64,
    },
    /// A visitor's newest interactions.
    Recent {
        /// Interaction type.
        interaction: String,
        /// Whose.
        scope: Owner,
    },
    /// Mediums that a visitor came from.
    Mediums {
        /// Where the referer is, as the configuration names it.
        source: String,
        /// Whose.
        scope: Owner,
    },
    /// Computed from an item's field when it comes in.
    Derived(Derived),
    /// Names the values of a ranking field in keys; nothing is stored in it.
    RankingField(String),
    /// Number of interactions or impressions, when their ranking closes.
    ShownCount {
        /// Interaction type, or `impression`.
        interaction: String,
        /// Whose.
        target: Target,
    },
    /// The items that a visitor interacted with last, each once.
    Seen {
        /// Interaction types in order; empty means any but `impression`.
        interactions: Vec<String>,
        /// How many items.
        keep: u32,
    },
}

/// From an item's field to what is stored of it; models may have computed its text before.
pub type Derive = dyn Fn(&ItemId, &Value, &Encoded) -> Option<FieldValue> + Send + Sync;

/// What is computed from an item's field once, when its event comes in, and stored with the item.
#[derive(Clone)]
pub struct Derived {
    /// The field (without `item.`).
    pub field: String,
    /// How, in words that stay the same in every version: by these alone it is told from others.
    pub how: String,
    /// The computation; nothing is stored where it gives nothing.
    pub derive: Arc<Derive>,
}

impl Derived {
    fn words(&self) -> (&str, &str) {
        (&self.field, &self.how)
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Derived").field(&self.field).field(&self.how).finish()
    }
}

impl PartialEq for Derived {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Derived {}

impl PartialOrd for Derived {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Derived {
    fn cmp(&self, other: &Self) -> Ordering {
        self.words().cmp(&other.words())
    }
}

/// Whose value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Everybody's.
    Global,
    /// The item's.
    Item,
    /// The visitor's.
    User,
    /// The visit's.
    Session,
}

/// What a rate's counters belong to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Everything.
    Global,
    /// The item.
    Item,
    /// Each value of an item field.
    ItemField(String),
    /// The item within rankings that share a field's value.
    RankingField(String),
}

/// Whose counter a count reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counted {
    /// It changes with each interaction.
    By(Owner),
    /// There is one for each value of a field, and they change when rankings close, as those of rates.
    Under(Target),
}

impl From<&Scope> for Counted {
    fn from(scope: &Scope) -> Self {
        match scope {
            Scope::Global => Self::By(Owner::Global),
            Scope::Item => Self::By(Owner::Item),
            Scope::User => Self::By(Owner::User),
            Scope::Session => Self::By(Owner::Session),
            Scope::ItemField(field) => Self::Under(Target::ItemField(field.clone())),
            Scope::RankingField(field) => Self::Under(Target::RankingField(field.clone())),
        }
    }
}

impl fmt::Display for Counted {
    /// Part of what features mean: it stays the same in every version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::By(owner) => write!(f, "{owner:?}"),
            Self::Under(target) => write!(f, "{target:?}"),
        }
    }
}

impl From<Visitor> for Owner {
    fn from(visitor: Visitor) -> Self {
        match visitor {
            Visitor::User => Self::User,
            Visitor::Session => Self::Session,
        }
    }
}

impl From<&RateScope> for Target {
    fn from(scope: &RateScope) -> Self {
        match scope {
            RateScope::Item => Self::Item,
            RateScope::ItemField(field) => Self::ItemField(field.clone()),
            RateScope::RankingField(field) => Self::RankingField(field.clone()),
        }
    }
}

impl Owner {
    fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Item => "item",
            Self::User => "user",
            Self::Session => "session",
        }
    }
}

impl Target {
    fn words(&self) -> String {
        match self {
            Self::Global => "global".to_string(),
            Self::Item => "item".to_string(),
            Self::ItemField(field) => format!("item field {field:?}"),
            Self::RankingField(field) => format!("ranking field {field:?}"),
        }
    }
}

impl Meaning {
    /// What counts interactions of this type for this scope.
    pub(crate) fn count(interaction: &str, scope: &Scope) -> Self {
        let interaction = interaction.to_string();
        match Counted::from(scope) {
            Counted::By(scope) => Self::Count { interaction, scope },
            Counted::Under(target) => Self::ShownCount { interaction, target },
        }
    }

    /// What counts them by period, of this length in milliseconds.
    pub(crate) fn windows(interaction: &str, scope: &Scope, bucket: i64) -> Self {
        let interaction = interaction.to_string();
        match Counted::from(scope) {
            Counted::By(scope) => Self::Windows { interaction, scope, bucket },
            Counted::Under(target) => Self::Shown { interaction, target, bucket },
        }
    }

    /// What counts interactions, or impressions, by period when their ranking closes.
    pub(crate) fn shown(interaction: &str, target: Target, bucket: i64) -> Self {
        Self::Shown { interaction: interaction.to_string(), target, bucket }
    }

    /// Whether it lies in the global row.
    pub(crate) fn is_global(&self) -> bool {
        match self {
            Self::Count { scope, .. } | Self::Windows { scope, .. } => *scope == Owner::Global,
            Self::Shown { target, .. } => *target == Target::Global,
            _ => false,
        }
    }

    /// Stable digest: the same meaning has the same one in every version.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(digest(&self.words()))
    }

    /// As people name it: a field by its name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::ItemField(field) => format!("item.{field}"),
            Self::UserField(field) => format!("user.{field}"),
            other => other.words(),
        }
    }

    /// Part of what features mean: they stay the same in every version.
    fn words(&self) -> String {
        match self {
            Self::ItemField(field) => format!("item field {field:?}"),
            Self::ItemUpdates(field) => format!("updates of item field {field:?}"),
            Self::ItemUpdated => "item updated".to_string(),
            Self::UserField(field) => format!("user field {field:?}"),
            Self::Count { interaction, scope } => format!("count {interaction:?} by {}", scope.word()),
            Self::Windows { interaction, scope, bucket } => {
                format!("windows {interaction:?} by {} of {bucket} ms", scope.word())
            }
            Self::Shown { interaction, target, bucket } => {
                format!("shown {interaction:?} by {} of {bucket} ms", target.words())
            }
            Self::ShownCount { interaction, target } => format!("shown {interaction:?} by {}", target.words()),
            Self::Recent { interaction, scope } => format!("recent {interaction:?} by {}", scope.word()),
            Self::Mediums { source, scope } => format!("mediums {source:?} by {}", scope.word()),
            Self::Derived(Derived { field, how, .. }) => format!("item field {field:?} as {how}"),
            Self::RankingField(field) => format!("ranking field {field:?}"),
            Self::Seen { interactions, keep } => format!("newest {keep} items of {interactions:?} by user"),
        }
    }
}

/// How long and how much of a slot is kept: the most that any feature asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Retention {
    pub(crate) ttl: Duration,
    /// Periods, or interactions.
    pub(crate) keep: u32,
}

/// Slots that a set of features needs, as they are collected.
#[derive(Default)]
pub(crate) struct Slots {
    needed: BTreeMap<Meaning, Retention>,
    /// What some of them are computed with.
    models: Models,
}

/// Slots with the numbers that the store gave them.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    slots: BTreeMap<Meaning, (Slot, Retention)>,
}

impl Slots {
    /// None yet, with models that are open.
    pub(crate) fn with(models: &Models) -> Self {
        Self { needed: BTreeMap::new(), models: models.clone() }
    }

    /// The models.
    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    /// Notes that a feature needs a value.
    pub(crate) fn need(&mut self, meaning: Meaning, ttl: Duration, keep: u32) {
        let retention = self.needed.entry(meaning).or_default();
        *retention = Retention { ttl: retention.ttl.max(ttl), keep: retention.keep.max(keep) };
    }

    /// What the values mean.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.needed.keys().map(Meaning::fingerprint)
    }

    /// Asks the store for numbers.
    pub(crate) async fn number(self, store: &dyn Store) -> Result<Numbered, Error> {
        let wanted: Vec<Fingerprint> = self.needed.keys().map(Meaning::fingerprint).collect();
        let slots = store.slots(&wanted).await?;
        let numbered = self.needed.into_iter().zip(slots).map(|((meaning, kept), slot)| (meaning, (slot, kept)));
        Ok(Numbered { slots: numbered.collect() })
    }
}

impl Numbered {
    /// The slot of a meaning that was asked for by [`Slots::need`].
    pub(crate) fn slot(&self, meaning: &Meaning) -> Slot {
        self.slots.get(meaning).expect("every meaning was collected before slots were numbered").0
    }

    /// The same with how long its values count.
    pub(crate) fn kept(&self, meaning: &Meaning) -> (Slot, Duration) {
        let (slot, kept) = self.slots.get(meaning).expect("every meaning was collected before slots were numbered");
        (*slot, kept.ttl)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Meaning, Slot, Retention)> {
        self.slots.iter().map(|(meaning, (slot, kept))| (meaning, *slot, *kept))
    }
}
