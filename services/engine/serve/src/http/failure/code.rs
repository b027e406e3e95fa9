//! What a failure is, in a word for programs; its status follows from it.

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

macro_rules! codes {
    ($(#[doc = $when:literal] $code:ident $name:literal $status:ident,)*) => {
        /// What a failure is, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
        #[schemars(rename = "ErrorCode")]
        pub(crate) enum Code {
            $(#[doc = $when] #[serde(rename = $name)] $code,)*
        }

        impl Code {
            /// Every one.
            pub(crate) const ALL: &[Self] = &[$(Self::$code),*];

            /// As answers name it.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// The status of an answer with it.
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$code => StatusCode::$status),* }
            }

            /// When it is answered, in a sentence.
            pub(crate) fn when(self) -> &'static str {
                match self { $(Self::$code => $when.trim_ascii()),* }
            }
        }
    };
}

codes! {
    /// The head, the path, a parameter or the body is wrong, or asks for too much.
    InvalidRequest "invalid_request" BAD_REQUEST,
    /// The call needs the bearer token of `api.token`.
    Unauthorized "unauthorized" UNAUTHORIZED,
    /// A web page asks whose origin is neither the service's own nor in `api.cors.allowedOrigins`.
    ForeignOrigin "foreign_origin" FORBIDDEN,
    /// The call is for clients on the service's own machine, as no `api.token` is set.
    NotLocal "not_local" FORBIDDEN,
    /// There is no such path, what it names is not there, or it is off (`api.page`).
    NotFound "not_found" NOT_FOUND,
    /// There is no such model; the message lists those that there are.
    UnknownModel "unknown_model" NOT_FOUND,
    /// The model is of a kind that answers elsewhere; the message names the path.
    WrongModelType "wrong_model_type" NOT_FOUND,
    /// The path is there, for another method.
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED,
    /// The body did not arrive in time.
    RequestTimeout "request_timeout" REQUEST_TIMEOUT,
    /// There is nothing to learn from, or the training takes more memory than there is.
    CannotTrain "cannot_train" CONFLICT,
    /// The model version lacks what contributions are computed from: train it again.
    CannotExplain "cannot_explain" CONFLICT,
    /// This model is being trained already.
    TrainingAlready "training_already" CONFLICT,
    /// An evaluation runs already.
    EvaluatingAlready "evaluating_already" CONFLICT,
    /// This program does not train; the message has the command that does.
    TrainingElsewhere "training_elsewhere" CONFLICT,
    /// This program takes in no events, does not forget while it runs, or has nothing to evaluate.
    NotAvailable "not_available" CONFLICT,
    /// The body is too large, also after decoding, or has too many events.
    TooLarge "too_large" PAYLOAD_TOO_LARGE,
    /// `Content-Encoding` is another one than `gzip`, `zstd` and `identity`.
    UnsupportedEncoding "unsupported_encoding" UNSUPPORTED_MEDIA_TYPE,
    /// A fault of the service.
    Internal "internal" INTERNAL_SERVER_ERROR,
    /// The program waits for a store that is away, or imports and trains first.
    Unavailable "unavailable" SERVICE_UNAVAILABLE,
    /// There is too much to do, or it takes too long: try again in a second.
    Overloaded "overloaded" SERVICE_UNAVAILABLE,
}

impl Code {
    /// The header that an answer with it has.
    pub(crate) fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Unauthorized => Some(("www-authenticate", "Bearer")),
            Self::RequestTimeout => Some(("connection", "close")),
            Self::UnsupportedEncoding => Some(("accept-encoding", "gzip, zstd")),
            Self::Unavailable | Self::Overloaded => Some(("retry-after", "1")),
            _ => None,
        }
    }
}
