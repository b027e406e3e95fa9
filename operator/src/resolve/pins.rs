//! Versions of models that are pinned now, and were not before: whether they are there is known to rank servers alone.

use crate::Result;
use crate::observe::{self, Heard};
use crate::reconcile::Context;
use rankwright_crds::RankingService;
use std::collections::BTreeMap;

/// Versions that there are of models, for those of which another one is to be pinned. Where no ready rank server tells, as
/// before the first start, there are none here.
///
/// # Errors
/// When the API server does not answer.
pub(super) async fn versions(ctx: &Context, service: &RankingService) -> Result<BTreeMap<String, Vec<String>>> {
    let mut models = newly_pinned(service).peekable();
    if models.peek().is_none() || service.metadata.deletion_timestamp.is_some() {
        return Ok(BTreeMap::new());
    }
    let heard = observe::heard(ctx, service).await?;
    Ok(models.filter_map(|model| Some((model.clone(), told(&heard, model)?))).collect())
}

fn told(heard: &Heard, model: &str) -> Option<Vec<String>> {
    Some(heard.versions(model)?.into_iter().map(str::to_owned).collect())
}

/// Models that the resource pins to another version than when its status was written last.
fn newly_pinned(service: &RankingService) -> impl Iterator<Item = &String> {
    let models = || service.status.iter().flat_map(|status| &status.models);
    let is_known = move |name: &String, version: &String| {
        models().any(|model| model.name == *name && model.pinned.as_ref() == Some(version))
    };
    service.spec.model_version.iter().filter(move |(name, version)| !is_known(name, version)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::service;
    use serde_json::json;

    #[test]
    fn what_is_pinned_already_is_not_asked_about_again() {
        let mut service = service(json!({"modelVersion": {"shop": "v2"}}));
        let pinned = |service: &RankingService| newly_pinned(service).cloned().collect::<Vec<_>>();
        assert_eq!(pinned(&service), ["shop"]);
        let mut told = |version: &str| {
            service.status = serde_json::from_value(json!({"models": [{"name": "shop", "pinned": version}]})).unwrap();
            pinned(&service)
        };
        assert_eq!(told("v1"), ["shop"]);
        assert_eq!(told("v2"), Vec::<String>::new());
    }
}
