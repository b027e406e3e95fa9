//! What one path does, in the words of OpenAPI.

use super::Schemas;
use crate::http::failure::{Code, Failure};
use serde_json::{Map, Value, json as value};
use std::collections::BTreeMap;

const JSON: &str = "application/json";

/// What a path takes and answers.
pub(crate) struct Operation {
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Map<String, Value>,
    codes: Vec<Code>,
    needs_token: bool,
}

/// Codes of every path whose body is read.
const OF_BODIES: [Code; 6] = [
    Code::InvalidRequest,
    Code::RequestTimeout,
    Code::TooLarge,
    Code::UnsupportedEncoding,
    Code::Internal,
    Code::Overloaded,
];

impl Operation {
    /// One that only foreign web pages and a service that is not up yet are refused. `id` is what clients call it.
    pub(crate) fn new(id: &'static str, tag: &'static str, summary: &'static str) -> Self {
        let (parameters, codes) = (Vec::new(), vec![Code::ForeignOrigin, Code::Unavailable]);
        Self { id, tag, summary, parameters, body: None, answers: Map::new(), codes, needs_token: false }
    }

    /// With the last part of the path, which is one of these names; any, where there are none.
    pub(crate) fn named<'n>(mut self, parameter: &str, names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<_> = names.collect();
        let schema =
            if names.is_empty() { value!({"type": "string"}) } else { value!({"type": "string", "enum": names}) };
        self.parameters.push(value!({"name": parameter, "in": "path", "required": true, "schema": schema}));
        self.fails(&[Code::InvalidRequest, Code::UnknownModel, Code::WrongModelType])
    }

    /// With another part of the path.
    pub(crate) fn part(mut self, name: &str, description: &str, schema: Value) -> Self {
        let part = value!({"name": name, "in": "path", "required": true, "description": description, "schema": schema});
        self.parameters.push(part);
        self.fails(&[Code::InvalidRequest])
    }

    /// With a parameter of the query that may be left out.
    pub(crate) fn query(mut self, name: &str, description: &str, schema: Value) -> Self {
        self.parameters.push(value!({"name": name, "in": "query", "description": description, "schema": schema}));
        self
    }

    /// With a parameter of the query that must be there.
    pub(crate) fn required_query(self, name: &str, description: &str, schema: Value) -> Self {
        let mut operation = self.query(name, description, schema);
        if let Some(parameter) = operation.parameters.last_mut() {
            parameter["required"] = value!(true);
        }
        operation.fails(&[Code::InvalidRequest])
    }

    /// With a body, and all that may be wrong with it.
    pub(crate) fn body(mut self, schema: impl Into<Value>) -> Self {
        let schema: Value = schema.into();
        self.body = Some(value!({"required": true, "content": {JSON: {"schema": schema}}}));
        self.fails(&OF_BODIES)
    }

    /// Answers 200 with JSON.
    pub(crate) fn answers(self, description: &str, schema: impl Into<Value>) -> Self {
        self.answers_as(200, description, JSON, schema)
    }

    /// Answers another status, or another type of content.
    pub(crate) fn answers_as(
        mut self,
        status: u16,
        description: &str,
        content: &str,
        schema: impl Into<Value>,
    ) -> Self {
        let schema: Value = schema.into();
        let answer = value!({"description": description, "content": {content: {"schema": schema}}});
        self.answers.insert(status.to_string(), answer);
        self
    }

    /// May fail with these codes.
    pub(crate) fn fails(mut self, codes: &[Code]) -> Self {
        self.codes.extend(codes);
        self
    }

    /// Needs the configured token.
    pub(crate) fn needs_token(mut self) -> Self {
        self.needs_token = true;
        self.fails(&[Code::Unauthorized])
    }

    /// Is for those who may see what the page shows: with the token, or from the same machine where there is none.
    pub(crate) fn for_the_page(self) -> Self {
        self.needs_token().fails(&[Code::NotLocal, Code::NotFound])
    }

    /// The object of OpenAPI.
    pub(super) fn into_json(mut self, schemas: &mut Schemas<'_>) -> Value {
        let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        self.codes.sort_unstable();
        self.codes.dedup();
        self.codes.iter().for_each(|code| by_status.entry(code.status().as_u16()).or_default().push(*code));
        for (status, codes) in by_status {
            add(&mut self.answers, status, failed(&codes, schemas));
        }
        let mut operation = value!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "parameters": self.parameters,
            "responses": self.answers,
        });
        if let Some(body) = self.body {
            operation["requestBody"] = body;
        }
        if self.needs_token && schemas.app().token().is_some() {
            operation["security"] = value!([{"bearer": []}]);
        }
        operation
    }
}

/// An answer that is not a success, with these codes.
fn failed(codes: &[Code], schemas: &mut Schemas<'_>) -> Value {
    let when: Vec<_> = codes.iter().map(|code| format!("`{}`: {}", code.name(), code.when())).collect();
    let form: Value = schemas.answered::<Failure>().into();
    let named = value!({"properties": {"error": {"properties": {"code": {"enum": codes}}}}});
    let mut answer = value!({
        "description": when.join(" "),
        "content": {JSON: {"schema": {"allOf": [form, named]}}},
    });
    if let Some((name, example)) = codes.iter().find_map(|code| code.header()) {
        answer["headers"] = value!({name: {"schema": {"type": "string"}, "example": example}});
    }
    answer
}

/// Adds an answer; where its status has another form already, either may come.
fn add(answers: &mut Map<String, Value>, status: u16, answer: Value) {
    match answers.get_mut(&status.to_string()) {
        None => drop(answers.insert(status.to_string(), answer)),
        Some(other) => {
            let form = &mut other["content"][JSON]["schema"];
            *form = value!({"anyOf": [form.take(), answer["content"][JSON]["schema"]]});
        }
    }
}
