//! The definition as people apply it.

use crate::definition;

const HEAD: &str = "# Generated from crds/src by `cargo run -p rankwright-crds`: change it there.\n";

/// The definition of all resources as YAML.
///
/// # Panics
/// Never: a definition is made of texts, numbers and lists, which YAML can say.
pub fn yaml() -> String {
    let mut value = serde_json::to_value(definition()).expect("a definition is JSON");
    if let Some(definition) = value.as_object_mut() {
        definition.remove("status"); // the API server's own
    }
    let text = serde_saphyr::to_string(&value).expect("JSON is YAML");
    format!("{HEAD}{text}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_yaml_in_the_repository_is_the_one_of_the_types() {
        let committed = include_str!("../rankingservices.yaml");
        assert!(committed == super::yaml(), "run `cargo run -p rankwright-crds > crds/rankingservices.yaml`");
    }

    #[test]
    fn the_definition_fits_into_what_kubectl_apply_notes_of_an_object() {
        assert!(super::yaml().len() < 262_144);
    }
}
