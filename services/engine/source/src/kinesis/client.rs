//! The SDK's client, with our limits, and what its errors mean.

use super::error::Error;
use aws_config::BehaviorVersion;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::config::http::HttpResponse;
use aws_sdk_kinesis::config::{Credentials, Region};
use aws_sdk_kinesis::error::{ProvideErrorMetadata, SdkError};
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(5);
/// An answer of 10 MB comes within this time.
const ANSWER: Duration = Duration::from_secs(30);

/// Where a stream is.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) stream: String,
    pub(super) region: String,
    /// Another service than Amazon's.
    pub(super) endpoint: Option<String>,
    /// A key and its secret, for an environment without them.
    pub(super) credentials: Option<(String, String)>,
}

impl Place {
    /// The name of a shard's partition.
    pub(super) fn partition(&self, shard: &str) -> String {
        format!("kinesis:{}/{shard}", self.stream)
    }
}

/// What went wrong with a request.
#[derive(Debug)]
pub(super) enum Fault {
    /// Too much was asked for.
    Throttled,
    /// The iterator is too old.
    Expired,
    /// There is no such stream, or shard.
    Missing,
    /// What we asked for cannot be.
    Invalid(String),
    /// No credentials are configured.
    NoCredentials,
    /// The service refuses our credentials.
    Credentials(String),
    /// We may not.
    Denied(String),
    /// The service has no trusted certificate.
    Certificate(String),
    /// The service is away, or unwell.
    Away(String),
}

/// A client. It does not repeat requests: the caller knows better when.
pub(super) async fn client(place: &Place) -> Client {
    let region = Region::new(place.region.clone());
    let chain = match blank_surrounded(|name| std::env::var(name).ok()) {
        Some(own) => CredentialsProviderChain::first_try("Environment", own),
        None => CredentialsProviderChain::first_try("Environment", EnvironmentVariableCredentialsProvider::new()),
    };
    let chain = match &place.credentials {
        Some((key, secret)) => chain.or_else("Program", Credentials::new(key, secret, None, None, "program")),
        None => chain.or_else("Default", DefaultCredentialsChain::builder().region(region.clone()).build().await),
    };
    let limits = TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(ANSWER).build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .region(region)
        .credentials_provider(chain)
        .retry_config(RetryConfig::disabled())
        .timeout_config(limits);
    if let Some(endpoint) = &place.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    Client::new(&loader.load().await)
}

/// Key and secret of the environment, where blanks or line breaks surround them, as in a Secret made from a file: the SDK takes
/// those for a part of them.
fn blank_surrounded(variable: impl Fn(&str) -> Option<String>) -> Option<Credentials> {
    let (key, secret) = (variable("AWS_ACCESS_KEY_ID")?, variable("AWS_SECRET_ACCESS_KEY")?);
    let (bare_key, bare_secret) = (key.trim(), secret.trim());
    let there = !bare_key.is_empty() && !bare_secret.is_empty();
    let surrounded = there && (bare_key.len(), bare_secret.len()) != (key.len(), secret.len());
    let token = variable("AWS_SESSION_TOKEN").map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    surrounded.then(|| Credentials::new(bare_key, bare_secret, token, None, "environment"))
}

/// What an error of the SDK comes to.
pub(super) fn fault<E>(error: &SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match error {
        SdkError::ServiceError(refused) => {
            let error = refused.err();
            refusal(error.code().unwrap_or_default(), error.message().unwrap_or_default())
        }
        _ if causes(error).any(|cause| cause.to_string().to_lowercase().contains("credentials")) => {
            Fault::NoCredentials
        }
        SdkError::DispatchFailure(_)
            if causes(error).any(|cause| cause.to_string().to_lowercase().contains("certificate")) =>
        {
            Fault::Certificate(causes(error).last().map(ToString::to_string).unwrap_or_default())
        }
        _ => Fault::Away(causes(error).last().map(ToString::to_string).unwrap_or_default()),
    }
}

fn refusal(code: &str, message: &str) -> Fault {
    let message = message.to_owned();
    match code {
        "ProvisionedThroughputExceededException"
        | "LimitExceededException"
        | "ThrottlingException"
        | "KMSThrottlingException" => Fault::Throttled,
        "ExpiredIteratorException" => Fault::Expired,
        "ResourceNotFoundException" => Fault::Missing,
        "InvalidArgumentException" | "ValidationException" => Fault::Invalid(message),
        "AccessDeniedException" | "KMSAccessDeniedException" => Fault::Denied(message),
        "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "ExpiredTokenException" => Fault::Credentials(message),
        _ => Fault::Away(format!("{code} {message}").trim().to_owned()),
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

/// Judges faults, and remembers what was said. What is wrong from the start is a mistake to correct; once it has worked,
/// the same is a disturbance that passes.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    service: String,
    stream: String,
    worked: bool,
    said: bool,
}

impl Trouble {
    pub(super) fn new(place: &Place) -> Self {
        let service = place.endpoint.clone().unwrap_or_else(|| format!("Amazon Kinesis in {}", place.region));
        Self { service, stream: place.stream.clone(), worked: false, said: false }
    }

    /// The same for something else, which has worked or not.
    pub(super) fn of(&self, worked: bool) -> Self {
        Self { worked, said: false, ..self.clone() }
    }

    /// Something was read, or could have been.
    pub(super) fn over(&mut self) {
        self.worked = true;
        if std::mem::take(&mut self.said) {
            tracing::info!(service = %self.service, stream = %self.stream, "reading goes on");
        }
    }

    /// Whether a fault ends the reading. One that does not is said, but once only.
    pub(super) fn judge(&mut self, fault: Fault) -> Result<(), Error> {
        let (service, stream) = (self.service.clone(), self.stream.clone());
        let reason = match fault {
            Fault::Missing => return Err(Error::NoStream { stream, service }),
            Fault::NoCredentials if !self.worked => return Err(Error::NoCredentials { service }),
            Fault::Credentials(reason) if !self.worked => return Err(Error::Credentials { service, reason }),
            Fault::Denied(reason) if !self.worked => return Err(Error::Denied { service, stream, reason }),
            Fault::Certificate(reason) if !self.worked => return Err(Error::Certificate { service, reason }),
            Fault::Throttled | Fault::Expired => return Ok(()), // as it is meant to be
            Fault::NoCredentials => "the credentials are gone".to_owned(),
            Fault::Invalid(reason)
            | Fault::Credentials(reason)
            | Fault::Denied(reason)
            | Fault::Certificate(reason)
            | Fault::Away(reason) => reason,
        };
        if !std::mem::replace(&mut self.said, true) {
            tracing::warn!(%service, %stream, reason, "the service does not answer; trying again");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
