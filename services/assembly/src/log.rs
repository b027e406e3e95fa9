//! The log: lines that a thread of its own writes to standard error.
//!
//! Until [`write_aside`] is called, as long as a program has one thread, lines are written at once. From then on a thread that
//! logs never waits: where standard error takes nothing, as a pipe that is not read, lines are kept up to
//! [`MOST_BYTES`], and further ones are dropped and counted. The count is logged once there is room again.
//!
//! A line is one line, whatever is in it: ids and messages of clients may have line breaks and escape sequences, which would
//! look like lines of our own or steer a terminal. A panic is such a line, too.

use parking_lot::{Condvar, Mutex};
use prometheus::{IntCounter, Registry as Metrics};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

/// What waits to be written takes at most this many bytes.
const MOST_BYTES: usize = 4 << 20;

/// How long a process waits for its last lines when it ends.
const LAST: Duration = Duration::from_secs(1);

/// The log of this process.
static LOG: OnceLock<Log> = OnceLock::new();

/// Which lines are logged.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// The variable that says how lines are written: `text`, or `json` for collectors.
const FORMAT: &str = "LOG_FORMAT";

/// Sends the log to standard error: level `info`, or what `RUST_LOG` says, as `LOG_FORMAT` says.
pub fn log_to_stderr() {
    log_to(std::io::stderr());
}

/// As [`log_to_stderr`], by way of a writer that ends there.
pub fn log_to(writer: impl Write + Send + 'static) {
    let colours = std::io::stderr().is_terminal();
    let format = std::env::var(FORMAT).unwrap_or_default();
    let how = match (format.as_str(), colours) {
        ("json", _) => How::Json,
        (_, true) => How::Coloured,
        (_, false) => How::Plain,
    };
    let log = LOG.get_or_init(|| Log::new(writer, how));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let (filter, handle) = reload::Layer::new(filter);
    let _once = FILTER.set(handle);
    tracing_subscriber::registry().with(filter).with(layer(log.clone())).init();
    log_panics();
    if !["", "text", "json"].contains(&format.as_str()) {
        tracing::warn!(format = ?format, "{FORMAT} is neither text nor json: the log is text");
    }
}

/// Logs panics from now on. They are printed as before where the log takes no errors.
fn log_panics() {
    let printed = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tracing::enabled!(tracing::Level::ERROR) {
            return printed(panic);
        }
        let backtrace = Backtrace::capture(); // by RUST_BACKTRACE
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| tracing::field::display(backtrace));
        let (thread, place) = (std::thread::current(), panic.location().map(tracing::field::display));
        let problem = panic.payload_as_str();
        tracing::error!(thread = thread.name(), place, problem, backtrace, "a thread panicked");
        flush_log(); // the process may end
    }));
}

/// How events become lines.
fn layer<S>(log: Log) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let how = log.0.how;
    // errors of the log itself would go where the log cannot be written, and panic
    let layer = fmt::layer().with_ansi(how == How::Coloured).with_target(false).log_internal_errors(false);
    let layer = layer.with_writer(Lines(log));
    if how == How::Json { layer.json().flatten_event(true).boxed() } else { layer.boxed() }
}

/// Logs by this filter from now on, such as `debug` or `info,rankwright_serve=debug`.
///
/// # Errors
/// When it is none, or there is no log.
pub fn set_log_filter(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter.trim()).map_err(|error| error.to_string())?;
    let handle = FILTER.get().ok_or("this program has no log")?;
    handle.reload(filter).map_err(|error| error.to_string())
}

/// Shows how many lines were dropped.
pub(crate) fn register(metrics: &Metrics) -> Result<(), prometheus::Error> {
    let dropped = dropped_lines()?;
    if let Some(log) = LOG.get() {
        log.0.waiting.lock().counter = Some(dropped.clone());
    }
    metrics.register(Box::new(dropped))
}

fn dropped_lines() -> Result<IntCounter, prometheus::Error> {
    let help = "Lines of the log that were dropped, as nothing read standard error.";
    IntCounter::new("service_log_dropped_lines_total", help)
}

