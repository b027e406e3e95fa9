//! The state in Redis: whether it is still the one that the service has worked on.
//!
//! A state has an id, which rank servers tell. A Redis that comes back without its data has none, and the first program that opens it makes
//! another one. That one is taken for the service's own when an import has filled it, or its author says so.

use super::conditions::Verdict;
use super::{Facts, Reason};
use crate::resolve;
use kube::ResourceExt;
use rankwright_crds::status::{ImportPhase, ImportStatus, StateStatus};
use rankwright_crds::{RankingService, ranking_service::RedisMode};

/// By this annotation the author of a resource takes an empty state for its own: the id of that state.
const ACCEPTED: &str = "rankwright.dev/accepted-state";

/// The state as it is told now.
pub(super) fn state(facts: &Facts<'_>, before: Option<&StateStatus>) -> Option<StateStatus> {
    let place = place(facts.service);
    // servers of before a move tell of the state that they were made for
    if before.is_some_and(|before| before.place != place) && !is_carried_out(facts) {
        return before.cloned();
    }
    let before = before.filter(|before| before.place == place).cloned();
    let mut told = facts.observed.heard.said.iter().filter(|said| said.store.answers).map(|said| &said.store);
    let Some(first) = told.next() else { return before };
    let Some(id) = first.id.as_ref().filter(|id| told.all(|other| other.id.as_ref() == Some(*id))) else {
        return before; // servers notice one after the other that another one is there
    };
    let accepted = facts.service.annotations().get(ACCEPTED) == Some(id);
    let known = match before {
        Some(before) => before.id,
        None if first.emptied => "unknown".to_owned(),
        None => id.clone(),
    };
    let is_own = known == *id || accepted || first.generation > 1;
    Some(match is_own {
        true => StateStatus { id: id.clone(), place, replaced_by: None },
        false => StateStatus { id: known, place, replaced_by: Some(id.clone()) },
    })
}

/// Whether all rank servers have the configuration that the resource asks for now; other objects may be refused meanwhile.
fn is_carried_out(facts: &Facts<'_>) -> bool {
    let rank = facts.workloads.rank.as_ref().and_then(resolve::rolled_out);
    let Some((rank, plan)) = rank.zip(facts.plan) else { return false };
    rank.complete && rank.digests.is_some_and(|[configuration, _]| configuration == plan.configuration.digest)
}

/// The import with the state that it filled: it is lost exactly while another state is there.
pub(super) fn import(
    facts: &Facts<'_>,
    import: Option<ImportStatus>,
    state: Option<&StateStatus>,
) -> Option<ImportStatus> {
    let mut import = import?;
    let (true, Some(state)) = (matches!(import.phase, ImportPhase::Complete | ImportPhase::Lost), state) else {
        return Some(import);
    };
    // an import makes a second generation: before servers say so, they may tell of the state that it replaced
    let is_filled = state.replaced_by.is_none()
        && is_here(facts.service, state)
        && facts.observed.heard.said.iter().any(|said| said.store.generation > 1);
    import.state = import.state.or_else(|| is_filled.then(|| state.id.clone()));
    let Some(filled) = &import.state else { return Some(import) };
    let lost = filled != state.replaced_by.as_ref().unwrap_or(&state.id);
    let message = "the state that it filled is gone: raise import.attempt to import again";
    import.phase = if lost { ImportPhase::Lost } else { ImportPhase::Complete };
    import.message = lost.then(|| message.to_owned());
    Some(import)
}

/// Whether the state is the one that was there before.
pub(super) fn intact(service: &RankingService, state: Option<&StateStatus>) -> Verdict {
    let Some(state) = state else {
        return Verdict::unknown(Reason::NobodyToAsk, "no rank server tells which state it works on");
    };
    let Some(found) = &state.replaced_by else {
        return Verdict::yes(Reason::Intact, format!("state {} is the one that the service has worked on", state.id));
    };
    let again = match service.spec.import {
        Some(_) => "raise import.attempt to import again",
        None => "import again, or restore Redis",
    };
    let message = format!(
        "Redis at {} has lost the state of the service, and an empty one lies in its place: {again}; or go on with the empty one, and restart the ingest workers and rank servers then: kubectl annotate rankingservice {} --overwrite {ACCEPTED}={found}",
        state.place,
        service.name_any()
    );
    Verdict::no(Reason::StateLost, message)
}

/// Whether the state lies where the resource names one now; after a move, that of before is told until all servers have moved.
pub(super) fn is_here(service: &RankingService, state: &StateStatus) -> bool {
    state.place == place(service)
}

/// Where the state lies, in words: somewhere else there is another one.
pub(crate) fn place(service: &RankingService) -> String {
    let (store, redis) = (&service.spec.state_store, &service.spec.state_store.redis);
    let servers = match (&redis.host, &redis.nodes) {
        (Some(host), _) => format!("{host}:{}", redis.port),
        (None, nodes) => nodes.iter().flatten().cloned().collect::<Vec<_>>().join(","),
    };
    let database = match redis.mode {
        RedisMode::Cluster => String::new(), // it has one
        RedisMode::Standalone | RedisMode::Sentinel => format!("/{}", redis.databases.state),
    };
    let master = redis.master_name.as_ref().map(|master| format!(" of {master}")).unwrap_or_default();
    let name = store.service.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{servers}{master}{database}{name}")
}
