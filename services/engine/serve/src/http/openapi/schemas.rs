//! The schemas of a description: collected while paths are described, each once.

use super::limits;
use crate::app::App;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json as value};

/// Schemas of the types that a service reads and writes.
pub(crate) struct Schemas<'a> {
    app: &'a App,
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(app: &'a App) -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        let (read, written) = (settings().for_deserialize(), settings().for_serialize());
        Self { app, read: read.into_generator(), written: written.into_generator() }
    }

    /// The service that is described.
    pub(crate) fn app(&self) -> &'a App {
        self.app
    }

    /// A type of which requests are read.
    pub(crate) fn asked<T: JsonSchema>(&mut self) -> Schema {
        self.read.subschema_for::<T>()
    }

    /// The same, of which one of these alternatives holds as well; none where there are none.
    pub(crate) fn asked_of<T: JsonSchema>(&mut self, alternatives: Vec<Value>) -> Value {
        let request: Value = self.asked::<T>().into();
        if alternatives.is_empty() { request } else { value!({"allOf": [request, {"anyOf": alternatives}]}) }
    }

    /// A type as which answers are written.
    pub(crate) fn answered<T: JsonSchema>(&mut self) -> Schema {
        self.written.subschema_for::<T>()
    }

    /// Answers whose type another crate knows.
    pub(crate) fn written(&mut self) -> &mut SchemaGenerator {
        &mut self.written
    }

    /// All of them by name, with the limits of the service.
    pub(super) fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.read.take_definitions(true);
        definitions.extend(self.written.take_definitions(true));
        let limits = limits::all(self.app);
        definitions.values_mut().for_each(|schema| limits::apply(schema, &limits));
        definitions
    }
}
