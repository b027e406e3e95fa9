//! The operator against a real API server with its controllers (`e2e/cluster/up.sh control`): pods stay pending there, and
//! tests say in their status what a node would. Those of [`node`] want pods that run.
//!
//! `RANKWRIGHT_TEST_KUBECONFIG` names the cluster, and `RANKWRIGHT_TEST_AUDIT_LOG` the API server's log of requests.

#![allow(clippy::unwrap_used)]

mod autoscaling;
mod between;
mod cluster;
mod commands;
mod conflicts;
mod crd;
mod cut;
mod deletion;
mod encrypted;
mod events;
mod imports;
mod leader;
mod lost;
mod many;
mod node;
mod optional;
mod page;
mod pods;
mod program;
mod progress;
mod references;
mod rivals;
mod rollout;
mod samples;
mod scopes;
mod stale;
mod steady;
mod training;
mod unreadable;
mod workloads;
