//! What `source.options` may say: names of the Java client's settings, as far as they mean something here.

use super::error::Error;
use super::java;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All names there are, for the message about another one.
const KNOWN: &str = "authPluginClassName, authParams, consumerName, priorityLevel, receiverQueueSize, \
                     tlsAllowInsecureConnection, tlsTrustCertsFilePath";

const TOKEN_PLUGIN: &str = "org.apache.pulsar.client.impl.auth.AuthenticationToken";

/// What the options say.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) token: Option<Token>,
    pub(super) consumer_name: Option<String>,
    pub(super) priority: Option<i32>,
    /// Messages of a partition that are fetched ahead.
    pub(super) queue: u32,
    /// Certificates to trust besides the system's.
    pub(super) trusted: Option<PathBuf>,
    /// Any server that answers is trusted.
    pub(super) insecure: bool,
}

/// The credentials for the broker.
#[derive(Clone)]
pub(super) enum Token {
    Text(String),
    /// It is read again for each connection, so that it may be renewed.
    File(PathBuf),
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Looks at all options; what to warn of.
pub(crate) fn check_all(options: &BTreeMap<String, String>) -> Result<Vec<String>, Error> {
    let mut warnings = Vec::new();
    Options::read(options, |key, reason| warnings.push(format!("source.options.{key}: ignored, {reason}")))?;
    Ok(warnings)
}

impl Options {
    /// What the options say; those that have no use here go to `ignored`, each with the reason.
    pub(super) fn read(options: &BTreeMap<String, String>, mut ignored: impl FnMut(&str, &str)) -> Result<Self, Error> {
        let mut read =
            Self { token: None, consumer_name: None, priority: None, queue: 1000, trusted: None, insecure: false };
        for (key, value) in options {
            if let Some(reason) = java::unused(key) {
                ignored(key, reason);
                continue;
            }
            read.set(key, value).map_err(|reason| Error::Option { key: key.clone(), reason })?;
        }
        Ok(read)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "authPluginClassName" if value == TOKEN_PLUGIN || value == "token" => {}
            "authPluginClassName" => return Err(format!("only tokens are supported: {TOKEN_PLUGIN}")),
            "authParams" => self.token = Some(Token::read(value)?),
            "consumerName" => self.consumer_name = Some(value.to_owned()),
            "priorityLevel" => self.priority = Some(number(value)?),
            "receiverQueueSize" => self.queue = number(value).map(|size: u32| size.max(1))?,
            "tlsAllowInsecureConnection" => self.insecure = value.parse().map_err(|_| "is true or false".to_owned())?,
            "useKeyStoreTls" if value == "false" => {}
            "tlsTrustCertsFilePath" => self.trusted = Some(PathBuf::from(value)),
            _ => {
                return Err(
                    java::refused(key).unwrap_or_else(|| format!("no option of a Pulsar source; there are {KNOWN}"))
                );
            }
        }
        Ok(())
    }
}

impl Token {
    fn read(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("file:") {
            return Ok(Self::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path))));
        }
        match text.strip_prefix("token:").unwrap_or(text).trim() {
            "" => Err("is token:<token> or file:///<path>".to_owned()),
            token => Ok(Self::Text(token.to_owned())),
        }
    }

    /// The token itself.
    pub(super) fn text(&self) -> Result<String, Error> {
        match self {
            Self::Text(token) => Ok(token.clone()),
            Self::File(path) => {
                std::fs::read_to_string(path).map(|token| token.trim().to_owned()).map_err(|error| Error::Option {
                    key: "authParams".to_owned(),
                    reason: format!("cannot read {}: {error}", path.display()),
                })
            }
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "is a number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Options, Token};

    fn read(key: &str, value: &str) -> Result<Options, String> {
        Options::read(&[(key.to_owned(), value.to_owned())].into(), |_, _| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_option_is_named_with_those_that_there_are() {
        let error = read("ackTimoutMillis", "5").expect_err("is refused");
        assert!(
            error.starts_with("source.options.ackTimoutMillis: no option of a Pulsar source; there are auth"),
            "{error}"
        );
    }

    #[test]
    fn what_has_no_use_here_is_ignored_with_a_reason() {
        let given = [
            ("acknowledgementsGroupTimeMicros", "100000"),
            ("receiverQueueSize", "50"),
            ("useKeyStoreTls", "false"),
            ("useTls", "true"),
        ];
        let given = given.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let mut ignored = Vec::new();
        let options = Options::read(&given, |key, reason| ignored.push(format!("{key}: {reason}"))).expect("is read");
        assert_eq!(options.queue, 50);
        assert_eq!(
            ignored,
            [
                "acknowledgementsGroupTimeMicros: a commit of the state acknowledges",
                "useTls: source.serviceUrl says it (pulsar+ssl://)"
            ]
        );
    }

    #[test]
    fn options_of_the_java_client_alone_are_ignored_whatever_they_hold() {
        for key in [
            "batchReceivePolicy",
            "keySharedPolicy",
            "messagePayloadProcessor",
            "messageCrypto",
            "consumerEventListener",
            "listenerName",
            "socks5ProxyAddress",
            "proxyServiceUrl",
            "dnsLookupBindAddress",
        ] {
            let mut ignored = Vec::new();
            let given = [(key.to_owned(), String::new())].into();
            Options::read(&given, |key, _| ignored.push(key.to_owned())).expect("is read");
            assert_eq!(ignored, [key]);
        }
    }

    #[test]
    fn key_stores_and_client_certificates_are_refused_with_what_to_do() {
        let trust = read("tlsTrustStorePath", "/trust.jks").expect_err("is refused");
        assert!(trust.contains("keytool -list -rfc") && trust.contains("tlsTrustCertsFilePath"), "{trust}");
        let key = read("tlsKeyFilePath", "/key.pem").expect_err("is refused");
        assert!(key.contains("only tokens"), "{key}");
    }

    #[test]
    fn a_token_is_given_or_lies_in_a_file() {
        let token = |value: &str| read("authParams", value).map(|options| options.token);
        assert!(matches!(token("token:abc"), Ok(Some(Token::Text(text))) if text == "abc"));
        assert!(matches!(token("file:///etc/token"), Ok(Some(Token::File(path))) if path.as_os_str() == "/etc/token"));
        assert!(token("token:").is_err());
    }

    #[test]
    fn a_token_is_never_shown() {
        let options = read("authParams", "token:abc").expect("is read");
        assert!(!format!("{options:?}").contains("abc"));
    }
}
