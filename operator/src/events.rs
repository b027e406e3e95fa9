//! Events: what has changed between two statuses. What stays as it was is not told again.

use crate::status;
use crate::validate::{IDLE_NUMBER, digest_of};
use crate::{Error, Result};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};
use rankwright_crds::status::ImportPhase;
use rankwright_crds::{RankingService, RankingServiceStatus};

/// What the API server takes of a note.
const LONGEST: usize = 1000;

/// A change that an event reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Whether it needs attention.
    pub warning: bool,
    /// The reason of the condition.
    pub reason: String,
    /// The condition.
    pub action: String,
    /// What has happened.
    pub note: String,
}

impl News {
    fn event(&self, about: &ObjectReference, place: String) -> Event {
        Event {
            type_: if self.warning { EventType::Warning } else { EventType::Normal },
            reason: self.reason.clone(),
            note: Some(shortened(&self.note)),
            action: self.action.clone(),
            // the recorder counts events of one reason as one, whatever they say, but for what they relate to
            secondary: Some(ObjectReference { field_path: Some(place), ..about.clone() }),
        }
    }
}

/// What has changed.
pub fn between(before: &RankingServiceStatus, now: &RankingServiceStatus) -> Vec<News> {
    let mut news: Vec<News> = Vec::new();
    for condition in &now.conditions {
        let former = before.conditions.iter().find(|former| former.type_ == condition.type_);
        // a configuration may be wrong in another way than before; other messages count and change all the time
        let another = |former: &Condition| {
            condition.type_ == "ConfigurationValid"
                && condition.status == "False"
                && former.message != condition.message
        };
        let same = former.is_some_and(|former| {
            former.status == condition.status && former.reason == condition.reason && !another(former)
        });
        let warning = condition.status == "False" && !is_ordinary(before, now, condition);
        // a service begins as it does; and these say what Ready does
        let follows = matches!(condition.type_.as_str(), "Available" | "Reconciling" | "Stalled");
        if follows || same || (former.is_none() && !warning) || condition.reason == "NotCreated" {
            continue;
        }
        news.push(News {
            warning,
            reason: condition.reason.clone(),
            action: condition.type_.clone(),
            note: condition.message.clone(),
        });
    }
    news.extend(of_number(before, now));
    news.extend(of_import(before, now));
    if let Some(training) = of_training(before, now) {
        news.retain(|one| one.action != "ModelTrained" || one.reason != training.reason);
        news.push(training);
    }
    // several conditions may have the same cause
    let mut told: Vec<(bool, String)> = Vec::new();
    news.retain(|one| {
        let key = (one.warning, one.note.clone());
        let first = !told.contains(&key);
        told.push(key);
        first
    });
    news
}

/// Whether a condition that does not hold is nothing to look at: as while something begins, or is replaced.
fn is_ordinary(before: &RankingServiceStatus, now: &RankingServiceStatus, condition: &Condition) -> bool {
    let holds = |status: &RankingServiceStatus, kind: &str| {
        status.conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True")
    };
    let lost = |kind: &str| holds(before, kind) && !holds(now, kind);
    match condition.reason.as_str() {
        "RollingOut" | "NotServedByAll" => true,
        // old workers end before new ones begin
        "NoneReady" => status::is_moving(now) && (condition.type_ == "IngestReady" || !lost("Available")),
        "PinNotServed" => status::is_moving(now),
        "NotTrainedYet" => !lost("ModelTrained"),
        "ScaledToZero" => before.conditions.is_empty(),
        _ => false,
    }
}

/// A number of replicas was set that an autoscaler decides on: its author waits for these pods.
fn of_number(before: &RankingServiceStatus, now: &RankingServiceStatus) -> Option<News> {
    let note = now.warnings.iter().find(|text| text.starts_with(IDLE_NUMBER) && !before.warnings.contains(text))?;
    Some(News { warning: true, reason: "ReplicasNotUsed".to_owned(), action: "Scale".to_owned(), note: note.clone() })
}

fn of_import(before: &RankingServiceStatus, now: &RankingServiceStatus) -> Option<News> {
    let import = now.import.as_ref()?;
    let former = before.import.as_ref().filter(|former| former.digest == import.digest);
    if former.is_some_and(|former| former.phase == import.phase && former.job == import.job) || import.job.is_empty() {
        return None;
    }
    let (reason, text) = match import.phase {
        ImportPhase::Running => ("ImportStarted", "the import has begun".to_owned()),
        ImportPhase::Complete => ("ImportComplete", "the imported state is live".to_owned()),
        ImportPhase::Failed => ("ImportFailed", import.message.clone().unwrap_or_default()),
        ImportPhase::Lost => ("ImportLost", import.message.clone().unwrap_or_default()),
    };
    let warning = matches!(import.phase, ImportPhase::Failed | ImportPhase::Lost);
    Some(News {
        warning,
        reason: reason.to_owned(),
        action: "Import".to_owned(),
        note: format!("Job {}: {text}", import.job),
    })
}

fn of_training(before: &RankingServiceStatus, now: &RankingServiceStatus) -> Option<News> {
    let training = now.training.as_ref()?;
    if before.training.as_ref().is_some_and(|former| former.pod == training.pod) {
        return None;
    }
    let warning = training.outcome == "Failed";
    let told = training.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
    let note = format!("training {} ended as {}{told}", training.pod, training.outcome);
    Some(News { warning, reason: format!("Training{}", training.outcome), action: "Training".to_owned(), note })
}

