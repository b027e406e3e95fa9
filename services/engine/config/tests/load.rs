//! A configuration is a file, named by an argument or by the environment.

#![allow(clippy::expect_used)]

use rankwright_config::{Config, Environment, LoadError};
use std::path::Path;

fn named(path: &Path) -> Environment {
    Environment { config: Some(path.display().to_string()), ..Environment::default() }
}

#[test]
fn an_argument_is_above_the_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, second) = (folder.path().join("first.yml"), folder.path().join("second.yml"));
    std::fs::write(&first, "api: {port: 1}").expect("written");
    std::fs::write(&second, "api: {port: 2}").expect("written");
    let port =
        |path, environment: &Environment| Config::load(path, environment).map(|(config, _)| config.api.port).ok();
    assert_eq!(port(Some(first.as_path()), &named(&second)), Some(1));
    assert_eq!(port(None, &named(&second)), Some(2));
    let url = Environment { config: Some(format!("file://{}", first.display())), ..Environment::default() };
    assert_eq!(port(None, &url), Some(1));
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let message = |path: Option<&str>| {
        let error = Config::load(path.map(Path::new), &Environment::default()).expect_err("nothing to load");
        error.to_string()
    };
    assert_eq!(message(None), "no configuration given: pass --config PATH or set SERVICE_CONFIG");
    assert_eq!(message(Some("/nowhere.yml")), "cannot read configuration /nowhere.yml");
    assert!(message(Some("http://host/config.yml")).contains("give a file, or an object as s3://bucket/key"));
}

#[test]
fn mistakes_carry_the_name_of_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yml");
    std::fs::write(&path, "prot: 1").expect("written");
    let error = Config::load(Some(&path), &Environment::default()).expect_err("the file has a mistake");
    assert!(matches!(error, LoadError::Invalid(_)));
    assert!(error.to_string().contains(&format!("{}:1:1  prot", path.display())), "{error}");
}

#[test]
fn settings_of_the_environment_apply_to_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yml");
    std::fs::write(&path, "api: {token: old}").expect("written");
    let environment = Environment { api_token: Some("new".into()), ..named(&path) };
    let (config, _) = Config::load(None, &environment).expect("the file is right");
    assert_eq!(config.api.token.expect("given").expose(), "new");
}
