//! The commit protocol, explored in every interleaving of steps, crashes and take-overs that the bounds allow.
#![allow(missing_docs)]

mod protocol {
    pub(crate) mod event;
    pub(crate) mod holder;
    pub(crate) mod plan;
    pub(crate) mod rules;
    pub(crate) mod search;
    pub(crate) mod store;
    pub(crate) mod value;
    pub(crate) mod world;
}

use protocol::event::{IN_ORDER, LATE, Story};
use protocol::rules::{Bug, Rules, Variant};
use protocol::search::explore;

#[test]
fn tryout() {
    let env = |name: &str, default: u8| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    for (name, story) in [("order", IN_ORDER), ("late", LATE)] {
        for variant in [Variant::OneRedis, Variant::Cluster] {
            let start = std::time::Instant::now();
            let rules = Rules::new(variant, story).sized(env("FAULTS", 1), env("BATCH", 2));
            println!("{name} {variant:?} {:?} {:?}", explore(&rules), start.elapsed());
        }
    }
}
