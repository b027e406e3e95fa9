//! The watches: each fills the cache with what it shows before it has anything reconciled.

use super::Guarded;
use crate::apis::OptionalApi;
use crate::cache::{Cache, Sight};
use crate::{labels, observe};
use futures_util::{Stream, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Client, Resource, ResourceExt};
use std::fmt::Debug;
use std::sync::Arc;

/// Objects with their content that are listed at a time: they take memory until they are pruned.
const PAGE: u32 = 50;

/// What is watched, and where.
pub(super) struct Watches<'a> {
    pub(super) client: &'a Client,
    pub(super) cache: &'a Arc<Cache>,
    pub(super) namespace: Option<&'a str>,
}

type News<K> = Result<K, watcher::Error>;

impl Watches<'_> {
    /// The resources to work on, and where they are kept. `left` is told whenever some may have gone.
    pub(super) fn services<F>(&self, left: F) -> (Store<Guarded>, impl Stream<Item = News<Guarded>> + Send + use<F>)
    where
        F: Fn() + Send + 'static,
    {
        let (store, writer) = reflector::store();
        let watched = watcher(self.api::<Guarded>(), Config::default().page_size(PAGE)).default_backoff();
        let pruned = watched.modify(|service| service.meta_mut().managed_fields = None);
        let told = pruned.reflect(writer).inspect_ok(move |event| {
            if matches!(event, Event::Delete(_) | Event::InitDone) {
                left();
            }
        });
        (store, told.applied_objects())
    }

    /// Objects of ours, of which it is enough to know that something has changed.
    pub(super) fn metadata<K>(&self) -> impl Stream<Item = News<PartialObjectMeta<K>>> + Send + use<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Send + 'static,
    {
        self.noted(K::kind(&()).into_owned(), watcher(self.api::<PartialObjectMeta<K>>(), ours()), |object| {
            Sight::of_metadata(object.meta())
        })
    }

    /// Objects of ours that the status tells of.
    pub(super) fn content<K>(&self) -> impl Stream<Item = News<DynamicObject>> + Send + use<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        self.dynamic(ApiResource::erase::<K>(&()))
    }

    /// Objects of ours of an API that not every cluster has.
    pub(super) fn optional(&self, api: OptionalApi) -> impl Stream<Item = News<DynamicObject>> + Send + use<> {
        self.dynamic(api.resource())
    }

    fn dynamic(&self, resource: ApiResource) -> impl Stream<Item = News<DynamicObject>> + Send + use<> {
        let api = match self.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let kind = resource.kind;
        self.noted(kind.clone(), watcher(api, ours().page_size(PAGE)), move |object| Sight::of(&kind, object))
    }

    /// Objects of everybody, without their content: they may be referred to.
    pub(super) fn every<K>(&self) -> impl Stream<Item = News<PartialObjectMeta<K>>> + Send + use<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Send + 'static,
    {
        watcher(self.api::<PartialObjectMeta<K>>(), Config::default()).default_backoff().touched_objects()
    }

    /// ConfigMaps of everybody; those that are ours are noted.
    pub(super) fn config_maps(&self) -> impl Stream<Item = News<PartialObjectMeta<ConfigMap>>> + Send + use<> {
        let cache = self.cache.clone();
        let watched = watcher(self.api::<PartialObjectMeta<ConfigMap>>(), Config::default()).default_backoff();
        let noted = watched.inspect_ok(move |event| {
            let event = match event {
                Event::InitApply(map) if !labels::is_managed(map) => return,
                // it is ours no more
                Event::Apply(map) if !labels::is_managed(map) => Event::Delete(map),
                event => as_ref(event),
            };
            cache.saw("ConfigMap", placed(event, |map| Sight::of_metadata(map.meta())));
        });
        noted.touched_objects()
    }

    /// How the pods of all services are.
    pub(super) fn pods(&self) -> impl Stream<Item = News<Pod>> + Send + use<> {
        let cache = self.cache.clone();
        let watched = watcher(self.api::<Pod>(), ours().page_size(PAGE)).default_backoff().modify(observe::prune);
        watched.inspect_ok(move |event| cache.saw_pod(event.clone())).touched_objects()
    }

    /// Has the cache know of what a watch shows, before anybody is told.
    fn noted<K, W, F>(&self, kind: String, watch: W, sight: F) -> impl Stream<Item = News<K>> + Send + use<K, W, F>
    where
        K: Resource + Send + 'static,
        W: Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
        F: Fn(&K) -> Sight + Send + 'static,
    {
        let cache = self.cache.clone();
        let noted = watch.default_backoff().inspect_ok(move |event| cache.saw(&kind, placed(as_ref(event), &sight)));
        noted.touched_objects()
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        match self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }
}

/// What the operator has made, for any service.
fn ours() -> Config {
    Config::default().labels(&labels::managed())
}

fn as_ref<K>(event: &Event<K>) -> Event<&K> {
    match event {
        Event::Apply(object) => Event::Apply(object),
        Event::Delete(object) => Event::Delete(object),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(object),
        Event::InitDone => Event::InitDone,
    }
}

/// The same of what is seen of an object, with where it is.
fn placed<K: Resource>(event: Event<&K>, sight: impl Fn(&K) -> Sight) -> Event<(String, String, Sight)> {
    let seen = |object: &K| (object.namespace().unwrap_or_default(), object.name_any(), sight(object));
    match event {
        Event::Apply(object) => Event::Apply(seen(object)),
        Event::Delete(object) => Event::Delete(seen(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(seen(object)),
        Event::InitDone => Event::InitDone,
    }
}
