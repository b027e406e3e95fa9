//! Resources that name the same state: what one writes would be the other's.

use crate::controller::Guarded;
use crate::status;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use rankwright_crds::ranking_service::{Redis, RedisMode};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Another resource that names the same state, or still works on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it was there before, so that the state is its own.
    pub older: bool,
    /// Whether its programs have worked on that state, as far as is known.
    pub ran: bool,
}

/// Where the data of a resource lie.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    service: String,
    servers: BTreeSet<String>,
    /// What sentinels call the server.
    master: Option<String>,
    /// Those of state, models and click-throughs: a removal takes all keys of the service in each.
    databases: BTreeSet<i32>,
}

/// The other resources that name the state of this one, or still work on it, the oldest first.
pub fn rivals(service: &RankingService, services: &[Arc<Guarded>]) -> Vec<Rival> {
    among(service, services.iter().filter_map(|other| other.0.as_ref().ok()))
}

fn among<'a>(service: &RankingService, others: impl Iterator<Item = &'a RankingService>) -> Vec<Rival> {
    let (place, uid) = (Place::of(service), &service.metadata.uid);
    // there may be thousands, of which hardly any has the name
    let named = others.filter(|other| has_name(other, &place.service) && other.metadata.uid != *uid);
    let meets = |other: &&RankingService| Place::of(other).meets(&place) || works_there(other, service);
    let mut rivals: Vec<&RankingService> = named.filter(meets).collect();
    rivals.sort_by_key(|rival| turn(rival, service));
    let rival = |rival: &RankingService| Rival {
        namespace: rival.namespace().unwrap_or_default(),
        name: rival.name_any(),
        older: turn(rival, service) < turn(service, rival),
        ran: rival
            .status
            .as_ref()
            .is_some_and(|status| status.rank.is_some() && (status.state.is_none() || works_for(rival, service))),
    };
    rivals.into_iter().map(rival).collect()
}

/// Whether the data of a resource lie under this name.
fn has_name(service: &RankingService, name: &str) -> bool {
    if let Some(given) = &service.spec.state_store.service {
        return given == name;
    }
    let (namespace, own) = (&service.metadata.namespace, &service.metadata.name);
    let rest = namespace.as_ref().and_then(|namespace| name.strip_prefix(namespace.as_str())?.strip_prefix('.'));
    rest.is_some() && rest == own.as_deref()
}

/// The one of two that was there before has the lesser one: it works in this place already, or else it is older.
fn turn(one: &RankingService, other: &RankingService) -> (bool, Option<Timestamp>, Option<String>) {
    (!works_for(one, other), one.creation_timestamp().map(|time| time.0), one.uid())
}

/// Whether a resource has worked in the place that it shares with another one.
fn works_for(one: &RankingService, other: &RankingService) -> bool {
    works_there(one, one) || works_there(one, other)
}

/// Whether the state that a resource has worked on lies where the other one names one now. Its author may have moved it since.
fn works_there(one: &RankingService, other: &RankingService) -> bool {
    let Some(state) = one.status.as_ref().and_then(|status| status.state.as_ref()) else { return false };
    let (now, namespace) = (status::place(other), one.namespace().unwrap_or_default());
    let ((servers, database), (_, wanted)) = (parts(&state.place), parts(&now));
    let there = Place::of(other).servers;
    database == wanted && servers.split(',').any(|address| there.contains(&resolved(address, &namespace)))
}

/// The servers of a place in words, and the rest of it.
fn parts(place: &str) -> (&str, &str) {
    place.split_at(place.find([' ', '/']).unwrap_or(place.len()))
}