/// Leaves writing to a thread of its own from now on.
pub(crate) fn write_aside() {
    if let Some(log) = LOG.get() {
        log.write_aside();
    }
}

/// Writes a text to standard error behind the log, as long as something takes it. It may have several lines, which are one
/// object of a log in JSON; other control characters are escaped.
pub fn complain(text: &str) {
    match LOG.get() {
        Some(log) => {
            log.push(&told(text, log.0.how));
            flush_log();
        }
        None => drop(std::io::stderr().write_all(&told(text, How::Plain))), // closed or full
    }
}

/// A text as the log has it that no event says.
fn told(text: &str, how: How) -> Vec<u8> {
    if how != How::Json {
        return text.lines().flat_map(|line| one_line(line.as_bytes(), How::Plain)).collect();
    }
    let (level, message) = text.strip_prefix("error: ").map_or(("WARN", text), |message| ("ERROR", message));
    let mut timestamp = String::new();
    let _always_has_room = SystemTime.format_time(&mut fmt::format::Writer::new(&mut timestamp));
    let object = serde_json::json!({"timestamp": timestamp, "level": level, "message": message});
    one_line(object.to_string().as_bytes(), How::Json)
}

/// Waits until the log is written, for a second at most. A process has to do so before it ends.
pub fn flush_log() {
    if let Some(log) = LOG.get() {
        log.flush(LAST);
    }
}

/// Lines on their way.
#[derive(Clone, Default)]
struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    how: How,
    waiting: Mutex<Waiting>,
    /// There are lines to write.
    filled: Condvar,
    /// All lines are written.
    empty: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Bytes that are being written.
    writing: usize,
    dropped: u64,
    /// Counts all that were dropped.
    counter: Option<IntCounter>,
    /// Where lines go at once, as long as no thread writes them.
    writer: Option<Box<dyn Write + Send>>,
}

impl Log {
    fn new(writer: impl Write + Send + 'static, how: How) -> Self {
        let waiting = Waiting { writer: Some(Box::new(writer)), ..Waiting::default() };
        Self(Arc::new(Shared { how, waiting: Mutex::new(waiting), ..Shared::default() }))
    }

    fn write_aside(&self) {
        let Some(writer) = self.0.waiting.lock().writer.take() else { return };
        let written = self.clone();
        // where the system gives no thread, all lines but the first ones are dropped
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || written.write_to(writer));
    }

    /// Takes lines, unless too much waits already.
    fn push(&self, lines: &[u8]) {
        let mut waiting = self.0.waiting.lock();
        if let Some(writer) = &mut waiting.writer {
            let _closed_or_full = writer.write_all(lines).and_then(|()| writer.flush());
        } else if waiting.bytes() + lines.len() > MOST_BYTES {
            waiting.dropped += 1;
            waiting.counter.iter().for_each(IntCounter::inc);
        } else {
            waiting.lines.extend_from_slice(lines);
            self.0.filled.notify_one();
        }
    }

    fn write_to(&self, mut writer: impl Write) {
        loop {
            let lines = self.take();
            let _closed_or_full = writer.write_all(&lines).and_then(|()| writer.flush());
            let mut waiting = self.0.waiting.lock();
            waiting.writing = 0;
            waiting.note_dropped(self.0.how);
            if waiting.bytes() == 0 {
                self.0.empty.notify_all();
            }
        }
    }

    /// All lines that wait, once there are some.
    fn take(&self) -> Vec<u8> {
        let mut waiting = self.0.waiting.lock();
        self.0.filled.wait_while(&mut waiting, |waiting| waiting.lines.is_empty());
        waiting.writing = waiting.lines.len();
        std::mem::take(&mut waiting.lines)
    }

    /// Waits until all lines are written, at most this long.
    fn flush(&self, most: Duration) {
        let end = Instant::now() + most;
        self.0.empty.wait_while_until(&mut self.0.waiting.lock(), |waiting| waiting.bytes() > 0, end);
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.lines.len() + self.writing
    }

    /// Adds a line that says how many were dropped, if any were.
    fn note_dropped(&mut self, how: How) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let were = if dropped == 1 { "line of the log was" } else { "lines of the log were" };
            let note = format!("{dropped} {were} dropped: nothing read standard error");
            self.lines.extend(told(&note, how));
        }
    }
}

