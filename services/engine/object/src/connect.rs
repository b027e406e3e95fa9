//! The SDK's client, with our limits.

use crate::Settings;
use aws_config::BehaviorVersion;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{self, Region, RequestChecksumCalculation, ResponseChecksumValidation};
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(5);

/// An answer to a request without much to carry comes within this time.
const ANSWER: Duration = Duration::from_secs(30);

/// The slowest line that an upload is given time for, in bytes a second.
const SLOWEST: u64 = 128 << 10;

/// Requests are tried this many times: throttling, errors of the service and of the network.
const ATTEMPTS: u32 = 4;

/// A client for a bucket, and the address that it asks.
pub(crate) async fn client(settings: &Settings) -> (Client, String) {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new(settings.region.clone()))
        .credentials_provider(credentials(settings).await)
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .timeout_config(patience(0));
    if let Some(endpoint) = endpoint(settings, |name| std::env::var(name).ok()) {
        loader = loader.endpoint_url(endpoint);
    }
    let shared = loader.load().await; // AWS_ENDPOINT_URL, or a profile, counts where nothing else names one
    let elsewhere = shared.endpoint_url().map(str::to_owned);
    // Other services know neither buckets in host names nor checksums in trailers, or not all of them do.
    let sums = if elsewhere.is_some() {
        RequestChecksumCalculation::WhenRequired
    } else {
        RequestChecksumCalculation::WhenSupported
    };
    let config = config::Builder::from(&shared)
        .force_path_style(elsewhere.is_some())
        .request_checksum_calculation(sums)
        // damaged objects are handed out: the reader that knows their format can tell what is left of them
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
        .build();
    let endpoint = elsewhere.map_or_else(|| format!("Amazon S3 in {}", settings.region), |url| without_login(&url));
    (Client::from_conf(config), endpoint)
}

/// The settings' endpoint, else the environment's for S3: the SDK would follow that one too, and not tell.
fn endpoint(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let ignored = || variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|is| is.eq_ignore_ascii_case("true"));
    let named = || variable("AWS_ENDPOINT_URL_S3").filter(|endpoint| !endpoint.is_empty() && !ignored());
    settings.endpoint.clone().or_else(named)
}

/// A URL for messages, which must not have user and password in it.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (_, host) = rest.rsplit_once('@').unwrap_or(("", rest)); // a password may have a '/' in it
    format!("{scheme}://{host}")
}

/// Time limits of a request that carries this number of bytes.
pub(crate) fn patience(bytes: u64) -> TimeoutConfig {
    let attempt = ANSWER + Duration::from_secs(bytes / SLOWEST);
    TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(attempt).build()
}

/// Environment, then settings, then whatever else the machine offers.
async fn credentials(settings: &Settings) -> CredentialsProviderChain {
    let chain = match blank_surrounded(|name| std::env::var(name).ok()) {
        Some(own) => CredentialsProviderChain::first_try("Environment", own),
        None => CredentialsProviderChain::first_try("Environment", EnvironmentVariableCredentialsProvider::new()),
    };
    match &settings.credentials {
        Some(own) => {
            let own = config::Credentials::new(&own.key, &own.secret, None, None, "configuration");
            chain.or_else("Configuration", own)
        }
        None => {
            let region = Region::new(settings.region.clone());
            chain.or_else("Default", DefaultCredentialsChain::builder().region(region).build().await)
        }
    }
}

/// Key and secret of the environment, where blanks or line breaks surround them, as in a Secret made from a file: the SDK takes
/// those for a part of them.
fn blank_surrounded(variable: impl Fn(&str) -> Option<String>) -> Option<config::Credentials> {
    let (key, secret) = (variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?);
    let (bare_key, bare_secret) = (key.trim(), secret.trim());
    let there = !bare_key.is_empty() && !bare_secret.is_empty();
    let surrounded = there && (bare_key.len(), bare_secret.len()) != (key.len(), secret.len());
    let token = variable("AWS_SESSION_TOKEN").map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    surrounded.then(|| config::Credentials::new(bare_key, bare_secret, token, None, "environment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_of_an_endpoint_are_not_told() {
        for (url, told) in [
            ("http://key:s@c/ret@minio:9000/path", "http://minio:9000/path"),
            ("https://minio", "https://minio"),
            ("minio:9000", "minio:9000"),
        ] {
            assert_eq!(without_login(url), told);
        }
    }

    #[test]
    fn the_endpoint_of_the_environment_is_followed_where_the_settings_name_none() {
        let [mut named, unnamed] = [(); 2].map(|()| Settings::new("events", "us-east-1"));
        named.endpoint = Some("http://kept.test:9000".into());
        let variables = |name: &str| (name == "AWS_ENDPOINT_URL_S3").then(|| "http://s3.test:9000".to_owned());
        assert_eq!(endpoint(&named, variables).as_deref(), Some("http://kept.test:9000"));
        assert_eq!(endpoint(&unnamed, variables).as_deref(), Some("http://s3.test:9000"));
        assert_eq!(endpoint(&unnamed, |_| Some("true".to_owned())), None);
        assert_eq!(endpoint(&unnamed, |_| None), None);
    }

    #[test]
    fn line_breaks_behind_keys_of_the_environment_are_no_part_of_them() {
        let of = |key: &'static str, secret: &'static str| {
            let found = blank_surrounded(|name| match name {
                "AWS_ACCESS_KEY_ID" => Some(key.to_owned()),
                "AWS_SECRET_ACCESS_KEY" => Some(secret.to_owned()),
                _ => None,
            });
            found.map(|found| (found.access_key_id().to_owned(), found.secret_access_key().to_owned()))
        };
        assert_eq!(of("k\n", "s\r\n"), Some(("k".to_owned(), "s".to_owned())));
        assert_eq!(of("k", "s\n"), Some(("k".to_owned(), "s".to_owned())));
        assert_eq!(of("k", "s"), None, "the SDK reads these itself");
        assert_eq!(of("\n", "s\n"), None, "there is no key");
    }

    #[test]
    fn a_large_upload_is_given_more_time() {
        let limit = |bytes| patience(bytes).operation_attempt_timeout();
        assert_eq!(limit(1000), Some(Duration::from_secs(30)));
        assert_eq!(limit(10 << 20), Some(Duration::from_secs(30 + 80)));
    }
}
