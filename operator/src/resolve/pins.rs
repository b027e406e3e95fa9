//! Versions of models that are pinned now, and were not before: whether they are there is known to rank servers alone.

use crate::Result;
use crate::observe::{self, Heard};
use crate::reconcile::Context;
use crate::resolve::Resolved;
use crate::validate::configuration;
use rankwright_crds::RankingService;
use std::collections::BTreeMap;

/// Versions that there are of models, for those of which another one is to be pinned. Where no ready rank server tells, as
/// before the first start, there are none here.
///
/// # Errors
/// When the API server does not answer.
pub(super) async fn versions(
    ctx: &Context,
    service: &RankingService,
    resolved: &Resolved,
) -> Result<BTreeMap<String, Vec<String>>> {
    let models = newly_pinned(service, resolved);
    if models.is_empty() || service.metadata.deletion_timestamp.is_some() {
        return Ok(BTreeMap::new());
    }
    let heard = observe::heard(ctx, service).await?;
    Ok(models.into_iter().filter_map(|model| Some((model.clone(), told(&heard, &model)?))).collect())
}

fn told(heard: &Heard, model: &str) -> Option<Vec<String>> {
    Some(heard.versions(model)?.into_iter().map(str::to_owned).collect())
}

/// Models that the resource or its configuration pins to another version than when its status was written last.
fn newly_pinned(service: &RankingService, resolved: &Resolved) -> Vec<String> {
    let models = || service.status.iter().flat_map(|status| &status.models);
    let is_known = |name: &String, version: &String| {
        models().any(|model| model.name == *name && model.pinned.as_ref() == Some(version))
    };
    let pins = configuration::pins(&service.spec, resolved).into_iter();
    pins.filter(|(name, version)| !is_known(name, version)).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::resolve::{Content, Kind};
    use crate::testing::service;
    use serde_json::json;

    #[test]
    fn what_is_pinned_already_is_not_asked_about_again() {
        let written = "models: {shop: {type: lambdamart, version: v2}}";
        let map = ((Kind::ConfigMap, "theirs".to_owned()), Content::of_texts([("config.yml", written)]));
        let resolved = Resolved { objects: [map].into(), ..Resolved::default() };
        for spec in [
            json!({"modelVersion": {"shop": "v2"}}),
            json!({"configuration": {"inline": {"models": {"shop": {"version": "v2"}}}}}),
            json!({"configuration": {"inline": null, "configMapRef": {"name": "theirs"}}}),
        ] {
            let mut service = service(spec);
            let pinned = |service: &RankingService| newly_pinned(service, &resolved);
            assert_eq!(pinned(&service), ["shop"]);
            let mut told = |version: &str| {
                let models = json!({"models": [{"name": "shop", "pinned": version}]});
                service.status = serde_json::from_value(models).unwrap();
                pinned(&service)
            };
            assert_eq!(told("v1"), ["shop"]);
            assert_eq!(told("v2"), Vec::<String>::new());
        }
    }
}
