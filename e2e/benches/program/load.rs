//! What the program is put under load with: RankLens where it is, else a generated shop.

use rankwright_e2e::random::Random;
use rankwright_e2e::{program, shared};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Events, and a configuration for them.
pub(crate) struct Load {
    /// What it is.
    pub name: &'static str,
    /// The configuration, without its section `api`.
    pub config: String,
    /// The same with the file's own name, for `import`.
    pub config_file: PathBuf,
    /// The events.
    pub events: PathBuf,
    /// The model that is measured.
    pub model: &'static str,
    items: Vec<String>,
    users: Vec<String>,
    /// Newest event time.
    last: i64,
}

impl Load {
    /// RankLens, else a shop that is generated into `folder`.
    pub(crate) fn find(folder: &Path) -> Self {
        let (config, events) = (shared::path("data/ranklens.yml"), shared::path("data/ranklens_events.jsonl.gz"));
        match config.zip(events) {
            Some((config, events)) => {
                Self::new("RankLens, with the configuration that upstream was measured with", config, events, "xgboost")
            }
            None => Self::generated(folder),
        }
    }

    fn generated(folder: &Path) -> Self {
        let shop = folder.join("shop");
        let out = shop.to_string_lossy();
        program::run(&["generate", "--out", &out, "--items", "2500", "--users", "2000", "--rankings", "14000"]).ok();
        let name = "a generated shop, because RankLens is not there: figures cannot be compared with the limits wanted";
        Self::new(name, shop.join("config.yml"), shop.join("events.jsonl.gz"), "lightgbm")
    }

    fn new(name: &'static str, config_file: PathBuf, events: PathBuf, model: &'static str) -> Self {
        let text = fs::read_to_string(&config_file).expect("the configuration can be read");
        let config = text.lines().filter(|line| !line.starts_with("api:")).map(|line| format!("{line}\n")).collect();
        let mut load = Self { name, config, config_file, events, model, items: vec![], users: vec![], last: 0 };
        load.look();
        load
    }

    /// Which items and visitors there are, and when the events end.
    fn look(&mut self) {
        let file = fs::File::open(&self.events).expect("the events can be read");
        let lines = BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map_while(Result::ok);
        for event in lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()) {
            let text = |name: &str| event[name].as_str().map(str::to_owned);
            self.last = self.last.max(text("timestamp").and_then(|text| text.parse().ok()).unwrap_or(0));
            match event["event"].as_str() {
                Some("item") => self.items.extend(text("item")),
                Some("ranking") if self.users.len() < 5000 => self.users.extend(text("user")),
                _ => {}
            }
        }
        self.items.sort_unstable();
        self.items.dedup();
    }

    /// Longer than the data reaches in time, in milliseconds.
    pub(crate) const LENGTH: i64 = 40 * 86_400_000;

    /// The configuration with a seed that lets a training on RankLens go on for about 160 rounds before it stops by itself.
    pub(crate) fn of_more_trees(&self) -> Option<String> {
        let config = self.config.replace(
            r#""iterations": 500, "ndcgCutoff": 10, "seed": 0"#,
            r#""iterations": 500, "ndcgCutoff": 10, "seed": 11"#,
        );
        (config != self.config).then_some(config)
    }

    /// Newest event time.
    pub(crate) fn last(&self) -> i64 {
        self.last
    }

    /// Events about items and visitors, as they are.
    pub(crate) fn catalogue(&self) -> Vec<Value> {
        self.read(|kind| ["item", "user"].contains(&kind))
    }

    /// Lists that were shown, and what visitors did with them.
    pub(crate) fn visits(&self) -> Vec<Value> {
        self.read(|kind| ["ranking", "interaction"].contains(&kind))
    }

    fn read(&self, wanted: impl Fn(&str) -> bool) -> Vec<Value> {
        let file = fs::File::open(&self.events).expect("the events can be read");
        let lines = BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map_while(Result::ok);
        let events = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        events.filter(|event| event["event"].as_str().is_some_and(&wanted)).collect()
    }

    /// Bodies of rank requests, as visitors of the data would cause them a minute after its end.
    pub(crate) fn requests(&self, items: usize, count: usize) -> Vec<String> {
        let mut random = Random(items as u64);
        let request = |number: usize| {
            let shown: Vec<Value> = (0..items).map(|_| json!({"id": random.one_of(&self.items)})).collect();
            let user = random.one_of(&self.users);
            let (id, at) = (format!("bench-{number}"), (self.last + 60_000).to_string());
            json!({"event": "ranking", "id": id, "timestamp": at, "user": user, "session": user, "fields": [], "items": shown})
                .to_string()
        };
        (0..count).map(request).collect()
    }

    /// The same, of 100 items whose fields fill the body to this number of bytes.
    pub(crate) fn full_requests(&self, bytes: usize, count: usize) -> Vec<String> {
        const ITEMS: usize = 100;
        const FIELD: usize = r#""fields":[{"name":"note","value":""}],"#.len();
        let full = |body: String| {
            let text = "n".repeat((bytes.saturating_sub(body.len()) / ITEMS).saturating_sub(FIELD));
            let fields = json!([{"name": "note", "value": text}]); // no feature reads it
            let mut request: Value = serde_json::from_str(&body).expect("it was written");
            let items = request["items"].as_array_mut().into_iter().flatten();
            items.for_each(|item| item["fields"] = fields.clone());
            request.to_string()
        };
        self.requests(ITEMS, count).into_iter().map(full).collect()
    }
}
