//! Everything that a ranking's rows are computed from, held on its own: state may move on meanwhile.

use rankwright_event::Ranking;
use rankwright_state::{Entity, Key, Scope, View};
use std::sync::Arc;

/// The entities behind a ranking, as they stood.
pub struct Snapshot {
    pub(crate) items: Vec<Option<Arc<Entity>>>,
    pub(crate) user: Option<Arc<Entity>>,
    pub(crate) session: Option<Arc<Entity>>,
    pub(crate) global: Option<Arc<Entity>>,
    /// In order of keys.
    others: Vec<(Key, Arc<Entity>)>,
}

impl Snapshot {
    /// Takes what the view holds; `keys` are those of [`crate::Plan::dependent`], in their order.
    pub(crate) fn new(ranking: &Ranking, view: &dyn View, keys: Vec<Key>) -> Self {
        let entity = |scope| view.entity(&Key::new(&ranking.tenant, scope)).cloned();
        let other = |key: Key| view.entity(&key).cloned().map(|entity| (key, entity));
        Self {
            items: ranking.items.iter().map(|item| entity(Scope::Item(item.id.clone()))).collect(),
            user: ranking.user.as_ref().and_then(|user| entity(Scope::User(user.clone()))),
            session: ranking.session.as_ref().and_then(|session| entity(Scope::Session(session.clone()))),
            global: entity(Scope::Global),
            others: keys.into_iter().filter_map(other).collect(),
        }
    }
}

impl View for Snapshot {
    fn entity(&self, key: &Key) -> Option<&Arc<Entity>> {
        let place = self.others.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        Some(&self.others[place].1)
    }
}
