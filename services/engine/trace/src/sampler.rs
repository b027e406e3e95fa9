//! Which traces are recorded.

use crate::parent::Parent;

/// Decides about a trace, by its id: all programs with one ratio decide alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// Traces whose id, of which 63 bits count, is below this.
    below: u64,
    /// Whether the program that sends a request decides, where it says.
    follows: bool,
}

/// One more than the largest id, as far as it counts.
const ALL: u64 = 1 << 63;

impl Sampler {
    /// A part of all traces, from 0 to 1; where it `follows`, of those that begin here.
    pub fn of(part: f64, follows: bool) -> Self {
        Self { below: (part.clamp(0.0, 1.0) * ALL as f64) as u64, follows }
    }

    /// The sampler of this name in OpenTelemetry; `part` is its argument.
    pub(crate) fn named(name: &str, part: f64) -> Option<Self> {
        let (root, follows) = match name.strip_prefix("parentbased_") {
            Some(root) => (root, true),
            None => (name, false),
        };
        let part = match root {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => part,
            _ => return None,
        };
        Some(Self::of(part, follows))
    }

    /// Whether a trace of this id is recorded.
    pub(crate) fn takes(self, trace: u128, parent: Option<&Parent>) -> bool {
        match parent {
            Some(parent) if self.follows => parent.sampled,
            _ => (trace as u64 >> 1) < self.below,
        }
    }
}

impl Default for Sampler {
    /// All traces but those that a request's sender does not record.
    fn default() -> Self {
        Self::of(1.0, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_takes_about_that_part_and_one_and_zero_all_and_nothing() {
        let mut random = fastrand::Rng::with_seed(7);
        let ids: Vec<u128> = (0..10_000).map(|_| random.u128(..)).collect();
        let taken = |part| ids.iter().filter(|&&id| Sampler::of(part, true).takes(id, None)).count();
        assert_eq!((taken(0.0), taken(1.0)), (0, ids.len()));
        assert!((2_300..2_700).contains(&taken(0.25)), "{}", taken(0.25));
        assert!(Sampler::of(1.0, false).takes(u128::MAX, None));
    }

    #[test]
    fn the_sender_decides_where_the_sampler_follows_it() {
        let parent = |sampled| Parent { trace: u128::MAX, span: 1, sampled };
        let taken = |name| {
            let sampler = Sampler::named(name, 0.5).expect("is known");
            [Some(parent(true)), Some(parent(false)), None].map(|parent| sampler.takes(u128::MAX, parent.as_ref()))
        };
        assert_eq!(taken("parentbased_traceidratio"), [true, false, false], "the id is among the last ones");
        assert_eq!(taken("parentbased_always_on"), [true, false, true]);
        assert_eq!(taken("parentbased_always_off"), [true, false, false]);
        assert_eq!(taken("traceidratio"), [false; 3]);
        assert_eq!(taken("always_on"), [true; 3]);
        assert_eq!(taken("always_off"), [false; 3]);
        assert_eq!(Sampler::named("jaeger_remote", 0.5), None);
    }
}
