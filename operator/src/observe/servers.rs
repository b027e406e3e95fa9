//! What rank servers say of the state store and of the versions that they serve.

use super::{address, is_ready, is_running};
use crate::ask::{Ask, Model, Refused, Said};
use crate::labels::{self, Component};
use crate::reconcile::{Context, locked};
use futures_util::future::{join, join_all};
use futures_util::stream::{self, Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rank servers of a service that are asked, at the same time.
const ASKED: usize = 16;

/// At most this many servers that are not ready are asked what they wait for.
const WAITING: usize = 4;

/// Services that are listened to at the same time. Those that share a store which is away all answer late.
const LISTENED: usize = 1024;

/// How long a service need not be asked again for what it said while it was listened to.
const FRESH: Duration = Duration::from_secs(5);

/// Whom to ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Servers {
    /// Names and addresses.
    asked: Vec<(String, String)>,
    /// Whether they are ready; those that only run can tell what they wait for.
    ready: bool,
    /// Names and addresses of those that run beside ready ones.
    waiting: Vec<(String, String)>,
}

/// What rank servers say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// What those say that have answered.
    pub said: Vec<Said>,
    /// How many ready ones were asked; where there is none, those were asked that run.
    pub ready: usize,
    /// What those wait for that run and are not ready, by the names of their pods.
    pub waiting: Vec<(String, String)>,
}

/// Which version of a model rank servers serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serving<'a> {
    /// No server says.
    Untold,
    /// All say the same.
    Alike(&'a Model),
    /// They differ, or not all have answered; in words.
    Differs(String),
}

/// What was heard of a service last.
#[derive(Debug, Clone)]
pub(crate) struct Listened {
    namespace: String,
    name: String,
    servers: Servers,
    heard: Heard,
    /// What was heard since, and was not looked at.
    fresh: Option<(Instant, Heard)>,
}

impl Servers {
    /// The ready ones of these pods, as many as are asked; where there is none, some that run.
    pub(super) fn of(pods: &[Arc<Pod>]) -> Self {
        let running = || {
            let stays = |pod: &&Arc<Pod>| pod.metadata.deletion_timestamp.is_none() && is_running(pod);
            pods.iter().filter(|pod| labels::is_of(&***pod, Component::Rank)).filter(stays)
        };
        let server = |pod: &Arc<Pod>| Some((pod.name_any(), address(pod)?));
        let ready = running().any(|pod| is_ready(pod));
        let asked = running().filter(|pod| is_ready(pod) || !ready).filter_map(server);
        let waiting = running().filter(|pod| ready && !is_ready(pod)).filter_map(server);
        Self { asked: asked.take(ASKED).collect(), ready, waiting: waiting.take(WAITING).collect() }
    }

    /// What they say.
    pub(super) async fn heard(&self, ask: &dyn Ask) -> Heard {
        let answers = |servers| answers(ask, servers);
        let (said, beside) = join(answers(&self.asked), answers(&self.waiting)).await;
        let ready = if self.ready { self.asked.len() } else { 0 };
        let waits = |(pod, said): (&str, &Said)| Some((pod.to_owned(), said.unready.clone()?));
        let waiting = if self.ready { &beside } else { &said };
        let waiting = waiting.iter().filter_map(|(pod, said)| waits((pod, said))).collect();
        Heard { waiting, said: said.into_iter().map(|(_, said)| said).collect(), ready }
    }
}

/// What those of some servers say that answer.
async fn answers<'a>(ask: &dyn Ask, servers: &'a [(String, String)]) -> Vec<(&'a str, Said)> {
    let said = servers.iter().map(async |(pod, address)| Some((pod.as_str(), ask.ask(address).await?)));
    join_all(said).await.into_iter().flatten().collect()
}

impl Heard {
    /// Of one ready rank server.
    pub fn one(said: Said) -> Self {
        Self { said: vec![said], ready: 1, waiting: Vec::new() }
    }

