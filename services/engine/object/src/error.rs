//! What can go wrong with objects.

use std::fmt;

/// Short form for this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What could not be done, where, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: failed to {action}: {problem}")]
pub struct Error {
    /// Bucket and key, `s3://bucket/key`.
    pub place: String,
    /// What was tried.
    pub action: Action,
    /// Why it failed, and what to change.
    pub problem: Problem,
}

/// What is done with a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reading an object.
    Get,
    /// Writing an object.
    Put,
    /// Listing keys.
    List,
    /// Removing an object.
    Delete,
    /// Making the bucket.
    Create,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A program that has no client of buckets.
    #[error("this program is built without buckets: './run build' builds all of it")]
    NotBuilt,
    /// The bucket is missing.
    #[error("there is no such bucket at {endpoint}; create it, or correct its name")]
    NoBucket {
        /// The service that was asked.
        endpoint: String,
    },
    /// No credentials were found.
    #[error("no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or configure them")]
    NoCredentials,
    /// The access key does not exist.
    #[error("the service does not know the access key; correct it in AWS_ACCESS_KEY_ID or in the configuration")]
    UnknownKey,
    /// The secret is not that of the access key.
    #[error("the secret is not that of the access key; correct it in AWS_SECRET_ACCESS_KEY or in the configuration")]
    WrongSecret,
    /// Temporary credentials have ended.
    #[error("the credentials have expired; renew them")]
    Expired,
    /// The credentials are good, but not for this.
    #[error("access denied; allow {permission} to these credentials")]
    Denied {
        /// The right that is missing.
        permission: &'static str,
    },
    /// The bucket is in another region.
    #[error("the bucket is in another region; correct the region ({message})")]
    WrongRegion {
        /// What the service says about it.
        message: String,
    },
    /// The clocks differ by too much for a signature.
    #[error("the clock of this machine is wrong by too much; set it")]
    WrongClock,
    /// No encrypted connection came about.
    #[error(
        "the certificate of {endpoint} is not trusted ({reason}); add its authority to those of the system, or name the \
         file with it in SSL_CERT_FILE"
    )]
    Certificate {
        /// The service that was asked.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There was no connection.
    #[error("{endpoint} cannot be reached ({reason}); check the endpoint, the region and the network")]
    Unreachable {
        /// The service that was asked.
        endpoint: String,
        /// What happened.
        reason: String,
    },
    /// There was no answer in time, several times.
    #[error("no answer from {endpoint} in time; check the network, or try later")]
    TimedOut {
        /// The service that was asked.
        endpoint: String,
    },
    /// The service refused for another reason.
    #[error("the service answered {status} {code}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Code of the error.
        code: String,
        /// What the service says about it.
        message: String,
    },
    /// The answer made no sense, or ended early.
    #[error("unreadable answer: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

impl Problem {
    /// Whether trying again later may help without anybody changing a setting.
    pub fn passes(&self) -> bool {
        match self {
            // 501: it does not know what it is asked for
            Self::Refused { status, .. } => *status == 429 || (*status >= 500 && *status != 501),
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Unreadable { .. } => true,
            _ => false,
        }
    }

    /// Whether the error stays until a person changes a setting or a right. Of other errors it is not known whether they pass.
    pub fn stays(&self) -> bool {
        !matches!(
            self,
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Refused { .. } | Self::Unreadable { .. }
        )
    }
}

impl Action {
    /// The right that it needs.
    pub fn permission(self) -> &'static str {
        match self {
            Self::Get => "s3:GetObject",
            Self::Put => "s3:PutObject",
            Self::List => "s3:ListBucket",
            Self::Delete => "s3:DeleteObject",
            Self::Create => "s3:CreateBucket",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Create => "create the bucket",
        })
    }
}
