//! Spans that ended and wait to be sent.

use crate::metrics::{Dropped, Metrics};
use crate::span::Finished;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// As many spans wait at most; further ones are dropped.
pub const MOST_WAITING: usize = 8192;
/// As many are sent together at most.
const BATCH: usize = 1024;
/// A span waits as long for others to be sent with it.
const GATHERING: Duration = Duration::from_secs(1);

/// Where spans go in.
#[derive(Clone)]
pub(crate) struct Inlet {
    to: mpsc::Sender<Finished>,
    metrics: Metrics,
}

impl Inlet {
    /// Takes a span, unless too many wait. Never waits itself.
    pub(crate) fn put(&self, span: Finished) {
        self.metrics.waiting.inc(); // before it can be taken out again
        if self.to.try_send(span).is_err() {
            self.metrics.waiting.dec();
            self.metrics.dropped(1, Dropped::Full);
        }
    }
}

/// Where they come out, in batches.
pub struct Queue {
    from: mpsc::Receiver<Finished>,
    batch: Vec<Finished>,
    metrics: Metrics,
}

impl Queue {
    pub(crate) fn new(metrics: &Metrics) -> (Inlet, Self) {
        let (to, from) = mpsc::channel(MOST_WAITING);
        (Inlet { to, metrics: metrics.clone() }, Self { from, batch: Vec::new(), metrics: metrics.clone() })
    }

    /// Waits for a batch: until there are enough spans for one, or the first of them has waited a second. Nothing is lost
    /// where it is given up meanwhile.
    pub async fn gather(&mut self) {
        let mut end = None;
        while self.batch.len() < BATCH {
            let most = BATCH - self.batch.len();
            let more = self.from.recv_many(&mut self.batch, most);
            let come = match end {
                None => more.await,
                Some(end) => timeout_at(end, more).await.unwrap_or(0),
            };
            if come == 0 {
                return; // the time is over, or no more will come
            }
            end.get_or_insert_with(|| Instant::now() + GATHERING);
        }
    }

    /// The batch, after what waits for it right now was added; empty where nothing waits.
    pub fn take(&mut self) -> Vec<Finished> {
        while self.batch.len() < BATCH
            && let Ok(span) = self.from.try_recv()
        {
            self.batch.push(span);
        }
        let batch = std::mem::take(&mut self.batch);
        self.metrics.waiting.sub(batch.len() as i64);
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::BATCH;
    use crate::{Kind, MOST_WAITING, Metrics, Sampler, Tracer};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn spans_come_out_when_there_are_many_or_the_first_has_waited() {
        let metrics = Metrics::new().expect("valid names");
        let (tracer, mut queue) = Tracer::new(Sampler::default(), &metrics);
        let end = |count| (0..count).for_each(|_| drop(tracer.begin(Kind::Internal, None, || "step".into())));
        let began = tokio::time::Instant::now();
        end(3);
        queue.gather().await;
        assert_eq!((queue.take().len(), began.elapsed().as_secs()), (3, 1));
        end(BATCH + 1);
        queue.gather().await;
        assert_eq!((queue.take().len(), began.elapsed().as_secs()), (BATCH, 1), "many do not wait");
        let waits = tokio::time::timeout(Duration::from_millis(10), queue.gather()).await;
        assert!(waits.is_err(), "one of a batch may have company yet");
        assert_eq!(queue.take().len(), 1, "and is not lost");
        assert_eq!(metrics.waiting.get(), 0);
    }

    #[test]
    fn what_has_no_room_is_dropped_and_counted() {
        let metrics = Metrics::new().expect("valid names");
        let registry = prometheus::Registry::new();
        metrics.register(&registry).expect("valid names");
        let (tracer, mut queue) = Tracer::new(Sampler::default(), &metrics);
        (0..MOST_WAITING + 5).for_each(|_| drop(tracer.begin(Kind::Internal, None, || "step".into())));
        assert_eq!(metrics.waiting.get(), MOST_WAITING as i64);
        let page = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).expect("text");
        assert!(page.contains("service_trace_dropped_spans_total{reason=\"full\"} 5\n"), "{page}");
        assert_eq!(queue.take().len(), BATCH);
    }
}
