//! A configuration's text for people to look at: as JSON, without what is secret.

use crate::scalar;
use crate::tree::{self, Data, Node};
use serde_json::{Map, Value, json};

/// Stands in place of what is secret.
const HIDDEN: &str = "hidden";

/// Parts of the names of keys whose values are secret, in lower case; some that are not are hidden as well.
const SECRET: [&str; 8] = ["password", "passwd", "token", "secret", "key", "credential", "jaas", "authparams"];

/// A configuration as JSON, with anchors resolved and `hidden` for every password, token and key; null where the text is no YAML.
pub fn shown(text: &str) -> Value {
    tree::parse(text).map(|node| value(&node)).unwrap_or_default()
}

fn value(node: &Node) -> Value {
    match &node.data {
        Data::Scalar { text, plain } => scalar(text, *plain),
        Data::List(items) => items.iter().map(value).collect(),
        Data::Map(entries) => {
            let entry = |key: &str, node| if is_secret(key) { hidden(node) } else { value(node) };
            entries
                .iter()
                .map(|given| (given.key.clone(), entry(&given.key, &given.node)))
                .collect::<Map<_, _>>()
                .into()
        }
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRET.iter().any(|part| key.contains(part))
}

/// Nothing is no secret, and says that none is set. A mapping has names of its own, such as those of models.
fn hidden(node: &Node) -> Value {
    match (&node.data, value(node)) {
        (Data::Map(_), shown) | (_, shown @ Value::Null) => shown,
        _ => HIDDEN.into(),
    }
}

/// Booleans are those of JSON; other spellings stay as they are written.
fn scalar(text: &str, plain: bool) -> Value {
    match text {
        _ if !plain => without_login(text).into(),
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match (text.parse::<i64>(), scalar::number(text)) {
            (Ok(whole), _) => whole.into(),
            (_, Some(number)) => json!(number),
            _ => without_login(text).into(),
        },
    }
}

/// An address without the user and password before its host; any other text as it is.
fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((login, _)) => format!("{scheme}://{HIDDEN}@{}", &rest[login.len() + 1..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(shown(text), expected);
        assert_eq!(shown("{"), Value::Null);
    }

    #[test]
    fn the_token_of_a_pulsar_source_is_hidden() {
        let text = "source: {type: pulsar, options: {authPluginClassName: AuthToken, authParams: 'token:hunter2'}}";
        let options = json!({"authPluginClassName": "AuthToken", "authParams": "hidden"});
        assert_eq!(shown(text)["source"]["options"], options);
    }
}
