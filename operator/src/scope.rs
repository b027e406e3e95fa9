//! What the operator looks at: all namespaces together, or some, each by watches of its own. So it needs rights in those alone.

use crate::cache::Cache;
use crate::controller::Guarded;
use kube::runtime::reflector::Store;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// One namespace, or all of them together.
#[derive(Default)]
pub struct Scope {
    /// The namespace; all of them where none is named.
    pub namespace: Option<String>,
    /// What is there, as far as it is watched.
    pub cache: Arc<Cache>,
    /// The resources, while they are watched.
    pub(crate) services: Mutex<Option<Store<Guarded>>>,
    /// Whether the watch has listed all of them once.
    pub(crate) listed: Arc<AtomicBool>,
}

impl Scope {
    /// Those of these namespaces; that of all of them where none is named. A name that is given twice counts once.
    pub fn of(namespaces: &[String]) -> Vec<Self> {
        let named: BTreeSet<&str> = namespaces.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
        if named.is_empty() {
            return vec![Self::default()];
        }
        named.into_iter().map(|name| Self { namespace: Some(name.to_owned()), ..Self::default() }).collect()
    }

    /// Whether objects of a namespace are seen here.
    pub fn has(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|own| own == namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_is_looked_at_once_and_all_together_where_none_is_named() {
        let scopes = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Scope::of(&names).into_iter().map(|scope| scope.namespace).collect::<Vec<_>>()
        };
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(scopes(&[]), [None]);
        assert_eq!(scopes(&[""]), [None], "a variable that is set and empty names none");
        assert_eq!(scopes(&["shop", " blog", "shop", ""]), [named("blog"), named("shop")]);
    }

    #[test]
    fn a_scope_sees_its_namespace_or_every_one() {
        let some = Scope::of(&["blog".to_owned(), "shop".to_owned()]);
        assert_eq!(some.iter().map(|scope| scope.has("shop")).collect::<Vec<_>>(), [false, true]);
        assert!(Scope::of(&[])[0].has("shop"));
    }
}
