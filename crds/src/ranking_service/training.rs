//! `training`: models, on a schedule.

use super::pod::PodOptions;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A line of cron without a time zone.
const NO_ZONE: [&str; 2] = ["!self.contains('TZ')", "schedule has no time zone: give it in timeZone"];
/// One of five parts, or a word for one.
const FIVE_PARTS: [&str; 2] = [
    "self.matches('^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|[^ ]+( +[^ ]+){4})$')",
    "schedule has five parts, such as '0 3 * * *' for three in the morning, or is @hourly, @daily, @weekly or @monthly",
];
/// One whose parts are numbers, lists, ranges and steps that there are.
const IN_RANGE: [&str; 2] = [
    "self.startsWith('@') || !self.matches('^[^ ]+( +[^ ]+){4}$') || self.matches('^([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/0*[1-9][0-9]*)?(,([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/0*[1-9][0-9]*)?)* +([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/0*[1-9][0-9]*)?(,([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/0*[1-9][0-9]*)?)* +([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/0*[1-9][0-9]*)?(,([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/0*[1-9][0-9]*)?)* +([*?]|((0?[1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-((0?[1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/0*[1-9][0-9]*)?(,([*?]|((0?[1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(-((0?[1-9]|1[0-2])|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?)(/0*[1-9][0-9]*)?)* +([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/0*[1-9][0-9]*)?(,([*?]|(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat))(-(0?[0-6]|(?i:sun|mon|tue|wed|thu|fri|sat)))?)(/0*[1-9][0-9]*)?)*$')",
    "a part of schedule is no number in its range, list, range or step: minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-6 with 0 for Sunday",
];

/// Models, on a schedule.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Training {
    /// When the models without an entry in modelSchedules are trained, as a line of cron: minute, hour, day, month, weekday; or @hourly, @daily, @weekly, @monthly.
    #[x_kube(validation = Rule::new(NO_ZONE[0]).message(NO_ZONE[1]))]
    #[x_kube(validation = Rule::new(FIVE_PARTS[0]).message(FIVE_PARTS[1]))]
    #[x_kube(validation = Rule::new(IN_RANGE[0]).message(IN_RANGE[1]))]
    #[schemars(length(min = 6, max = 128))]
    pub schedule: String,
    /// The schedule's time zone, such as Europe/Berlin.
    #[serde(default = "utc")]
    #[x_kube(validation = Rule::new("self.lowerAscii() != 'local' && !self.contains(':') && timestamp('2026-01-01T00:00:00Z').getHours(self) >= 0")
        .message("timeZone is a name of the IANA database, such as Europe/Berlin"))]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: String,
    /// Whether training waits until this is false again, that of modelSchedules as well.
    #[serde(default)]
    pub suspend: bool,
    /// Which models this schedule trains. Default: all that learn and are not in modelSchedules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 128)))]
    pub models: Vec<String>,
    /// Models with a schedule of their own, such as a trending model that is trained each ten minutes. Each is trained by a CronJob
    /// of its own, with the settings here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["model".into()]))]
    #[schemars(length(max = 32))]
    pub model_schedules: Vec<ModelSchedule>,
    /// What a new version has to reach to be served, for models whose configuration does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_gate: Option<QualityGate>,
    /// How many versions of a model are kept for going back, for models whose configuration does not say.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 10000))]
    pub keep_versions: i32,
    /// How many Jobs that ended well are kept.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub successful_jobs_history_limit: i32,
    /// How many Jobs that failed are kept.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub failed_jobs_history_limit: i32,
    /// What a training may take, in seconds; then it is ended.
    #[serde(default = "six_hours")]
    #[schemars(range(min = 60, max = 604800))]
    pub active_deadline_seconds: i64,
    /// How late a training may begin, in seconds; one that could not is left out. Default: any time later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604800))]
    pub starting_deadline_seconds: Option<i64>,
    /// How often a failed training is tried again.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 20))]
    pub backoff_limit: i32,
    /// The pods.
    #[serde(default)]
    pub pod: PodOptions,
}

/// When one model is trained.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ModelSchedule {
    /// Its name in the configuration.
    #[schemars(length(min = 1, max = 128))]
    pub model: String,
    /// As training.schedule, in the same time zone.
    #[x_kube(validation = Rule::new(NO_ZONE[0]).message(NO_ZONE[1]))]
    #[x_kube(validation = Rule::new(FIVE_PARTS[0]).message(FIVE_PARTS[1]))]
    #[x_kube(validation = Rule::new(IN_RANGE[0]).message(IN_RANGE[1]))]
    #[schemars(length(min = 6, max = 128))]
    pub schedule: String,
    /// Whether training of this model waits until this is false again. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // a default in a list makes each `kubectl apply` a change
    pub suspend: Option<bool>,
}

/// What a new version has to reach.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct QualityGate {
    /// What is compared, such as NDCG@10: one of the metrics that the model's `eval` lists. Default: the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), regex(pattern = "^(NDCG|MAP)(@[1-9][0-9]{0,3})?$|^MRR$"))]
    pub metric: Option<String>,
    /// So much worse than the running version it may be, such as "0.01".
    #[serde(default = "hundredth")]
    #[schemars(length(min = 1, max = 16), regex(pattern = "^[0-9]+(\\.[0-9]+)?$"))]
    pub margin: String,
}

fn utc() -> String {
    "Etc/UTC".to_owned()
}

fn hundredth() -> String {
    "0.01".to_owned()
}

fn two() -> i32 {
    2
}

fn three() -> i32 {
    3
}

fn ten() -> i32 {
    10
}

fn six_hours() -> i64 {
    21_600
}
