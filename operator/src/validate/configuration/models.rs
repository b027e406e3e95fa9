//! What the resource says of models: pins, gates, warm-up.

use crate::schedules;
use crate::validate::Refusal;
use rankwright_config::Config;
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::{ModelSchedule, Training};
use serde_json::{Map, Value, json};

/// Lays pins over models that learn, and gives them what their configuration does not say.
pub(super) fn overlay(tree: &mut Map<String, Value>, spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let Some(Value::Object(models)) = tree.get_mut("models") else { return Ok(()) };
    for (name, model) in models {
        let Value::Object(model) = model else { continue }; // the engine's checks say what is wrong with it
        let ranks = match model.get("type").and_then(Value::as_str) {
            Some("lambdamart") => true,
            Some("als" | "trending" | "semantic") => false,
            _ => continue,
        };
        for (key, value) in defaults(spec, ranks) {
            model.entry(key).or_insert(value);
        }
        let Some(pinned) = spec.model_version.get(name) else { continue };
        if model.get("version").is_some_and(|version| version != pinned) {
            let instead = "spec.modelVersion pins another version: leave one of them out".to_owned();
            return Err(Refusal::Contradiction { path: format!("models.{name}.version"), instead });
        }
        model.insert("version".to_owned(), json!(pinned));
    }
    Ok(())
}

/// Words that are no versions are told apart with what to do instead.
pub(super) fn are_versions(tree: &Map<String, Value>, spec: &RankingServiceSpec) -> Result<(), Refusal> {
    for (name, model) in tree.get("models").and_then(Value::as_object).into_iter().flatten() {
        let Some(pinned) = model.get("version").and_then(Value::as_str) else { continue };
        if ["latest", "newest", "current"].contains(&pinned.to_ascii_lowercase().as_str()) {
            let problem = format!(
                "{pinned} is no version: leave the entry out, and servers take up each version that passes its gate by themselves"
            );
            return Err(Refusal::unfit(pinned_by(spec, name), problem));
        }
    }
    Ok(())
}

/// The field that pins a model.
pub(crate) fn pinned_by(spec: &RankingServiceSpec, model: &str) -> String {
    match (spec.model_version.contains_key(model), &spec.configuration.config_map_ref) {
        (true, _) => format!("spec.modelVersion.{model}"),
        (false, Some(map)) => format!("ConfigMap {}, key {}: models.{model}.version", map.name, map.key),
        (false, None) => format!("spec.configuration.inline.models.{model}.version"),
    }
}

fn defaults(spec: &RankingServiceSpec, ranks: bool) -> Vec<(&'static str, Value)> {
    let mut defaults = Vec::new();
    if ranks {
        let warmup = &spec.rank.warmup;
        let duration = format!("{}s", warmup.duration_seconds);
        defaults.push(("warmup", json!({ "sampledRequests": warmup.sampled_requests, "duration": duration })));
    }
    if let Some(training) = &spec.training {
        defaults.push(("keepVersions", json!(training.keep_versions)));
        if let Some(gate) = &training.quality_gate {
            let margin: f64 = gate.margin.parse().unwrap_or(0.0); // the schema lets numbers through alone
            let mut settings = json!({ "margin": margin });
            if let Some(metric) = gate.metric.as_ref().filter(|_| ranks) {
                settings["metric"] = json!(metric);
            }
            defaults.push(("qualityGate", settings));
        }
    }
    defaults
}

/// Models that the resource names have to be there, and to learn.
pub(super) fn known(service: &str, spec: &RankingServiceSpec, config: &Config) -> Result<(), Refusal> {
    let learns = |name: &String| config.models.get(name).is_some_and(|model| model.learning().is_some());
    let have = || config.models.keys().filter(|name| learns(name)).cloned().collect::<Vec<_>>().join(", ");
    let problem = |name: &str| format!("the configuration has no model {name} that is trained; it has: {}", have());
    if let Some(name) = spec.model_version.keys().find(|name| !learns(name)) {
        return Err(Refusal::unfit(format!("spec.modelVersion.{name}"), problem(name)));
    }
    let Some(training) = &spec.training else { return Ok(()) };
    if let Some(name) = training.models.iter().find(|name| !learns(name)) {
        return Err(Refusal::unfit("spec.training.models", problem(name)));
    }
    scheduled(service, training, &learns, &problem)
}

/// A model that has a schedule of its own has to be there, to learn, and to have no other.
fn scheduled(
    service: &str,
    training: &Training,
    learns: &dyn Fn(&String) -> bool,
    problem: &dyn Fn(&str) -> String,
) -> Result<(), Refusal> {
    let field = |name: &str| format!("spec.training.modelSchedules[{name}]");
    for ModelSchedule { model, .. } in &training.model_schedules {
        if !learns(model) {
            return Err(Refusal::unfit(field(model), problem(model)));
        }
        if training.models.contains(model) {
            let twice = "spec.training.models lists this model as well: leave it out of one of them";
            return Err(Refusal::unfit(field(model), twice));
        }
    }
    match schedules::clash(service, training) {
        Some([one, other]) => {
            let problem = format!("its CronJob would have the name of that of {other}: rename one of these models");
            Err(Refusal::unfit(field(one), problem))
        }
        None => Ok(()),
    }
}