/// Where the log's events are put together, each of which is one line.
struct Lines(Log);

/// How lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum How {
    #[default]
    Plain,
    Coloured,
    Json,
}

/// A line.
struct Line<'a>(&'a Lines);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

impl Write for Line<'_> {
    /// Takes what is one event, with the line break at its end.
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let Lines(log) = self.0;
        log.push(&one_line(event, log.0.how));
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The text as one line: control characters inside are escaped. With colours, those of the log itself stay.
fn one_line(event: &[u8], how: How) -> Vec<u8> {
    let text = String::from_utf8_lossy(event.strip_suffix(b"\n").unwrap_or(event));
    let mut line = String::with_capacity(event.len() + 1);
    for (at, c) in text.char_indices() {
        match c {
            '\x1b' if how == How::Coloured && is_colour(&text[at..]) => line.push(c),
            c if !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}') => line.push(c),
            c if how == How::Json => line.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => line.extend(c.escape_default()),
        }
    }
    line.push('\n');
    line.into_bytes()
}

/// Whether the text begins with one of the sequences that style the log: plain, bold, dimmed, italic, a colour.
fn is_colour(text: &str) -> bool {
    const STYLES: [&str; 10] = ["0", "1", "2", "3", "31", "32", "33", "34", "35", "36"];
    let style = text.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m'));
    style.is_some_and(|(style, _)| STYLES.contains(&style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A writer that takes nothing until the other end of `held` has gone.
    struct Slow {
        held: Receiver<()>,
        taken: Sender<u8>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _gone = self.held.recv();
            for byte in bytes {
                let _gone = self.taken.send(*byte);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A log with such a writer, what holds it, and what it takes.
    fn slow(how: How) -> (Log, Sender<()>, Receiver<u8>) {
        let ((holds, held), (taken, text)) = (channel(), channel());
        let log = Log::new(Slow { held, taken }, how);
        log.write_aside();
        (log, holds, text)
    }

    /// The next lines, this many.
    fn lines(text: &Receiver<u8>, count: usize) -> Vec<String> {
        let line = || text.iter().take_while(|&byte| byte != b'\n').collect();
        (0..count).map(|_| String::from_utf8(line()).expect("text")).collect()
    }

    #[test]
    fn lines_that_nothing_reads_are_dropped_and_counted() {
        let (log, holds, text) = slow(How::Plain);
        let line = [vec![b'x'; (1 << 20) - 1], vec![b'\n']].concat();
        let counter = dropped_lines().expect("a valid name");
        log.0.waiting.lock().counter = Some(counter.clone());
        (0..7).for_each(|_| log.push(&line));
        log.flush(Duration::ZERO);
        drop(holds);
        let taken = lines(&text, 5);
        assert!(taken[..4].iter().all(|taken| taken.len() == line.len() - 1));
        assert_eq!(taken[4], "3 lines of the log were dropped: nothing read standard error");
        assert_eq!(counter.get(), 3);
        log.flush(Duration::from_secs(60));
        assert_eq!(log.0.waiting.lock().bytes(), 0);
    }

    #[test]
    fn metrics_are_listed_for_alerts_and_dashboards() {
        let metrics = Metrics::new();
        register(&metrics).expect("new names");
        crate::listed::assert_listed("assembly/log", &metrics);
    }

    #[test]
    fn lines_are_written_at_once_before_there_are_threads() {
        let ((holds, held), (taken, text)) = (channel(), channel());
        drop(holds);
        let log = Log::new(Slow { held, taken }, How::Plain);
        log.push(b"first\n");
        assert_eq!(text.try_iter().collect::<Vec<_>>(), b"first\n");
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let forged = "WARN: id=\"r\n2026-01-01 ERROR all is lost\x1b[2J\r\u{9b}31m\u{2028}\"\n".as_bytes();
        let line = |how| String::from_utf8(one_line(forged, how)).expect("text");
        assert_eq!(line(How::Plain), "WARN: id=\"r\\n2026-01-01 ERROR all is lost\\u{1b}[2J\\r\\u{9b}31m\\u{2028}\"\n");
        assert_eq!(line(How::Coloured), line(How::Plain));
        assert_eq!(one_line(b"\x1b[33m WARN\x1b[0m \x1b[8mx\n", How::Coloured), b"\x1b[33m WARN\x1b[0m \\u{1b}[8mx\n");
        assert_eq!(one_line("naïve 木\n".as_bytes(), How::Plain), "naïve 木\n".as_bytes());
        assert_eq!(one_line(b"\xff\n", How::Plain), "\u{fffd}\n".as_bytes());
    }

    #[test]
    fn a_line_of_json_is_an_object_with_all_that_was_said() {
        let (log, holds, text) = slow(How::Json);
        let subscriber = tracing_subscriber::registry().with(layer(log.clone()));
        let id = "r\nERROR forged\x1b[2J\u{9b}\u{2028}";
        tracing::subscriber::with_default(subscriber, || tracing::warn!(id, count = 3, "seen"));
        drop(holds);
        let line: serde_json::Value = serde_json::from_str(&lines(&text, 1)[0]).expect("an object");
        assert_eq!((&line["level"], &line["message"], &line["count"]), (&"WARN".into(), &"seen".into(), &3.into()));
        assert_eq!(line["id"], id);
        assert!(line["timestamp"].is_string(), "{line}");
    }

    #[test]
    fn what_no_event_says_is_an_object_of_a_log_in_json_too() {
        let object = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("an object");
        let (log, holds, text) = slow(How::Json);
        let line = [vec![b'x'; (2 << 20) - 1], vec![b'\n']].concat();
        (0..3).for_each(|_| log.push(&line));
        drop(holds);
        let dropped = object(&lines(&text, 3)[2]);
        assert_eq!(dropped["message"], "1 line of the log was dropped: nothing read standard error");
        assert_eq!(dropped["level"], "WARN");
        assert!(dropped["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{dropped}");
        let lines = String::from_utf8(told("error: 2 mistakes\n  3:1 a\u{2028}\n", How::Json)).expect("text");
        assert_eq!(lines.matches('\n').count(), 1);
        let error = object(&lines);
        assert_eq!((&error["level"], &error["message"]), (&"ERROR".into(), &"2 mistakes\n  3:1 a\u{2028}\n".into()));
        assert_eq!(told("error: a\n  b", How::Plain), b"error: a\n  b\n");
    }

    #[test]
    fn a_panic_is_one_line_of_the_log() {
        let (log, holds, text) = slow(How::Json);
        let subscriber = tracing_subscriber::registry().with(layer(log.clone()));
        log_panics();
        let id = "r\nERROR forged";
        let work = || -> u32 { panic!("there is no {id}") };
        let ended = tracing::subscriber::with_default(subscriber, || std::panic::catch_unwind(work));
        assert!(ended.is_err());
        drop(holds);
        let line: serde_json::Value = serde_json::from_str(&lines(&text, 1)[0]).expect("an object");
        assert_eq!((&line["level"], &line["message"]), (&"ERROR".into(), &"a thread panicked".into()));
        assert_eq!(line["problem"], "there is no r\nERROR forged");
        assert!(line["place"].as_str().is_some_and(|place| place.contains("log.rs:")), "{line}");
    }

    #[test]
    fn what_a_client_sends_is_escaped_where_it_is_logged() {
        for how in [How::Plain, How::Coloured] {
            let (log, holds, text) = slow(how);
            let subscriber = tracing_subscriber::registry().with(layer(log.clone()));
            let id = "r\nERROR forged\x1b[2J";
            tracing::subscriber::with_default(subscriber, || tracing::warn!(%id, ids = ?[id], text = id, "seen {id}"));
            drop(holds);
            let line = &lines(&text, 1)[0];
            assert!(line.contains("seen r\\nERROR forged") && line.contains("ids"), "{line:?}");
            assert!(!line.contains("\x1b[2J"), "{line:?}");
            log.flush(Duration::from_secs(60));
            assert!(text.try_recv().is_err(), "there is no second line");
        }
    }
}
