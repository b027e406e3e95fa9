//! `POST /evaluation`: what `evaluate` computes, in a process that serves.

use crate::evaluate::rankers::chosen;
use anyhow::{Context, Result};
use rankwright_assembly::{Engine, chain, give_way};
use rankwright_clickthrough::{Clickthrough, Kind};
use rankwright_config::model::Weighting;
use rankwright_config::{ClickthroughStore, Model, ranking_field};
use rankwright_event::field::Value as FieldValue;
use rankwright_serve::{Compared, Evaluated, Evaluation, WorstRequest};
use rankwright_train::evaluate::Report;
use rankwright_train::{Evaluation as Comparison, Progress};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How often visitors are drawn for intervals, as `evaluate` does.
const RESAMPLES: usize = 1000;
/// How many of the worst lists of each model are named.
const WORST: usize = 10;

/// Compares the models of a service on the click-throughs that it keeps.
pub(crate) struct Evaluator {
    engine: Arc<Engine>,
}

impl Evaluator {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    fn run(&self, compared: &Compared, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Evaluated> {
        let Engine { config, versions, clickthroughs, .. } = &*self.engine;
        let _inside = self.engine.runtime().enter(); // stores that wait for a network do so on its threads
        let chosen = chosen(config, &**versions, &compared.models)?;
        let evaluation = Comparison {
            model: &chosen.model,
            config: &chosen.definition,
            rankers: &chosen.rankers,
            served: &self.engine.served_constants(),
            by: compared.by.as_deref().map(ranking_field),
            weighting: &Weighting::default(),
            resamples: RESAMPLES,
            seed: 0,
            worst: WORST,
        };
        let mut report = evaluation.run(&**clickthroughs, &mut |step| {
            if let Progress::Reading { rankings } = step {
                progress(rankings);
            }
        })?;
        report.notes.extend(chosen.notes.into_iter().chain(chosen.left_out));
        let lists = worst(&report, &chosen.definition.weights, &**clickthroughs)?;
        Ok(Evaluated { report: serde_json::to_value(&report).context("a report is JSON")?, lists })
    }
}

impl Evaluation for Evaluator {
    fn unavailable(&self) -> Option<String> {
        let config = &self.engine.config;
        if matches!(config.train, Some(ClickthroughStore::Discard)) {
            return Some("'train: {type: discard}' keeps no click-throughs to compare models on".to_owned());
        }
        let learns = config.models.values().any(Model::learns_order);
        let missing =
            "the configuration has no model of type lambdamart, whose split, weights and metrics a comparison needs";
        (!learns).then(|| missing.to_owned())
    }

    fn evaluate(&self, compared: &Compared, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Evaluated, String> {
        give_way();
        self.run(compared, progress).map_err(|error| chain(&error))
    }

    fn report(&self, schemas: &mut SchemaGenerator) -> Schema {
        schemas.subschema_for::<Report>()
    }
}

/// A list that is looked for, and the first model that ranks it badly.
struct Wanted<'a> {
    tenant: &'a str,
    model: &'a str,
    place: usize,
}

/// The lists that a report names, as requests, in its order. They are read once more: at first it was not known which these are.
fn worst(
    report: &Report,
    weights: &BTreeMap<String, f64>,
    store: &dyn rankwright_clickthrough::ClickthroughStore,
) -> Result<Vec<WorstRequest>> {
    let (mut wanted, mut left): (HashMap<&str, Vec<Wanted<'_>>>, usize) = Default::default();
    for worst in &report.worst {
        let version = report.rankers.iter().find(|ranker| ranker.name == worst.ranker);
        let version = version.and_then(|ranker| ranker.version.as_ref()).map(|version| format!("@{version}"));
        let model = version.and_then(|version| worst.ranker.strip_suffix(&*version)).unwrap_or(&worst.ranker);
        for list in &worst.lists {
            let of_this_id = wanted.entry(&list.ranking).or_default();
            if of_this_id.iter().all(|other| other.tenant != list.tenant) {
                of_this_id.push(Wanted { tenant: &list.tenant, model, place: left });
                left += 1;
            }
        }
    }
    let mut found = Vec::with_capacity(left);
    let mut records = store.read()?;
    while found.len() < left {
        let Some(entry) = records.next() else { break };
        let (_, record) = entry?;
        let of_this_id = wanted.get(record.ranking.as_str()).filter(|_| record.kind == Kind::Ranking);
        let list = of_this_id.into_iter().flatten().find(|list| list.tenant == record.tenant.as_str());
        found.extend(list.map(|list| (list.place, request(&record, list.model, weights))));
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, request)| request).collect())
}

/// A click-through as a rank request. Fields of its items are not kept, so it has none.
fn request(record: &Clickthrough, model: &str, weights: &BTreeMap<String, f64>) -> WorstRequest {
    let labels = record.labels(weights);
    let relevant = record.items.iter().zip(labels).filter(|(_, label)| *label > 0.0);
    let fields = record.fields.iter().map(|field| json!({"name": field.name.as_str(), "value": value(&field.value)}));
    let body = json!({
        "id": record.ranking.as_str(),
        "timestamp": record.timestamp.millis().to_string(),
        "tenant": record.tenant.as_str(),
        "user": record.user.as_ref().map(|user| user.as_str()),
        "session": record.session.as_ref().map(|session| session.as_str()),
        "fields": fields.collect::<Vec<_>>(),
        "items": record.items.iter().map(|item| json!({"id": item.id.as_str()})).collect::<Vec<_>>(),
    });
    WorstRequest {
        model: model.to_owned(),
        time: record.timestamp.millis().unsigned_abs(),
        relevant: relevant.map(|(item, _)| item.id.to_string()).collect(),
        items: record.items.len(),
        body: body.to_string().into_bytes().into(),
    }
}

fn value(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(flag) => json!(flag),
        FieldValue::Number(number) => json!(number),
        FieldValue::Text(text) => json!(text.as_str()),
        FieldValue::Numbers(numbers) => json!(numbers),
        FieldValue::Texts(texts) => texts.iter().map(|text| text.as_str()).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rankwright_event::json::decode_ranking_request;
    use rankwright_event::{Event, json};

    const RANKING: &str = r#"{"event": "ranking", "id": "r1", "timestamp": "1636993834000", "tenant": "t", "user": "u", "session": "s",
        "fields": [{"name": "query", "value": "shoes"}, {"name": "sizes", "value": [1.5, 2]}, {"name": "new", "value": true}],
        "items": [{"id": "a"}, {"id": "b", "label": 1}]}"#;

    #[test]
    fn a_click_through_is_the_request_that_it_came_from() {
        let Event::Ranking(ranking) = json::decode(RANKING.as_bytes()).unwrap() else { panic!("another event") };
        let record = Clickthrough::of_ranking(&ranking, Default::default(), Vec::new());
        let request = request(&record, "shop", &BTreeMap::new());
        assert_eq!((request.items, request.relevant, request.time), (2, vec!["b".to_owned()], 1_636_993_834_000));
        let again = decode_ranking_request(&request.body).unwrap();
        let ids =
            |ranking: &rankwright_event::Ranking| ranking.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>();
        assert_eq!((&again.id, &again.tenant, &again.user), (&ranking.id, &ranking.tenant, &ranking.user));
        assert_eq!((&again.session, again.timestamp), (&ranking.session, ranking.timestamp));
        assert_eq!((&again.fields, ids(&again)), (&ranking.fields, ids(&ranking)));
    }
}
