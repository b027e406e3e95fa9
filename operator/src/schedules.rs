//! Pure: which models are trained by which schedule.

use crate::labels::Component;
use crate::validate::digest_of;
use rankwright_crds::ranking_service::{ModelSchedule, Training};

/// Most characters of a CronJob's name: those of its Jobs have some more.
const LONGEST_NAME: usize = 52;

/// Signs of a digest.
const DIGEST: usize = 8;

/// When some models are trained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule<'a> {
    /// Name of its CronJob.
    pub name: String,
    /// The models; none stands for all that learn.
    pub models: Vec<&'a str>,
    /// As a line of cron.
    pub cron: &'a str,
    /// Whether it waits.
    pub suspend: bool,
    /// What tells its trainings from others, and the model, where it is that of one model alone.
    pub own: Option<(String, &'a str)>,
}

/// All schedules of a service, whose configuration has these models that learn. That of several models comes first; there is none
/// where each model has its own.
pub fn of<'a>(service: &str, training: &'a Training, trained: &'a [String]) -> Vec<Schedule<'a>> {
    let meant = if training.models.is_empty() { trained } else { &training.models };
    let rest: Vec<&str> = meant.iter().map(String::as_str).filter(|model| own(training, model).is_none()).collect();
    let nothing_else = rest.is_empty() && !training.model_schedules.is_empty();
    let shared = Schedule {
        name: Component::Training.of(service),
        models: if training.model_schedules.is_empty() {
            training.models.iter().map(String::as_str).collect()
        } else {
            rest
        },
        cron: &training.schedule,
        suspend: training.suspend,
        own: None,
    };
    let of_model = |schedule: &'a ModelSchedule| Schedule {
        name: name(service, &schedule.model),
        models: vec![&schedule.model],
        cron: &schedule.schedule,
        suspend: training.suspend || schedule.suspend == Some(true),
        own: Some((key(service, &schedule.model), &schedule.model)),
    };
    (!nothing_else).then_some(shared).into_iter().chain(training.model_schedules.iter().map(of_model)).collect()
}

/// The schedule that a model has for itself.
fn own<'a>(training: &'a Training, model: &str) -> Option<&'a ModelSchedule> {
    training.model_schedules.iter().find(|schedule| schedule.model == model)
}

/// Whether a schedule is for a model.
pub fn is_meant(training: &Training, model: &str) -> bool {
    own(training, model).is_some() || training.models.is_empty() || training.models.iter().any(|name| name == model)
}

/// Whether a schedule trains a model, and does not wait.
pub fn trains(training: &Training, model: &str) -> bool {
    let waits = training.suspend || own(training, model).is_some_and(|own| own.suspend == Some(true));
    is_meant(training, model) && !waits
}

/// When a model is trained, as a line of cron.
pub fn cron<'a>(training: &'a Training, model: &str) -> &'a str {
    own(training, model).map_or(&training.schedule, |own| &own.schedule)
}

/// What tells trainings of a model's own schedule from others; nothing for those of the one that models share.
pub fn key_of(service: &str, training: &Training, model: &str) -> String {
    own(training, model).map(|own| key(service, &own.model)).unwrap_or_default()
}

fn key(service: &str, model: &str) -> String {
    digest_of(&format!("{service} {model}"))[..DIGEST].to_owned()
}

/// Such as `shop-popular-1a2b3c4d`: a model's name may have any signs, and any length.
fn name(service: &str, model: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' };
    let room = LONGEST_NAME.saturating_sub(service.len() + DIGEST + 2);
    let told: String = model.chars().map(sign).take(room).collect();
    let parts = [service, told.trim_matches('-'), &key(service, model)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Two models whose CronJobs would have the same name.
pub fn clash<'a>(service: &str, training: &'a Training) -> Option<[&'a str; 2]> {
    let named = |schedule: &'a ModelSchedule| (name(service, &schedule.model), schedule.model.as_str());
    let mut names: Vec<_> = training.model_schedules.iter().map(named).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| [pair[0].1, pair[1].1])
}

#[cfg(test)]
mod tests;
