//! Ranking requests that go on whatever else happens.

use crate::Service;
use crate::events::{order, ranking};
use crate::http;
use crate::wait;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A ranking waits four seconds for its state at most, once or twice; the rest is for a machine that is busy.
pub const TIMEOUT: &str = "{connect: 4s, command: 4s, socket: 4s}";
const LIMIT: Duration = Duration::from_secs(12);

/// Somebody who asks one server again and again.
pub struct Asking {
    server: Service,
    over: Arc<AtomicBool>,
    asks: Option<JoinHandle<u64>>,
}

impl Asking {
    /// Asks from now on, for rankings by this model; where state may `go_away`, they may have the incoming order meanwhile.
    pub fn begin(server: Service, model: &str, may_go_away: bool) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (address, path, until) = (server.address(), format!("/rank/{model}"), over.clone());
        let asks = std::thread::spawn(move || {
            let mut answers = 0;
            while !until.load(Ordering::Relaxed) {
                let ranked = ask(address, &path, answers);
                assert!(ranked || may_go_away, "the incoming order, though the state is there");
                answers += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            answers
        });
        Self { server, over, asks: Some(asks) }
    }

    /// Asserts that each request was answered, and that the model answers again.
    ///
    /// # Panics
    /// When one was not.
    pub fn end(mut self, model: &str) {
        self.over.store(true, Ordering::Relaxed);
        let answers = self.asks.take().map(JoinHandle::join).expect("it was begun");
        let answers =
            answers.unwrap_or_else(|_| panic!("a ranking was not what it should be, see above\n{}", self.server.log()));
        assert!(answers > 0, "nothing was asked");
        let path = format!("/rank/{model}");
        wait::until("ranked by the model", || self.server.log(), || ask(self.server.address(), &path, answers));
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // a test that has failed says so itself
        let _ = self.asks.take().map(JoinHandle::join);
    }
}

/// Whether the answer is the model's; it has to be one, in time. Visitors are those of [`crate::many::day`].
fn ask(address: SocketAddr, path: &str, number: u64) -> bool {
    const SHOWN: [&str; 5] = ["i1", "i7", "i13", "i19", "i25"];
    let request = ranking("asked", 500, &format!("u{}", number % 12), &SHOWN).to_string();
    let began = Instant::now();
    let answer = http::post(address, path, request.as_bytes()).expect("the server lives").ok().json();
    assert!(began.elapsed() < LIMIT, "{:?} for {answer}", began.elapsed());
    let ranked = answer["fallback"] == Value::Null;
    let mut items = order(&answer);
    assert!(ranked || items == SHOWN, "{answer}");
    items.sort_by_key(|item| SHOWN.iter().position(|shown| shown == item));
    assert_eq!(items, SHOWN, "{answer}");
    ranked
}