    /// Versions of a model that there are, as far as a ready server tells.
    pub fn versions(&self, model: &str) -> Option<BTreeSet<&str>> {
        let told =
            self.said.iter().filter(|_| self.ready > 0).filter_map(|said| said.models.get(model)?.versions.as_ref());
        let told: Vec<_> = told.collect();
        (!told.is_empty()).then(|| told.into_iter().flatten().map(String::as_str).collect())
    }

    /// A version of a model that did not work when a server tried it.
    pub fn refused(&self, model: &str) -> Option<&Refused> {
        self.said.iter().find_map(|said| said.models.get(model)?.refused.as_ref())
    }

    /// What those say that lack the state store.
    pub fn lacking(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().filter(|said| !said.store.answers)
    }

    /// Which version of a model the ready ones serve. One that does not answer is taken to serve the version that is `known`.
    pub fn serving(&self, model: &str, known: Option<&str>) -> Serving<'_> {
        let models: Vec<Option<&Model>> = self.said.iter().map(|said| said.models.get(model)).collect();
        let Some(first) = models.iter().find_map(|model| *model).filter(|_| self.ready > 0) else {
            return Serving::Untold;
        };
        let version = |model: Option<&Model>| model.and_then(|model| model.version.clone());
        let alike = models.iter().all(|model| version(*model) == first.version);
        let silent = self.ready > self.said.len();
        if alike && (!silent || first.version.is_none() || first.version.as_deref() == known) {
            return Serving::Alike(first);
        }
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        models.iter().filter_map(|model| version(*model)).for_each(|version| *counts.entry(version).or_default() += 1);
        // the newest of those that most serve: versions begin with their time
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let (version, count) = most.unwrap_or_default();
        Serving::Differs(format!("{count} of {} rank servers serve {version}", self.ready))
    }
}

/// Asks the rank servers among the pods of a service.
pub(super) async fn once(ctx: &Context, pods: &[Arc<Pod>]) -> Heard {
    Servers::of(pods).heard(&*ctx.ask).await
}

/// Asks the rank servers among the pods of a service, and remembers what they say.
pub(super) async fn ask(ctx: &Context, service: &RankingService, pods: &[Arc<Pod>]) -> Heard {
    let (servers, uid) = (Servers::of(pods), service.uid().unwrap_or_default());
    let heard = match fresh(ctx, &uid, &servers) {
        Some(heard) => heard,
        None => servers.heard(&*ctx.ask).await,
    };
    let mut listened = locked(&ctx.listened);
    if servers.asked.is_empty() {
        listened.remove(&uid);
    } else {
        let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
        listened.insert(uid, Listened { namespace, name, servers, heard: heard.clone(), fresh: None });
    }
    heard
}

/// What these servers of a service have said a moment ago, once.
fn fresh(ctx: &Context, uid: &str, servers: &Servers) -> Option<Heard> {
    let mut listened = locked(&ctx.listened);
    let known = listened.get_mut(uid).filter(|known| known.servers == *servers)?;
    let (at, heard) = known.fresh.take()?;
    (at.elapsed() < FRESH).then_some(heard)
}

/// Asks all rank servers of a namespace, or of all, again that were asked before; namespace and name of each service of which they say
/// something else now, as soon as they do.
pub fn changed(ctx: &Arc<Context>, namespace: Option<&str>) -> impl Stream<Item = (String, String)> + Send + use<> {
    let here = |listened: &Listened| namespace.is_none_or(|namespace| listened.namespace == namespace);
    let listened: Vec<(String, Listened)> = locked(&ctx.listened)
        .iter()
        .filter(|(_, one)| here(one))
        .map(|(uid, one)| (uid.clone(), one.clone()))
        .collect();
    let ctx = ctx.clone();
    let asked = stream::iter(listened).map(move |(uid, before)| {
        let ctx = ctx.clone();
        async move {
            let now = before.servers.heard(&*ctx.ask).await;
            if now == before.heard {
                return None;
            }
            let mut listened = locked(&ctx.listened);
            if let Some(known) = listened.get_mut(&uid).filter(|known| known.servers == before.servers) {
                known.fresh = Some((Instant::now(), now));
            }
            Some((before.namespace, before.name))
        }
    });
    asked.buffer_unordered(LISTENED).filter_map(std::future::ready)
}
