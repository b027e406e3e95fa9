//! The owner of a state: a mark that keeps programs of another service, or of another cluster, from writing to it.
//!
//! The operator compares names of servers, of which one server may have several; the mark lies with the data. A service that
//! takes the place of another one of its name has the same mark. A program that has no mark of its own, as one outside
//! Kubernetes, leaves a state without a mark as it is, and refuses one that has.

use super::layout::Names;
use super::{RedisStore, failed};
use crate::{BoxFuture, Error};
use rankwright_redis::redis::{Script, cmd};
use rankwright_redis::{Link, Settings};

/// The field of what concerns all generations.
const OWNER: &str = "owner";

/// Replaces a mark, if it is the expected one; the mark that is there then. KEYS: what concerns all generations. ARGV: the field,
/// the expected mark, the new one.
const REPLACE: &str = "
local owner = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if owner ~= ARGV[2] then return owner end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return ARGV[3]";

/// The owner of a state: a cluster's id, and after a slash what tells its services apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner(String);

/// How a program claims a state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claim {
    /// Its own mark.
    pub owner: Option<Owner>,
    /// Whether it takes over a state of another owner.
    pub takes_over: bool,
}

impl Owner {
    /// From its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Cluster, namespace and name.
    fn parts(&self) -> Vec<&str> {
        self.0.split('/').take(3).collect()
    }

    /// In words, for a program with this mark: which service of which cluster.
    fn told(&self, to: Option<&Self>) -> String {
        match self.parts()[..] {
            [cluster, namespace, name] if to.is_some_and(|to| to.parts()[0] == cluster) => {
                format!("RankingService {namespace}/{name} of this cluster")
            }
            [cluster, namespace, name] => format!("RankingService {namespace}/{name} of another cluster ({cluster})"),
            _ => self.0.clone(),
        }
    }
}

impl Claim {
    /// Whether a state with this mark may be written to.
    ///
    /// # Errors
    /// Whose it is, in words, where it may not.
    pub fn check(&self, found: Option<&Owner>) -> Result<(), String> {
        let Some(found) = found.filter(|_| !self.takes_over) else { return Ok(()) };
        let same = self.owner.as_ref().is_some_and(|owner| owner.parts() == found.parts());
        if same { Ok(()) } else { Err(found.told(self.owner.as_ref())) }
    }
}

impl RedisStore {
    /// Marks the state with this owner.
    ///
    /// # Errors
    /// [`Error::Owned`], where it has another owner; others, where the servers cannot be used.
    pub fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let shared = self.current();
            let mut found = read(&shared.link, &shared.names).await?;
            loop {
                claim.check(found.as_ref()).map_err(|owner| Error::Owned { place: shared.link.place(), owner })?;
                if let Some(own) = &claim.owner {
                    let _once = shared.owner.set(own.clone());
                }
                let Some(own) = claim.owner.as_ref().filter(|own| found.as_ref() != Some(*own)) else { return Ok(()) };
                let expected = found.as_ref().map_or("", |found| &found.0);
                match replace(&shared.link, &shared.names, expected, own).await {
                    Ok(now) if now == own.0 => return Ok(()),
                    Ok(now) => found = (!now.is_empty()).then_some(Owner(now)), // another program was quicker
                    // a server that takes no writes may be read all the same
                    Err(error) => {
                        tracing::warn!(%error, "the state could not be marked as ours");
                        return Ok(());
                    }
                }
            }
        })
    }
}

/// Whose the state of a service in a server is; nothing where there is no mark, or no state.
///
/// # Errors
/// When the server cannot be used, or the service's name is none.
pub fn owner_of(settings: Settings, service: &str) -> BoxFuture<'_, Result<Option<Owner>, Error>> {
    Box::pin(async move {
        let place = settings.to_string();
        let cannot_open = |source| Error::Open { place: place.clone(), source };
        let names = Names::new(service, 0).map_err(|error| cannot_open(error.into()))?;
        let link = Link::new(settings, None).map_err(|error| cannot_open(error.into()))?;
        read(&link, &names).await
    })
}

async fn read(link: &Link, names: &Names) -> Result<Option<Owner>, Error> {
    let meta = names.meta();
    let asked = link.send(&meta, |mut connection| {
        let mut asked = cmd("HGET");
        asked.arg(&meta).arg(OWNER);
        async move { asked.query_async::<Option<String>>(&mut connection).await }
    });
    Ok(asked.await.map_err(failed("find whose it is"))?.filter(|owner| !owner.is_empty()).map(Owner))
}

/// Marks an empty state that lies in the place of ours, unless it has a mark by now.
pub(super) async fn mark_again(link: &Link, names: &Names, own: &Owner) {
    if let Err(error) = replace(link, names, "", own).await {
        tracing::warn!(%error, "the empty state could not be marked as ours");
    }
}

async fn replace(link: &Link, names: &Names, expected: &str, own: &Owner) -> Result<String, rankwright_redis::Error> {
    let (meta, script) = (names.meta(), Script::new(REPLACE));
    let replaced = link.send(&meta, |mut connection| {
        let mut replace = script.prepare_invoke();
        replace.key(&meta).arg(OWNER).arg(expected).arg(&own.0);
        async move { replace.invoke_async::<String>(&mut connection).await }
    });
    replaced.await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(owner: Option<&str>) -> Claim {
        Claim { owner: owner.map(Owner::new), takes_over: false }
    }

    #[test]
    fn a_state_is_refused_that_belongs_to_another_service_or_cluster() {
        let ours = Owner::new("c1/search/shop/u1");
        assert_eq!(claim(Some("c1/search/shop/u1")).check(Some(&ours)), Ok(()));
        assert_eq!(claim(Some("c1/search/shop/u2")).check(Some(&ours)), Ok(()), "it was made again");
        for other in ["c1/search/blog/u2", "c1/other/shop/u2"] {
            let told = "RankingService search/shop of this cluster".to_owned();
            assert_eq!(claim(Some(other)).check(Some(&ours)), Err(told), "by another name of the server");
        }
        assert_eq!(claim(Some("c2/search/shop/u1")).check(None), Ok(()), "it has no owner");
        assert_eq!(claim(None).check(None), Ok(()));
        let told = "RankingService search/shop of another cluster (c1)".to_owned();
        assert_eq!(claim(Some("c2/search/shop/u1")).check(Some(&ours)), Err(told.clone()));
        assert_eq!(claim(None).check(Some(&ours)), Err(told), "one outside Kubernetes");
        let told_to = Claim { takes_over: true, ..claim(Some("c2/search/shop/u1")) };
        assert_eq!(told_to.check(Some(&ours)), Ok(()));
    }
}
