//! Ranking requests that go on whatever else happens.

use crate::events::{order, ranking};
use crate::many::launch;
use crate::{Ended, Service, http, program, wait};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long answers may take.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// What a ranking waits for each of its two reads of the state.
    read: Duration,
    /// What it takes as a whole; the rest is for a machine that is busy.
    whole: Duration,
}

/// Where state goes away, it is not waited for long.
const SHORT: Patience = Patience { read: Duration::from_secs(4), whole: Duration::from_secs(30) };
/// Where it is there, its server may stand still as the whole machine does: no answer is without the model.
const LONG: Patience = Patience { read: Duration::from_secs(25), whole: Duration::from_secs(60) };

/// Its answers come by this model,
const MODEL: &str = "liked";
/// which learns from those of these features that there are.
const FEATURES: [&str; 6] = ["clicks", "recent", "words", "grams", "weighed", "meaning"];

/// A client that asks one server again and again.
pub struct Asking {
    server: Service,
    patience: Patience,
    over: Arc<AtomicBool>,
    asks: Option<JoinHandle<u64>>,
}

impl Asking {
    /// Asks a server of this service, from now on, for rankings by a model that is trained on `parts`. Each is answered in
    /// time, and by the model unless state may `go_away`.
    ///
    /// # Panics
    /// When the model cannot be trained, or the server does not come up.
    pub fn of(config: &str, service: &str, parts: &Path, folder: &Path, may_go_away: bool) -> Self {
        let patience = if may_go_away { SHORT } else { LONG };
        let lines = config.lines().filter(|line| !line.starts_with("source:"));
        let lines = lines.map(|line| match line {
            line if line.starts_with("state:") => with_timeout(line, patience.read),
            line if line.starts_with("train:") => {
                format!("train: {{type: file, path: '{}', format: json}}", parts.display())
            }
            line => line.to_owned(),
        });
        let config = lines.collect::<Vec<_>>().join("\n");
        let features: Vec<_> =
            FEATURES.into_iter().filter(|name| config.contains(&format!("{{name: {name},"))).collect();
        let model = format!(
            "type: lambdamart, backend: {{type: xgboost, iterations: 10}}, weights: {{click: 1}}, features: [{}]",
            features.join(", ")
        );
        let config = format!("{}\n  {MODEL}: {{{model}}}\n", config.trim_end());
        let folder = folder.join("ranks");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::fs::write(folder.join("train.yml"), &config).expect("can be written");
        let mut train = program::command(&["train", "--config", "train.yml", "--model", MODEL]);
        Ended::of(train.current_dir(&folder).env("RANKWRIGHT_SERVICE", service)).ok();
        Self::begin(launch("rank-server", &config, service, &folder), may_go_away, patience)
    }

    fn begin(server: Service, may_go_away: bool, patience: Patience) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (address, path, until) = (server.address(), format!("/rank/{MODEL}"), over.clone());
        let asks = std::thread::spawn(move || {
            let mut answers = 0;
            while !until.load(Ordering::Relaxed) {
                let fallback = ask(address, &path, answers, patience);
                assert!(
                    fallback.is_none() || may_go_away,
                    "the incoming order, though the state is there: {fallback:?}"
                );
                answers += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            answers
        });
        Self { server, patience, over, asks: Some(asks) }
    }

    /// Has the model trained once more (`train`), or goes back by a version (`models rollback`); waits until the server ranks by
    /// another version than before.
    ///
    /// # Panics
    /// When that fails, or the server does not take it up.
    pub fn swaps(&self, folder: &Path, service: &str, command: &[&str]) {
        let version = || self.server.status()["models"][MODEL]["version"].to_string();
        let before = version();
        let mut command = program::command(&[command, &["--model", MODEL]].concat());
        Ended::of(command.current_dir(folder.join("ranks")).env("RANKWRIGHT_SERVICE", service)).ok();
        wait::until("another version served", || self.server.log(), || version() != before);
    }

    /// Asserts that each request was answered, and that the model answers again.
    ///
    /// # Panics
    /// When one was not.
    pub fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        let answers = self.asks.take().map(JoinHandle::join).expect("it was begun");
        let answers =
            answers.unwrap_or_else(|_| panic!("a ranking was not what it should be, see above\n{}", self.server.log()));
        assert!(answers > 0, "nothing was asked");
        let path = format!("/rank/{MODEL}");
        let (server, patience) = (&self.server, self.patience);
        wait::until(
            "ranked by the model",
            || server.log(),
            || ask(server.address(), &path, answers, patience).is_none(),
        );
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // a test that has failed says so itself
        let _ = self.asks.take().map(JoinHandle::join);
    }
}

/// The line of a configuration that names the state, for a server whose requests are to be answered in time.
fn with_timeout(line: &str, limit: Duration) -> String {
    let (before, _) = line.split_once(", timeout:").unwrap_or((line.trim_end_matches('}'), ""));
    let limit = limit.as_secs();
    format!("{before}, timeout: {{connect: {limit}s, command: {limit}s, socket: {limit}s}}}}")
}

/// Why the answer is not the model's, if it is not; it has to be one, in time. Visitors are those of [`crate::many::day`].
fn ask(address: SocketAddr, path: &str, number: u64, patience: Patience) -> Option<String> {
    const SHOWN: [&str; 5] = ["i1", "i7", "i13", "i19", "i25"];
    let mut request = ranking("asked", 500, &format!("u{}", number % 12), &SHOWN);
    request["fields"] = json!([{"name": "query", "value": format!("a brand such as {}", number % 4)}]);
    let request = request.to_string();
    let began = Instant::now();
    let answer = http::post(address, path, request.as_bytes()).expect("the server lives").ok().json();
    assert!(began.elapsed() < patience.whole, "{:?} for {answer}", began.elapsed());
    let fallback = (answer["fallback"] != Value::Null).then(|| answer["fallback"].to_string());
    let mut items = order(&answer);
    assert!(fallback.is_none() || items == SHOWN, "{answer}");
    items.sort_by_key(|item| SHOWN.iter().position(|shown| shown == item));
    assert_eq!(items, SHOWN, "{answer}");
    fallback
}
