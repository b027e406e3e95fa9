//! Pure: a checked plan in, Kubernetes objects out.

mod account;
mod child;
mod config_map;
mod import;
mod ingest;
pub mod monitoring;
mod network;
mod page;
pub mod pod;
mod purge;
mod rank;
mod training;

pub use child::{Child, Mode};
pub use purge::purge;

use crate::validate::Plan;

/// Every object of a service. What other objects name comes first.
pub fn desired(plan: &Plan) -> Vec<Child> {
    let mut children = config_map::children(plan);
    children.extend(account::account(plan));
    children.extend(rank::children(plan));
    children.extend(ingest::children(plan));
    children.extend(training::cron_jobs(plan));
    children.extend(import::job(plan));
    children.extend(network::children(plan));
    children.extend(monitoring::children(plan));
    children
}

/// What the removal of data needs of them.
pub fn kept_for_purge(plan: &Plan) -> Vec<Child> {
    let read = std::iter::once(config_map::newest(plan)).chain(account::account(plan));
    read.chain(network::of_purge(plan)).collect()
}

#[cfg(test)]
mod tests;