impl Place {
    fn of(service: &RankingService) -> Self {
        let (store, namespace) = (&service.spec.state_store, service.namespace().unwrap_or_default());
        let redis = &store.redis;
        let in_bucket = service.spec.click_through_store.as_ref().is_some_and(|store| store.s3.is_some());
        let click_throughs = (!in_bucket).then_some(redis.databases.click_throughs);
        let databases = match redis.mode {
            RedisMode::Cluster => [0].into(), // it has one
            RedisMode::Standalone | RedisMode::Sentinel => {
                [redis.databases.state, redis.databases.models].into_iter().chain(click_throughs).collect()
            }
        };
        Self {
            service: store.service.clone().unwrap_or_else(|| format!("{namespace}.{}", service.name_any())),
            servers: addresses(redis).map(|address| resolved(&address, &namespace)).collect(),
            master: redis.master_name.clone(),
            databases,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.service == other.service
            && self.master == other.master
            && !self.databases.is_disjoint(&other.databases)
            && !self.servers.is_disjoint(&other.servers)
    }
}

fn addresses(redis: &Redis) -> impl Iterator<Item = String> {
    let alone = redis.host.as_ref().map(|host| format!("{host}:{}", redis.port));
    alone.into_iter().chain(redis.nodes.iter().flatten().cloned())
}

/// An address as pods of a namespace understand it: `redis` and `redis.shop.svc.cluster.local` may be the same.
fn resolved(address: &str, namespace: &str) -> String {
    let address = address.to_ascii_lowercase();
    let Some((host, port)) = address.rsplit_once(':') else { return address };
    let host = host.trim_end_matches('.').trim_end_matches(".cluster.local").trim_end_matches(".svc");
    // a name without a dot is a Service of the namespace; addresses of version 6 have colons
    let whole = if host.contains(['.', ':']) { host.to_owned() } else { format!("{host}.{namespace}") };
    format!("{whole}:{port}")
}

impl Rival {
    /// Its namespace and name.
    pub fn named(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::service;
    use serde_json::{Value, json};

    /// A resource of this namespace, made at this second.
    fn made(namespace: &str, name: &str, second: i64, store: Value) -> RankingService {
        let mut made = service(json!({"stateStore": {"redis": {"host": null}}}));
        made.spec.state_store = serde_json::from_value(store).unwrap();
        made.metadata.namespace = Some(namespace.to_owned());
        made.metadata.name = Some(name.to_owned());
        made.metadata.uid = Some(format!("{namespace}-{name}"));
        let time = Timestamp::from_second(second).unwrap();
        made.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time));
        made
    }

    fn meet(one: Value, other: Value) -> bool {
        let (one, other) = (made("a", "shop", 1, one), made("b", "shop", 2, other));
        !among(&one, std::iter::once(&other)).is_empty()
    }

    fn at(host: &str) -> Value {
        json!({"service": "shop", "redis": {"host": host}})
    }

    #[test]
    fn the_same_name_on_the_same_server_is_one_state() {
        assert!(meet(at("redis.data"), at("redis.data.svc.cluster.local")));
        assert!(meet(at("redis"), at("redis.a.svc")), "a short name is one of the namespace");
        assert!(!meet(at("redis"), at("redis")), "so these are two servers");
        assert!(meet(at("Redis.Example.COM"), at("redis.example.com.")));
        assert!(!meet(at("redis.data"), json!({"service": "blog", "redis": {"host": "redis.data"}})));
        assert!(!meet(at("redis.data"), json!({"service": "shop", "redis": {"host": "redis.data", "port": 6380}})));
        let databases = json!({"state": 7, "clickThroughs": 8, "models": 9});
        assert!(!meet(
            at("redis.data"),
            json!({"service": "shop", "redis": {"host": "redis.data", "databases": databases}})
        ));
        assert!(
            !meet(json!({"redis": {"host": "redis.data"}}), json!({"redis": {"host": "redis.data"}})),
            "names differ by namespace"
        );
        let given = json!({"service": "a.shop", "redis": {"host": "redis.data"}});
        assert!(meet(json!({"redis": {"host": "redis.data"}}), given), "that is the name of the one in namespace a");
    }

    #[test]
    fn databases_of_all_three_kinds_of_data_are_compared() {
        let with =
            |databases: Value| json!({"service": "shop", "redis": {"host": "redis.data", "databases": databases}});
        let theirs = json!({"state": 7, "models": 9});
        assert!(meet(at("redis.data"), with(theirs.clone())), "both keep click-throughs in database 2");
        assert!(
            meet(at("redis.data"), with(json!({"state": 3, "clickThroughs": 8, "models": 9}))),
            "with the models of one"
        );
        let (mut one, other) = (made("a", "shop", 1, at("redis.data")), made("b", "shop", 2, with(theirs)));
        let bucket = json!({"s3": {"bucket": "events", "prefix": "p", "region": "r"}});
        one.spec.click_through_store = serde_json::from_value(bucket).unwrap();
        assert!(among(&one, std::iter::once(&other)).is_empty(), "one keeps its click-throughs in a bucket");
    }

