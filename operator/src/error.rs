//! What can go wrong while a resource is reconciled.

use crate::validate::Refusal;

/// What can go wrong while a resource is reconciled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The resource, or what it refers to, is not what it should be; trying again helps when that changes.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something could not be read.
    #[error("failed to read {what}")]
    Read {
        /// What.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// Another namespace may hold a resource with the same state, and its resources are not known.
    #[error("failed to read the RankingServices of namespace {namespace}: its watch has not listed them")]
    Unlisted {
        /// The namespace.
        namespace: String,
    },
    /// An object could not be applied.
    #[error("failed to apply {child}")]
    Apply {
        /// Which one.
        child: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// An object that is no longer wanted could not be deleted.
    #[error("failed to delete {child}")]
    Delete {
        /// Which one.
        child: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// The status could not be written.
    #[error("failed to write the status")]
    Status(#[source] Box<kube::Error>),
    /// The finalizer could not be added or removed.
    #[error("failed to change the finalizer")]
    Finalizer(#[source] Box<kube::Error>),
    /// An event could not be published.
    #[error("failed to publish an event")]
    Event(#[source] Box<kube::Error>),
}

/// What most of the operator returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The variant's name: reason of a condition and of an event, and label of a metric.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.reason(),
            Self::Read { .. } | Self::Unlisted { .. } => "ReadFailed",
            Self::Apply { .. } => "ApplyFailed",
            Self::Delete { .. } => "DeleteFailed",
            Self::Status(_) => "StatusFailed",
            Self::Finalizer(_) => "FinalizerFailed",
            Self::Event(_) => "EventFailed",
        }
    }

    /// Whether the API server has answered, with a refusal.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Apply { source, .. } | Self::Delete { source, .. } if matches!(**source, kube::Error::Api(_)))
    }

    /// Whether an event was refused for what it is, or for who publishes it: it will be again.
    pub fn is_refused_event(&self) -> bool {
        let Self::Event(source) = self else { return false };
        matches!(&**source, kube::Error::Api(answer) if (400..500).contains(&answer.code) && answer.code != 429)
    }

    /// Whether an object is not the one that was to be written, or is there already.
    pub fn is_conflict(&self) -> bool {
        let Self::Apply { source, .. } = self else { return false };
        let kube::Error::Api(answer) = &**source else { return false };
        answer.code == 409 || (answer.code == 422 && answer.message.contains("metadata.uid"))
    }

    /// The error and its cause in one line.
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            let of_client = cause.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
            let of_client = of_client.or_else(|| cause.downcast_ref::<kube::Error>());
            let cause_text = of_client.map_or_else(|| cause.to_string(), said);
            if !line.contains(&cause_text) {
                line = format!("{line}: {cause_text}");
            }
            source = cause.source().filter(|_| !matches!(of_client, Some(kube::Error::Api(_))));
        }
        line
    }

    pub(crate) fn reading(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Read { what, source: Box::new(source) }
    }
}

/// What went wrong with a request; of a refusal, the API server's own words and its reason.
pub fn said(error: &kube::Error) -> String {
    let kube::Error::Api(answer) = error else { return error.to_string() };
    match (answer.message.trim(), answer.reason.as_str()) {
        ("", "") => format!("the API server answers {}", answer.code),
        ("", reason) => reason.to_owned(),
        (message, "") => message.to_owned(),
        (message, reason) => format!("{message} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api_server_alone() {
        let message = "pods \"shop-rank-1\" is forbidden: exceeded quota: few".to_owned();
        let status = kube::core::Status { code: 403, reason: "Forbidden".to_owned(), message, ..Default::default() };
        let refused = || Box::new(kube::Error::Api(Box::new(status.clone())));
        let told = "pods \"shop-rank-1\" is forbidden: exceeded quota: few (Forbidden)";
        let apply = Error::Apply { child: "Deployment shop-rank".to_owned(), source: refused() };
        assert_eq!(apply.chain(), format!("failed to apply Deployment shop-rank: {told}"));
        assert_eq!(Error::Status(refused()).chain(), format!("failed to write the status: {told}"));
        assert_eq!(
            said(&kube::Error::Api(Box::new(kube::core::Status { code: 500, ..Default::default() }))),
            "the API server answers 500"
        );
    }

    #[test]
    fn an_event_is_refused_by_who_has_understood_it_and_is_not_too_busy() {
        let answered = |code: u16| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            Error::Event(Box::new(kube::Error::Api(Box::new(status))))
        };
        for (code, refused) in [(403, true), (404, true), (422, true), (429, false), (500, false), (503, false)] {
            assert_eq!(answered(code).is_refused_event(), refused, "{code}");
        }
    }
}
