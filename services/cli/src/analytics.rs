//! `--print-analytics`: what could be counted about a use of the program, and goes nowhere.

use anyhow::Result;
use rankwright_assembly::{complain, configuration, now};
use rankwright_config::{Config, Model};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Keeps the digest of an address from being one that other programs publish.
const SALT: &str = "rankwright installation ";

/// Prints the counters of a use of the program, as `mode`, with this configuration; nothing where these are off.
pub(crate) fn print(mode: &str, path: Option<&Path>) -> Result<()> {
    let config = configuration(path)?;
    if config.core.tracking.analytics {
        let counters = counters(mode, &config, installation(Path::new("/sys/class/net")).as_deref());
        rankwright_assembly::print(&format!("{counters:#}\n"))?;
    } else {
        complain("nothing is counted: analytics are off, by core.tracking.analytics or SERVICE_TRACKING");
    }
    Ok(())
}

fn counters(mode: &str, config: &Config, installation: Option<&str>) -> Value {
    let model = |model: &Model| match model.trees() {
        Some(trees) => json!({"type": model.type_name(), "backend": trees.backend.booster.type_name()}),
        None => json!({"type": model.type_name()}),
    };
    let features = config.features.iter().map(|of| json!({"name": of.name, "type": of.kind.type_name()}));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": mode,
        "timestamp": now().millis(),
        "installation": installation,
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "state": config.state.type_name(),
        "train": config.train.as_ref().map(|store| store.type_name()),
        "source": config.source.as_ref().map(|source| source.kind.type_name()),
        "models": config.models.values().map(model).collect::<Value>(),
        "features": features.collect::<Value>(),
    })
}

/// A digest of the first network interface's address, as lowercase SHA-256; the system lists the `interfaces` as folders.
fn installation(interfaces: &Path) -> Option<String> {
    let mut folders: Vec<_> = fs::read_dir(interfaces).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    let address = |folder: &Path| fs::read_to_string(folder.join("address")).ok().map(|text| text.trim().to_owned());
    let is_one = |address: &String| address.bytes().any(|byte| !matches!(byte, b'0' | b':'));
    let address = folders.iter().filter_map(|folder| address(folder)).find(is_one)?;
    let digest = Sha256::new().chain_update(SALT).chain_update(address).finalize();
    Some(digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_name_what_is_used_and_nothing_of_where_it_is() {
        let text = "
state: {type: redis, host: secret.example.org, port: 6379}
source: {type: kafka, brokers: ['broker.example.org:9092'], topic: visits, groupId: shop}
features:
  - {name: price, type: number, field: item.price}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
models:
  default: {type: lambdamart, backend: {type: lightgbm}, weights: {click: 1}, features: [price, ctr]}
  none: {type: noop}
";
        let (config, _) = Config::parse(text, "test").expect("a valid configuration");
        let mut counted = counters("serve", &config, Some("abc"));
        assert!(counted["timestamp"].as_i64() > Some(0));
        counted["timestamp"] = json!(1);
        let expected = json!({
            "version": env!("CARGO_PKG_VERSION"), "mode": "serve", "timestamp": 1, "installation": "abc",
            "os": std::env::consts::OS, "arch": std::env::consts::ARCH,
            "state": "redis", "train": null, "source": "kafka",
            "models": [{"type": "lambdamart", "backend": "lightgbm"}, {"type": "noop"}],
            "features": [{"name": "price", "type": "number"}, {"name": "ctr", "type": "rate"}],
        });
        assert_eq!(counted, expected);
    }

    #[test]
    fn an_installation_is_known_by_the_first_address_that_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let interface = |name: &str, address: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).and_then(|()| fs::write(path.join("address"), address)).expect("writes");
        };
        assert_eq!(installation(folder.path()), None);
        interface("a-loopback", "00:00:00:00:00:00\n");
        assert_eq!(installation(folder.path()), None);
        interface("c-other", "02:00:00:00:00:02\n");
        let other = installation(folder.path()).expect("there is an address");
        interface("b-first", "02:00:00:00:00:01\n");
        let first = installation(folder.path()).expect("there is an address");
        assert!(first != other && first.len() == 64, "{first}");
    }
}