    #[test]
    fn clusters_and_sentinels_are_known_by_any_of_their_nodes() {
        let cluster = |nodes: &[&str]| json!({"service": "shop", "redis": {"mode": "Cluster", "nodes": nodes}});
        assert!(meet(cluster(&["one.data:6379", "two.data:6379"]), cluster(&["two.data.svc:6379"])));
        assert!(!meet(cluster(&["one.data:6379"]), cluster(&["three.data:6379"])));
        let sentinel = |master: &str| json!({"service": "shop", "redis": {"mode": "Sentinel", "nodes": ["s.data:26379"], "masterName": master}});
        assert!(meet(sentinel("one"), sentinel("one")) && !meet(sentinel("one"), sentinel("two")));
    }

    /// The same, having worked on a state in this place.
    fn working(service: RankingService, place: &str) -> RankingService {
        let status = serde_json::from_value(json!({"state": {"id": "s", "place": place}})).unwrap();
        RankingService { status: Some(status), ..service }
    }

    #[test]
    fn one_that_is_moved_to_the_place_of_another_is_the_later_one_there_however_old_it_is() {
        let (first, second) = (made("a", "shop", 1, at("redis.data")), made("b", "shop", 2, at("redis.data")));
        let is_first = |one: &RankingService, other: &RankingService| {
            let [one_is_older, other_is_older] =
                [(other, one), (one, other)].map(|(own, rival)| among(own, std::iter::once(rival))[0].older);
            assert_ne!(one_is_older, other_is_older, "both see it in the same way");
            one_is_older
        };
        let (here, elsewhere) = ("redis.data:6379/0 (shop)", "other.data:6379/0 (shop)");
        let owner = working(second.clone(), here);
        assert!(!is_first(&working(first.clone(), elsewhere), &owner) && !is_first(&first, &owner));
        assert!(is_first(&working(first.clone(), here), &owner), "both have worked here");
        assert!(is_first(&working(first.clone(), elsewhere), &second), "none has");
        for same in ["redis.data.svc.cluster.local:6379/0 (shop)", "gone.data:6379,REDIS.data:6379/0 (shop)"] {
            let respelled = working(second.clone(), same);
            assert!(!is_first(&working(first.clone(), elsewhere), &respelled), "{same} is the same server");
        }
        let other_database = working(second, "redis.data:6379/3 (shop)");
        assert!(is_first(&first, &other_database));
    }

    #[test]
    fn one_that_was_refused_elsewhere_is_the_first_in_the_place_where_it_works_on() {
        let moved = working(made("a", "shop", 2, at("other.data")), "redis.data:6379/0 (shop)");
        let newcomer = made("b", "shop", 1, at("redis.data.svc"));
        let found = among(&newcomer, std::iter::once(&moved));
        assert!(found.len() == 1 && found[0].older, "{found:?}");
        assert!(among(&moved, std::iter::once(&newcomer)).is_empty(), "it names another place");
        let gone = working(moved, "other.data:6379/0 (shop)");
        assert!(among(&newcomer, std::iter::once(&gone)).is_empty(), "it works elsewhere now");
    }

    #[test]
    fn one_that_was_refused_in_the_place_of_another_one_has_not_worked_there() {
        let owner = working(made("b", "shop", 2, at("redis.data")), "redis.data:6379/0 (shop)");
        let ran = |state: Value| {
            let mut rival = made("a", "shop", 1, at("redis.data"));
            let rank = json!({"replicas": 1, "readyReplicas": 1, "ready": "1/1", "selector": "", "endpoint": ""});
            rival.status = serde_json::from_value(json!({"rank": rank, "state": state})).unwrap();
            among(&owner, std::iter::once(&rival))[0].ran
        };
        assert!(!ran(json!({"id": "s", "place": "other.data:6379/0 (shop)"})));
        assert!(ran(json!({"id": "s", "place": "redis.data.svc:6379/0 (shop)"})));
        assert!(ran(Value::Null), "no server has told where it works");
    }

    #[test]
    fn the_state_is_that_of_the_older_one() {
        let store = || at("redis.data");
        let (first, second) = (made("a", "shop", 1, store()), made("b", "shop", 2, store()));
        let told = |service: &RankingService, other: &RankingService| {
            let found = among(service, [service, other].into_iter());
            assert_eq!(found.len(), 1, "nobody is its own rival");
            (found[0].named(), found[0].older, found[0].ran)
        };
        assert_eq!(told(&second, &first), ("a/shop".to_owned(), true, false));
        assert_eq!(told(&first, &second), ("b/shop".to_owned(), false, false));
        let same = made("b", "shop", 1, store());
        assert!(told(&same, &first).1 && !told(&first, &same).1, "one of two made in the same second");
    }
}
