//! From errors of the SDK to what a person can act on.

use crate::{Action, Problem};
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use std::error::Error;

/// What an error of the SDK comes to.
pub(crate) fn problem<E>(error: &SdkError<E, HttpResponse>, action: Action, endpoint: &str) -> Problem
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let endpoint = endpoint.to_owned();
    match error {
        SdkError::ServiceError(refused) => {
            let (status, error) = (refused.raw().status().as_u16(), refused.err());
            refusal(status, error.code().unwrap_or_default(), error.message().unwrap_or_default(), action, endpoint)
        }
        _ if text(error).contains("credentials") => Problem::NoCredentials,
        SdkError::TimeoutError(_) => Problem::TimedOut { endpoint },
        SdkError::DispatchFailure(failure) if failure.is_timeout() => Problem::TimedOut { endpoint },
        SdkError::DispatchFailure(_) if text(error).contains("certificate") => {
            Problem::Certificate { endpoint, reason: innermost(error) }
        }
        SdkError::DispatchFailure(_) => Problem::Unreachable { endpoint, reason: innermost(error) },
        _ => Problem::Unreadable { reason: innermost(error) },
    }
}

/// What the service means by an error, by its code where there is one: that says more than the status.
fn refusal(status: u16, code: &str, message: &str, action: Action, endpoint: String) -> Problem {
    let line = |text: &str| text.lines().collect::<Vec<_>>().join(" "); // a line of its own would look like one of our log
    match (code, status) {
        ("NoSuchBucket", _) => Problem::NoBucket { endpoint },
        ("InvalidAccessKeyId" | "XAdminUserNotFound", _) => Problem::UnknownKey, // the latter is versitygw's
        ("SignatureDoesNotMatch", _) => Problem::WrongSecret,
        ("ExpiredToken" | "TokenRefreshRequired" | "InvalidToken", _) => Problem::Expired,
        ("RequestTimeTooSkewed", _) => Problem::WrongClock,
        ("PermanentRedirect" | "AuthorizationHeaderMalformed", _) | (_, 301) => {
            Problem::WrongRegion { message: line(message) }
        }
        ("AccessDenied", _) | ("", 401 | 403) => Problem::Denied { permission: action.permission() },
        _ => Problem::Refused { status, code: line(code), message: line(message) },
    }
}

/// All messages of an error and its causes, to look for something in.
fn text(error: &(dyn Error + 'static)) -> String {
    causes(error).map(|cause| cause.to_string()).collect::<Vec<_>>().join(": ").to_lowercase()
}

/// The message of the last cause, which says what happened.
fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_a_code_is_told_by_its_status() {
        let of = |status| refusal(status, "", "", Action::Put, String::new());
        assert_eq!(of(403), Problem::Denied { permission: "s3:PutObject" });
        assert!(matches!(of(301), Problem::WrongRegion { .. }));
        assert!(matches!(of(500), Problem::Refused { status: 500, .. }));
    }

    #[test]
    fn what_a_service_says_is_one_line() {
        let Problem::Refused { code, message, .. } = refusal(400, "a\nb", "c\r\nERROR d", Action::Get, String::new())
        else {
            panic!("it is refused")
        };
        assert_eq!((&*code, &*message), ("a b", "c ERROR d"));
    }

    #[test]
    fn a_code_goes_before_the_status() {
        assert_eq!(refusal(403, "SignatureDoesNotMatch", "", Action::Get, String::new()), Problem::WrongSecret);
        assert_eq!(refusal(403, "RequestTimeTooSkewed", "", Action::Get, String::new()), Problem::WrongClock);
    }
}
