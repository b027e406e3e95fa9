//! Why something is as it is, in a word.

use crate::Error;
use std::fmt;

/// Reason of a condition and of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// All parts work.
    AllPartsWork,
    /// All that are wanted are there.
    Available,
    /// Some are missing.
    Degraded,
    /// They are being replaced.
    RollingOut,
    /// They could not be replaced in time.
    RolloutStuck,
    /// None answers.
    NoneReady,
    /// None is wanted.
    ScaledToZero,
    /// There are none yet.
    NotCreated,
    /// Somebody else's object has the name that is needed.
    NameTaken,
    /// The configuration is right, and all that it names is there.
    Valid,
    /// The store answers.
    Answers,
    /// The store does not answer.
    DoesNotAnswer,
    /// There is no rank server to ask.
    NobodyToAsk,
    /// Models are served.
    Served,
    /// The configuration has no model that learns.
    NothingToTrain,
    /// No training has ended yet.
    NotTrainedYet,
    /// There was nothing to learn from.
    NothingToLearnFrom,
    /// The last training failed, or a model in it.
    TrainingFailed,
    /// A version that is pinned is not served.
    PinNotServed,
    /// The resource is being deleted.
    Deleting,
    /// Its data are being removed.
    Purging,
    /// Its data could not be removed.
    PurgeFailed,
    /// What the operator could not do, see [`Error::reason`].
    Failed(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => f.write_str(reason),
            named => fmt::Debug::fmt(named, f),
        }
    }
}

impl From<&Error> for Reason {
    fn from(error: &Error) -> Self {
        Self::Failed(error.reason())
    }
}
