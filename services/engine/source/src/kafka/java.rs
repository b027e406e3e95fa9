//! Settings of the Java client, in those of librdkafka.
//!
//! Most have the same name in both. Of the others some have another name, some stand for several, and some have no use
//! here.

use std::collections::BTreeMap;

/// The same setting under another name.
const RENAMED: [(&str, &str); 7] = [
    ("fetch.max.wait.ms", "fetch.wait.max.ms"),
    ("receive.buffer.bytes", "socket.receive.buffer.bytes"),
    ("request.timeout.ms", "socket.timeout.ms"), // librdkafka has one of this name, of producers
    ("send.buffer.bytes", "socket.send.buffer.bytes"),
    ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
    ("ssl.keystore.key", "ssl.key.pem"),
    ("ssl.truststore.certificates", "ssl.ca.pem"),
];

/// What has no use here, and why.
const UNUSED: [(&str, &[&str]); 12] = [
    ("keys are not read", &["key.deserializer"]),
    ("events are JSON", &["schema.registry.url", "specific.avro.reader", "value.deserializer"]),
    ("producers have it", &["buffer.memory", "max.block.ms"]),
    ("state.pipeline says how large batches are", &["max.poll.records"]),
    ("source.topic is read alone", &["exclude.internal.topics"]),
    ("librdkafka has time limits of its own", &["default.api.timeout.ms", "socket.connection.setup.timeout.max.ms"]),
    (
        "no classes of Java are loaded",
        &[
            "auto.include.jmx.reporter",
            "config.providers",
            "interceptor.classes",
            "metric.reporters",
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
            "sasl.client.callback.handler.class",
            "sasl.login.callback.handler.class",
            "sasl.login.class",
            "security.providers",
            "ssl.engine.factory.class",
        ],
    ),
    (
        "OpenSSL chooses it",
        &[
            "ssl.enabled.protocols",
            "ssl.keymanager.algorithm",
            "ssl.protocol",
            "ssl.provider",
            "ssl.secure.random.implementation",
            "ssl.trustmanager.algorithm",
        ],
    ),
    (
        "only Java clients have it",
        &[
            "internal.leave.group.on.close",
            "internal.throw.on.fetch.stable.offset.unsupported",
            "throw.on.fetch.stable.offset.unsupported",
        ],
    ),
    ("messages are read by partition, not as a share group", &["share.acknowledgement.mode"]),
    (
        "logins are PLAIN or SCRAM",
        &[
            "sasl.oauthbearer.clock.skew.seconds",
            "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.header.urlencode",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            "sasl.oauthbearer.jwks.endpoint.url",
            "sasl.oauthbearer.jwt.retriever.class",
            "sasl.oauthbearer.jwt.validator.class",
            "sasl.oauthbearer.scope.claim.name",
            "sasl.oauthbearer.sub.claim.name",
        ],
    ),
    (
        "librdkafka renews logins by itself",
        &[
            "sasl.kerberos.ticket.renew.jitter",
            "sasl.kerberos.ticket.renew.window.factor",
            "sasl.login.connect.timeout.ms",
            "sasl.login.read.timeout.ms",
            "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds",
            "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter",
            "sasl.login.retry.backoff.max.ms",
            "sasl.login.retry.backoff.ms",
        ],
    ),
];

const TRUST_AS_PEM: &str = "a Java key store cannot be read here: make PEM of it with \
    `keytool -list -rfc -keystore FILE > ca.pem`, and set ssl.ca.location to that file";

const KEY_AS_PEM: &str = "a Java key store cannot be read here: make PEM of it with \
    `keytool -importkeystore -srckeystore FILE -destkeystore client.p12 -deststoretype PKCS12` and \
    `openssl pkcs12 -in client.p12 -out client.pem`, and set ssl.certificate.location and ssl.key.location to client.pem; where FILE is PKCS12 or PEM already, say so in ssl.keystore.type";

/// Why a setting among `options` does nothing here, if it does nothing.
pub(super) fn unused(key: &str, options: &BTreeMap<String, String>) -> Option<&'static str> {
    let store = match key {
        "ssl.truststore.password" | "ssl.truststore.type" => ["ssl.truststore.location", "ssl.truststore.certificates"],
        "ssl.keystore.type" => ["ssl.keystore.location", "ssl.keystore.certificate.chain"],
        _ => return unused_always(key),
    };
    let none = store.iter().all(|store| !options.contains_key(*store));
    none.then_some("no store is named that it is about")
}

fn unused_always(key: &str) -> Option<&'static str> {
    UNUSED.iter().find(|(_, keys)| keys.contains(&key)).map(|(reason, _)| *reason)
}

/// What one of `options` becomes: itself, as a rule.
///
/// # Errors
/// With what to do in its place.
pub(super) fn translated(
    key: &str,
    value: &str,
    options: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let is = |key: &str, kind: &str| options.get(key).is_some_and(|value| value.eq_ignore_ascii_case(kind));
    let as_file = |keys: &[&str]| Ok(keys.iter().map(|key| ((*key).to_owned(), value.to_owned())).collect());
    match key {
        "sasl.jaas.config" => login(value),
        "ssl.truststore.location" if is("ssl.truststore.type", "PEM") => as_file(&["ssl.ca.location"]),
        "ssl.truststore.location" => Err(TRUST_AS_PEM.to_owned()),
        "ssl.keystore.location" if is("ssl.keystore.type", "PEM") => {
            as_file(&["ssl.certificate.location", "ssl.key.location"])
        }
        // where no type is given, a Java client reads JKS
        "ssl.keystore.location" if !is("ssl.keystore.type", "PKCS12") && !is_pkcs12(value) => {
            Err(KEY_AS_PEM.to_owned())
        }
        "ssl.truststore.type" | "ssl.truststore.password" | "ssl.keystore.type" => Ok(vec![]), // read with the store
        "ssl.endpoint.identification.algorithm" if value.is_empty() => Ok(vec![(key.to_owned(), "none".to_owned())]),
        _ => Ok(vec![renamed(key, value)]),
    }
}

