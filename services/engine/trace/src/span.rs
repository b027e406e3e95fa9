//! A piece of work, from its beginning to its end.

use crate::queue::Inlet;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Work that is recorded; or, by default, work that is not. It ends with the last clone of the span.
#[derive(Clone, Default)]
pub struct Span(Option<Arc<Open>>);

/// Which side of a call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A step within this program.
    Internal,
    /// A request that this program answers.
    Server,
    /// Messages that this program takes from a stream.
    Consumer,
}

/// What is noted of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
}

/// A span that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub(crate) trace: u128,
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    /// Nanoseconds since the beginning of 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) notes: Vec<(&'static str, Value)>,
    pub(crate) failure: Option<String>,
}

/// A span that has not ended.
struct Open {
    inlet: Inlet,
    trace: u128,
    id: u64,
    parent: Option<u64>,
    name: Cow<'static, str>,
    kind: Kind,
    clock: Clock,
    began: u64,
    said: Mutex<Said>,
}

/// What was said of it so far.
#[derive(Default)]
struct Said {
    notes: Vec<(&'static str, Value)>,
    failure: Option<String>,
}

/// The time that all spans of a trace go by: a wall clock that is set meanwhile does not tear them apart.
#[derive(Clone, Copy)]
struct Clock {
    wall: u64,
    at: Instant,
}

impl Clock {
    fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX), at: Instant::now() }
    }

    fn now(self) -> u64 {
        self.wall.saturating_add(u64::try_from(self.at.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Span {
    pub(crate) fn root(inlet: Inlet, kind: Kind, name: Cow<'static, str>, trace: u128, parent: Option<u64>) -> Self {
        Self::open(inlet, (kind, name), (trace, parent), Clock::start())
    }

    fn open(
        inlet: Inlet,
        (kind, name): (Kind, Cow<'static, str>),
        (trace, parent): (u128, Option<u64>),
        clock: Clock,
    ) -> Self {
        let (id, began, said) = (fastrand::u64(1..), clock.now(), Mutex::default());
        Self(Some(Arc::new(Open { inlet, trace, id, parent, name, kind, clock, began, said })))
    }

    /// Whether it is recorded: what is costly to note is to be noted only then.
    pub fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a step of this work.
    pub fn child(&self, name: &'static str) -> Self {
        let Some(parent) = &self.0 else { return Self::default() };
        let (inlet, what) = (parent.inlet.clone(), (Kind::Internal, Cow::Borrowed(name)));
        Self::open(inlet, what, (parent.trace, Some(parent.id)), parent.clock)
    }

    /// Does a step of this work.
    pub fn within<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let _step = self.child(name);
        work()
    }

    /// Notes something.
    pub fn note(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(open) = &self.0 {
            open.said.lock().notes.push((key, value.into()));
        }
    }

    /// Says that the work failed, and why.
    pub fn fail(&self, reason: &dyn Display) {
        if let Some(open) = &self.0 {
            open.said.lock().failure = Some(reason.to_string());
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Said { notes, failure } = std::mem::take(self.said.get_mut());
        self.inlet.put(Finished {
            trace: self.trace,
            id: self.id,
            parent: self.parent,
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            began: self.began,
            ended: self.clock.now(),
            notes,
            failure,
        });
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Whole(number.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metrics, Parent, Queue, Sampler, Tracer};

    fn tracer() -> (Tracer, Queue) {
        Tracer::new(Sampler::default(), &Metrics::new().expect("valid names"))
    }

    #[test]
    fn steps_lie_within_the_work_and_belong_to_it() {
        let (tracer, mut queue) = tracer();
        let parent = Parent { trace: 77, span: 5, sampled: true };
        let root = tracer.begin(Kind::Server, Some(parent), || "POST /rank".into());
        let reads = root.child("read");
        reads.note("keys", 3_usize);
        reads.fail(&"the store is away");
        drop(reads);
        assert_eq!(root.within("score", || 7), 7);
        drop(root.clone());
        root.note("model", "shop");
        drop(root);
        let spans = queue.take();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_ref()).collect();
        assert_eq!(names, ["read", "score", "POST /rank"]);
        let [read, score, root] = &spans[..] else { panic!("three spans") };
        assert!(spans.iter().all(|span| span.trace == 77));
        assert_eq!((root.parent, read.parent, score.parent), (Some(5), Some(root.id), Some(root.id)));
        assert_eq!((root.kind, read.kind), (Kind::Server, Kind::Internal));
        assert!(root.began <= read.began && read.began <= read.ended && read.ended <= score.began);
        assert!(score.ended <= root.ended && root.id != read.id);
        assert_eq!(read.notes, [("keys", Value::Whole(3))]);
        assert_eq!(root.notes, [("model", Value::Text("shop".to_owned()))]);
        assert_eq!((read.failure.as_deref(), &root.failure), (Some("the store is away"), &None));
    }

    #[test]
    fn what_is_not_recorded_leaves_nothing() {
        let (tracer, mut queue) = tracer();
        let parent = Parent { trace: 77, span: 5, sampled: false };
        let span = tracer.begin(Kind::Server, Some(parent), || panic!("nobody needs its name"));
        assert!(!span.is_recorded() && !span.child("read").is_recorded());
        span.note("keys", 3_usize);
        drop(span);
        assert!(!Tracer::default().begin(Kind::Server, None, || "a".into()).is_recorded());
        assert!(queue.take().is_empty());
    }
}
