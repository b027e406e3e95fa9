//! A line to a server whose answers can be lost.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Passes connections on to the test server, until it is told to break them.
pub(crate) struct Line {
    pub(crate) address: String,
    broken: Arc<AtomicBool>,
}

impl Line {
    /// A line to `http://host:port`.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let broken = Arc::new(AtomicBool::new(false));
        let (server, is_broken) =
            (server.trim_start_matches("http://").trim_end_matches('/').to_owned(), broken.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Ok(other) = TcpStream::connect(&server) else { return };
                let answers = (other.try_clone().unwrap(), stream.try_clone().unwrap());
                let is_broken = is_broken.clone();
                thread::spawn(move || pass(&stream, &other, || false));
                // requests arrive, their answers are lost
                thread::spawn(move || {
                    pass(&answers.0, &answers.1, || is_broken.load(Ordering::SeqCst));
                });
            }
        });
        Self { address, broken }
    }

    /// Whether answers get lost from now on.
    pub(crate) fn break_answers(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, broken: impl Fn() -> bool) {
    let mut buffer = [0; 8192];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if broken() || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
