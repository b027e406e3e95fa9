//! A configuration for people to look at: defaults are filled in, secrets are hidden.

use rankwright_config::{Config, Environment, Shown, shown};
use serde_json::{Map, Value, json};

fn of(text: &str) -> Shown {
    shown(text, &Environment::default())
}

/// What stands under a key in every mapping of the text that has it.
fn only(shown: &Value, text: &Value) -> Value {
    match (shown, text) {
        (Value::Object(shown), Value::Object(text)) => {
            text.iter().map(|(key, value)| (key.clone(), only(&shown[key], value))).collect::<Map<_, _>>().into()
        }
        (Value::Array(shown), Value::Array(text)) => {
            shown.iter().zip(text).map(|(one, other)| only(one, other)).collect()
        }
        _ => shown.clone(),
    }
}

#[test]
fn what_is_secret_is_hidden_wherever_it_stands() {
    let text = "
api: {port: 8080, token: t0p, cors: {allowedOrigins: ['https://a.example']}}
state: {type: redis, host: h, auth: {user: u, password: &p hunter2}, sentinel: {password: *p}}
train: {type: s3, cloudKey: AKIA, awsKeySecret: 'x', key: ~, endpoint: 'https://me:hunter2@s3.example/a@b'}
source: {type: kafka, options: {sasl.jaas.config: org hunter2, ssl.key.pem: [a, b], client.id: me}}
features: [{name: price, ttl: 90d, rate: 1.5, on: true, not: 'true'}]
models: {monkey: {type: noop}}
";
    let expected = json!({
        "api": {"port": 8080, "token": "hidden", "cors": {"allowedOrigins": ["https://a.example"]}},
        "state": {
            "type": "redis", "host": "h", "auth": {"user": "u", "password": "hidden"},
            "sentinel": {"password": "hidden"},
        },
        "train": {
            "type": "s3", "cloudKey": "hidden", "awsKeySecret": "hidden", "key": null,
            "endpoint": "https://hidden@s3.example/a@b",
        },
        "source": {
            "type": "kafka",
            "options": {"sasl.jaas.config": "hidden", "ssl.key.pem": "hidden", "client.id": "me"},
        },
        "features": [{"name": "price", "ttl": "90d", "rate": 1.5, "on": true, "not": "true"}],
        "models": {"monkey": {"type": "noop"}},
    });
    assert_eq!(only(&of(text).configuration, &expected), expected);
    assert_eq!(of("{"), Shown::default());
}

#[test]
fn the_token_of_a_pulsar_source_is_hidden() {
    let text = "source: {type: pulsar, options: {authPluginClassName: AuthToken, authParams: 'token:hunter2'}}";
    let options = json!({"authPluginClassName": "AuthToken", "authParams": "hidden"});
    assert_eq!(of(text).configuration["source"]["options"], options);
}

#[test]
fn defaults_stand_where_the_text_says_nothing() {
    let text = "
api: {port: 1, limits: {maxConnections: 7}}
features: [{name: price, type: number, field: item.price, scope: item, ttl: 1d}]
models: {shop: {type: lambdamart, backend: {type: lightgbm}, weights: {click: 1}, features: [price]}}
";
    let Shown { configuration, defaults, .. } = of(text);
    assert_eq!((&configuration["api"]["port"], &configuration["api"]["host"]), (&json!(1), &json!("0.0.0.0")));
    assert_eq!(configuration["api"]["limits"]["drainTimeout"], "30s");
    assert_eq!(configuration["models"]["shop"]["qualityGate"], json!({"margin": 0.01}));
    assert_eq!(configuration["models"]["shop"]["backend"]["numLeaves"], 16);
    for path in ["state.type", "api.host", "api.limits.drainTimeout", "features[0].refresh", "models.shop.eval"] {
        assert!(defaults.iter().any(|default| default == path), "{path} in {defaults:?}");
    }
    for path in ["api.port", "api.limits", "api.limits.maxConnections", "features[0].ttl", "api.timeout"] {
        assert!(!defaults.iter().any(|default| default == path), "{path} in {defaults:?}");
    }
    assert!(configuration["api"].get("tls").is_none(), "{configuration}");
    assert_eq!(configuration["api"]["page"]["imageOrigins"], json!([]));
    assert!(defaults.contains(&"api.page.imageOrigins".to_owned()), "{defaults:?}");
}

#[test]
fn a_default_of_the_program_stands_where_the_text_says_nothing() {
    let path = "api.page.enabled".to_owned();
    for text in ["", "api: {page: {sample: 1}}", "api: {page: {enabled: ~}}"] {
        let mut shown = of(text);
        shown.fill(&["api", "page", "enabled"], true.into());
        assert_eq!(shown.configuration["api"]["page"]["enabled"], true, "{text}");
        assert!(shown.defaults.contains(&path), "{text}");
    }
    let mut shown = of("api: {page: {enabled: false}}");
    shown.fill(&["api", "page", "enabled"], true.into());
    assert_eq!(shown.configuration["api"]["page"]["enabled"], false);
    assert!(!shown.defaults.contains(&path));
}

#[test]
fn a_configuration_with_its_defaults_means_the_same() {
    let models = "models:
  a: {type: lambdamart, weights: {click: 1}, features: [p, c], warmup: {}}
  b: {type: lambdamart, backend: lightgbm, weights: {click: 1}, features: [p]}
  c: {type: als, interactions: [click]}
  d: {type: trending, weights: [{interaction: click}]}
";
    let features = "features:
  - {name: p, type: position, position: 1}
  - {name: c, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7]}
  - {name: i, type: interacted_with, interaction: click, field: item.color}
";
    let texts = [
        "".to_owned(),
        "state: {type: file, path: a}\ntrain: {type: file, path: b}\nsource: {type: file, path: c}".to_owned(),
        "state: {type: redis, host: h, port: 1, cache: {ttl: 1h}}\nsource: {type: pulsar, serviceUrl: 'pulsar://h', adminUrl: 'http://h', topic: t, subscriptionName: s}".to_owned(),
        "train: {type: s3, bucket: b, prefix: p, region: r}".to_owned(),
        format!("{features}{models}"),
    ];
    for text in texts {
        let read = |text: &str| Config::parse(text, "test").unwrap_or_else(|errors| panic!("{errors}\n{text}")).0;
        let Shown { configuration, defaults, .. } = of(&text);
        assert_eq!(read(&configuration.to_string()), read(&text), "{configuration}");
        assert!(defaults.len() > 10, "{defaults:?}");
    }
}

#[test]
fn what_the_environment_says_is_above_the_text_and_named() {
    let variables = [("RANKWRIGHT_API_TOKEN", "t0p"), ("SERVICE_DRAIN_TIMEOUT", "5s"), ("SERVICE_REDIS_USER", "me")];
    let find = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let Shown { configuration, defaults, environment } =
        shown("state: {type: redis, host: h, port: 1}", &Environment::from_lookup(find));
    assert_eq!(
        (&configuration["api"]["token"], &configuration["state"]["auth"]["user"]),
        (&json!("hidden"), &json!("me"))
    );
    assert_eq!(configuration["api"]["limits"]["drainTimeout"], "5s");
    assert!(!defaults.contains(&"api.limits.drainTimeout".to_owned()));
    assert_eq!(environment["api.limits.drainTimeout"], "SERVICE_DRAIN_TIMEOUT");
    assert_eq!((environment["api.token"].as_str(), environment.len()), ("RANKWRIGHT_API_TOKEN", 3));
}
