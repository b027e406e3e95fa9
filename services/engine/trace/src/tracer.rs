//! Where traces begin.

use crate::metrics::Metrics;
use crate::parent::Parent;
use crate::queue::{Inlet, Queue};
use crate::sampler::Sampler;
use crate::span::{Kind, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// Begins traces; by default none. Clones share everything.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Shared>>);

struct Shared {
    sampler: Sampler,
    inlet: Inlet,
}

impl Tracer {
    /// One that records what the sampler takes, and where its spans come out.
    pub fn new(sampler: Sampler, metrics: &Metrics) -> (Self, Queue) {
        let (inlet, queue) = Queue::new(metrics);
        (Self(Some(Arc::new(Shared { sampler, inlet }))), queue)
    }

    /// Whether any trace is recorded.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the part of a trace that is this program's; `parent` is the span of another program that it belongs to. The name is made
    /// only where it is recorded.
    pub fn begin(&self, kind: Kind, parent: Option<Parent>, name: impl FnOnce() -> Cow<'static, str>) -> Span {
        let Some(shared) = &self.0 else { return Span::default() };
        let trace = parent.map_or_else(|| fastrand::u128(1..), |parent| parent.trace);
        match shared.sampler.takes(trace, parent.as_ref()) {
            true => Span::root(shared.inlet.clone(), kind, name(), trace, parent.map(|parent| parent.span)),
            false => Span::default(),
        }
    }
}