/// Publishes events, as many as the API server takes. Those that it has not answered stay in the list.
///
/// # Errors
/// When the API server does not answer, or has refused some of it.
pub async fn publish(recorder: &Recorder, service: &RankingService, news: &mut Vec<News>) -> Result<()> {
    let (mut refused, mut answered) = (None, 0);
    for one in &*news {
        let going = service.metadata.deletion_timestamp.is_some();
        match publish_one(recorder, &service.object_ref(&()), going, one).await {
            // its namespace is being deleted
            Err(kube::Error::Api(answer)) if matches!(answer.code, 403 | 404) && going => {}
            Err(source) => {
                let error = Error::Event(Box::new(source));
                if !error.is_refused_event() {
                    news.drain(..answered);
                    return Err(error);
                }
                refused = refused.or(Some(error)); // the others may be taken
            }
            Ok(_) => {}
        }
        answered += 1;
    }
    news.clear();
    refused.map_or(Ok(()), Err)
}

/// Tells one of it. `going` says that what it is `about` is being deleted.
pub(crate) async fn publish_one(
    recorder: &Recorder,
    about: &ObjectReference,
    going: bool,
    news: &News,
) -> kube::Result<()> {
    let place = format!("status/{}", digest_of(&news.note));
    let answer = recorder.publish(&news.event(about, place.clone()), about).await;
    match answer {
        // it was to be counted as another one of an event that was deleted
        Err(kube::Error::Api(gone)) if gone.code == 404 && !going => {
            let anew = format!("{place}/{}", Timestamp::now().as_nanosecond());
            recorder.publish(&news.event(about, anew), about).await
        }
        answer => answer,
    }
}

fn shortened(note: &str) -> String {
    if note.len() <= LONGEST {
        return note.to_owned();
    }
    format!("{}…", &note[..note.floor_char_boundary(LONGEST)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use rankwright_crds::status::{ImportStatus, TrainingStatus};

    fn status(status: &str, reason: &str) -> RankingServiceStatus {
        let condition = Condition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: "because".to_owned(),
            observed_generation: None,
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        };
        RankingServiceStatus { conditions: vec![condition], ..RankingServiceStatus::default() }
    }

    #[test]
    fn a_change_of_status_or_reason_is_told_once() {
        let (good, bad) = (status("True", "AllPartsWork"), status("False", "NoneReady"));
        let told = between(&good, &bad);
        assert_eq!(told.len(), 1);
        assert!(told[0].warning && told[0].reason == "NoneReady" && told[0].note == "because");
        assert!(between(&bad, &bad).is_empty());
        assert!(!between(&bad, &good)[0].warning);
    }

    #[test]
    fn a_configuration_that_is_wrong_in_another_way_is_told_again() {
        let missing = |name: &str| {
            let mut told = status("False", "SecretMissing");
            told.conditions[0].type_ = "ConfigurationValid".to_owned();
            told.conditions[0].message = format!("Secret {name} does not exist");
            told
        };
        assert_eq!(between(&missing("a"), &missing("b"))[0].note, "Secret b does not exist");
        assert!(between(&missing("a"), &missing("a")).is_empty());
    }

    #[test]
    fn a_number_of_servers_that_is_not_used_is_told_each_time_that_it_changes() {
        let scaled = |number: &str| RankingServiceStatus {
            warnings: vec![format!("{IDLE_NUMBER}: {number} is not used")],
            ..RankingServiceStatus::default()
        };
        let told = between(&RankingServiceStatus::default(), &scaled("5"));
        assert!(told[0].warning && told[0].reason == "ReplicasNotUsed", "{told:?}");
        assert!(between(&scaled("5"), &scaled("5")).is_empty());
        assert_eq!(between(&scaled("5"), &scaled("6")).len(), 1);
    }

    #[test]
    fn what_imports_and_trainings_tell_is_on_the_page_about_trouble() {
        let page = std::fs::read_to_string("../docs/kubernetes-troubleshooting.md").unwrap_or_default();
        let (_, page) = page.split_once("\n## Events").unwrap_or_default();
        let imports =
            [ImportPhase::Running, ImportPhase::Complete, ImportPhase::Failed, ImportPhase::Lost].map(|phase| {
                let import = ImportStatus { phase, job: "shop-import-1".to_owned(), ..ImportStatus::default() };
                RankingServiceStatus { import: Some(import), ..RankingServiceStatus::default() }
            });
        let trainings = ["Published", "Kept", "Nothing", "Failed"].map(|outcome| {
            let outcome = outcome.to_owned();
            let training = TrainingStatus { pod: "shop-training-1".to_owned(), outcome, ..TrainingStatus::default() };
            RankingServiceStatus { training: Some(training), ..RankingServiceStatus::default() }
        });
        for status in imports.iter().chain(&trainings) {
            let told = between(&RankingServiceStatus::default(), status);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(page.contains(&format!("`{}`", told[0].reason)), "{}", told[0].reason);
        }
    }

    #[test]
    fn of_a_first_status_nothing_is_news_but_what_is_wrong() {
        let told = |is: &str, reason: &str| between(&RankingServiceStatus::default(), &status(is, reason));
        for (is, reason) in
            [("True", "AllPartsWork"), ("False", "NotCreated"), ("False", "NotTrainedYet"), ("False", "ScaledToZero")]
        {
            assert!(told(is, reason).is_empty(), "{reason}");
        }
        assert!(told("False", "SecretMissing")[0].warning);
        let scaled = between(&status("True", "AllPartsWork"), &status("False", "ScaledToZero"));
        assert!(scaled[0].warning, "it was scaled to none since");
    }
}
