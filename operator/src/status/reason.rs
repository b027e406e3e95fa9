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
    /// One at least answers requests.
    RequestsAnswered,
    /// A pod has no image.
    PodWithoutImage,
    /// A pod finds no node.
    PodWithoutNode,
    /// A pod ends, again and again mostly.
    PodEnds,
    /// A pod waits for something else.
    PodWaits,
    /// The API server refuses to make pods.
    PodsRefused,
    /// A rank server would serve less than those that it is to replace.
    WouldServeLess,
    /// None is wanted.
    ScaledToZero,
    /// There are none yet.
    NotCreated,
    /// Another owner's object has the name that is needed.
    NameTaken,
    /// The configuration is right, and all that it names is there.
    Valid,
    /// The store answers.
    Answers,
    /// The store does not answer.
    DoesNotAnswer,
    /// The state is the one that was there before.
    Intact,
    /// The state is gone, and an empty one lies in its place.
    StateLost,
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
    /// A training does not get to run.
    TrainingStuck,
    /// Not all rank servers serve the same version.
    NotServedByAll,
    /// A version that is pinned is not served.
    PinNotServed,
    /// A model was served, and its versions are gone.
    ModelLost,
    /// A version did not work when a rank server tried it.
    VersionRefused,
    /// The resource is being deleted.
    Deleting,
    /// Its data are being removed.
    Purging,
    /// Its data could not be removed.
    PurgeFailed,
    /// The resource cannot be read.
    Unreadable,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    /// Every reason there is, as the sources have it: a list of them would miss a new one.
    fn reasons() -> BTreeSet<&'static str> {
        let variants =
            include_str!("reason.rs").lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
        let sources = [include_str!("../error.rs"), include_str!("../validate/refusal.rs")];
        let failures = sources.into_iter().flat_map(str::lines);
        let failures = failures.filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
        variants.filter(|name| name.chars().all(char::is_alphabetic)).chain(failures).collect()
    }

    /// The page, up to its section on events, which have reasons of their own.
    fn page() -> String {
        let path = "../docs/kubernetes-troubleshooting.md";
        let page = std::fs::read_to_string(path).unwrap();
        page.split_once("\n## Events").unwrap().0.to_owned()
    }

    /// The reasons of the table of conditions and of those tables that begin with a reason.
    fn told(page: &str) -> BTreeSet<&str> {
        let mut told = BTreeSet::new();
        for table in page.split("\n\n") {
            let column = match table.split('|').nth(1).map(str::trim) {
                Some("condition") => 2,
                Some("reason") => 1,
                _ => continue,
            };
            for row in table.lines().skip(2) {
                told.extend(row.split('|').nth(column).unwrap().split('`').skip(1).step_by(2));
            }
        }
        told
    }

    #[test]
    fn each_reason_and_no_other_is_on_the_page_about_trouble() {
        assert_eq!(told(&page()), reasons());
    }

    #[test]
    fn each_section_on_reasons_is_about_some_that_there_are() {
        let (page, reasons) = (page(), reasons());
        for section in page.lines().filter_map(|line| line.strip_prefix("### ")) {
            let names: Vec<&str> = section.split(", ").collect();
            if names.iter().all(|name| !name.contains(' ')) {
                assert!(names.iter().all(|name| reasons.contains(name)), "{section}");
                let place = format!("(#{})", section.to_lowercase().replace(", ", "-"));
                assert!(page.contains(&place), "no condition leads to {place}");
            }
        }
    }
}