fn is_pkcs12(path: &str) -> bool {
    [".p12", ".pfx"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending))
}

fn renamed(key: &str, value: &str) -> (String, String) {
    let name = RENAMED.iter().find(|(java, _)| *java == key).map_or(key, |(_, name)| *name);
    // what the system chooses
    let value = if name.ends_with(".buffer.bytes") && value == "-1" { "0" } else { value };
    let value = if name == "client.dns.lookup" && value == "default" { "use_all_dns_ips" } else { value };
    (name.to_owned(), value.to_owned())
}

/// User and password of a login module. Messages do not tell the text: the password is in it.
fn login(text: &str) -> Result<Vec<(String, String)>, String> {
    const MODULES: [&str; 2] = ["PlainLoginModule", "ScramLoginModule"];
    let (module, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    if !module.rsplit('.').next().is_some_and(|name| MODULES.contains(&name)) {
        return Err(format!(
            "only {} are read here: the logins of this build are PLAIN and SCRAM",
            MODULES.join(" and ")
        ));
    }
    let pairs = pairs(rest).ok_or("a text in it is not closed")?;
    let setting = |name: &str| {
        let value = pairs.get(name).ok_or_else(|| format!("{name}=\"...\" is missing in it"))?;
        Ok((format!("sasl.{name}"), value.clone()))
    };
    ["username", "password"].into_iter().map(setting).collect()
}

/// `required username="u" password='p';` by name; nothing where a text is not closed.
fn pairs(mut text: &str) -> Option<BTreeMap<&str, String>> {
    let mut pairs = BTreeMap::new();
    while let Some((name, rest)) = text.split_once('=') {
        let (value, rest) = value(rest.trim_start())?;
        pairs.insert(name.split_whitespace().last().unwrap_or_default(), value);
        text = rest;
    }
    Some(pairs)
}

/// The value at the beginning of a text, and what follows.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quote) = text.chars().next().filter(|first| ['"', '\''].contains(first)) else {
        let end = text.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut chars) = (String::new(), text.char_indices().skip(1));
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.push(chars.next()?.1),
            c if c == quote => return Some((value, &text[at + 1..])),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::ClientConfig;

    /// Whether librdkafka knows an option; its value may be none.
    fn known(key: &str) -> bool {
        let set = ClientConfig::new().set(key, "1").create_native_config();
        !set.err().is_some_and(|error| error.to_string().contains("No such configuration property"))
    }

    fn login_of(text: &str) -> Result<[String; 2], String> {
        let login = login(text)?;
        let [user, password] = login.as_slice() else { panic!("{login:?}") };
        assert_eq!([user.0.as_str(), password.0.as_str()], ["sasl.username", "sasl.password"]);
        Ok([user.1.clone(), password.1.clone()])
    }

    #[test]
    fn only_what_librdkafka_does_not_know_is_translated_or_ignored() {
        let unused = || UNUSED.iter().flat_map(|(_, keys)| keys.iter());
        let wrong: Vec<_> = unused().chain(RENAMED.iter().map(|(java, _)| java)).filter(|key| known(key)).collect();
        assert_eq!(wrong, [&"request.timeout.ms"]);
        assert!(RENAMED.iter().all(|(_, name)| known(name)));
    }

    #[test]
    fn what_java_has_for_other_logins_does_nothing() {
        let oauth = ["scope.claim.name", "sub.claim.name", "clock.skew.seconds", "jwks.endpoint.retry.backoff.ms"];
        for key in oauth {
            let reason = unused(&format!("sasl.oauthbearer.{key}"), &BTreeMap::new());
            assert_eq!(reason, Some("logins are PLAIN or SCRAM"), "{key}");
        }
        for key in ["throw.on.fetch.stable.offset.unsupported", "schema.registry.url", "buffer.memory", "max.block.ms"]
        {
            assert!(unused(key, &BTreeMap::new()).is_some(), "{key}");
        }
        assert!(unused("share.acknowledgement.mode", &BTreeMap::new()).is_some_and(|why| why.contains("share group")));
    }

    #[test]
    fn a_login_module_gives_user_and_password() {
        for module in ["plain.PlainLoginModule", "scram.ScramLoginModule"] {
            let text = format!(
                "org.apache.kafka.common.security.{module} required\n  username=\"ann\" password = 'a \"b\";c\\'=';"
            );
            assert_eq!(login_of(&text), Ok(["ann".to_owned(), "a \"b\";c'=".to_owned()]), "{module}");
        }
        assert_eq!(login_of("PlainLoginModule required username=u password=p;"), Ok(["u", "p"].map(str::to_owned)));
    }

    #[test]
    fn a_login_that_cannot_be_read_is_refused_without_its_password() {
        for (text, words) in [
            ("com.sun.security.auth.module.Krb5LoginModule required keyTab=\"hunter2\";", "PlainLoginModule and"),
            ("a.PlainLoginModule required password=\"hunter2\";", "username=\"...\" is missing"),
            ("a.PlainLoginModule required username=\"u\" password=\"hunter2;", "not closed"),
            ("", "PlainLoginModule and"),
        ] {
            let error = login_of(text).expect_err("cannot be read");
            assert!(error.contains(words) && !error.contains("hunter2"), "{error}");
            assert!(!error.contains("oauth") && !error.contains("kerberos"), "this build has no other logins: {error}");
        }
    }
}
