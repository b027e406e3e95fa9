//! The span that a request belongs to, as its `traceparent` header says (W3C Trace Context).

/// A span of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// Id of the trace, never 0.
    pub(crate) trace: u128,
    /// Id of the span, never 0.
    pub(crate) span: u64,
    /// Whether that program records it.
    pub(crate) sampled: bool,
}

impl Parent {
    /// What a header says; `None` where it is not valid, as the standard wants.
    pub fn of(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.trim_matches([' ', '\t']).split('-');
        let version = hex(parts.next()?, 2)?;
        let (trace, span) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        // a later version may have more parts
        let too_long = version == 0 && parts.next().is_some();
        if version == 0xff || trace == 0 || span == 0 || too_long {
            return None;
        }
        Some(Self { trace, span: u64::try_from(span).ok()?, sampled: flags & 1 == 1 })
    }
}

/// A number of this many digits, which are in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let valid = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    valid.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_header_names_trace_span_and_whether_it_is_recorded() {
        let parent = Parent::of(&format!("00-{TRACE}-00f067aa0ba902b7-01")).expect("valid");
        assert_eq!(format!("{:032x}", parent.trace), TRACE);
        assert_eq!((parent.span, parent.sampled), (0x00f0_67aa_0ba9_02b7, true));
        let other = Parent::of(&format!("00-{TRACE}-00f067aa0ba902b7-fe")).expect("valid");
        assert!(!other.sampled, "the lowest bit says so");
        assert!(Parent::of(&format!("01-{TRACE}-00f067aa0ba902b7-01-later")).is_some(), "a later version");
    }

    #[test]
    fn what_is_not_valid_names_nothing() {
        for header in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-00f067aa0ba902b7"),
            format!("00-{TRACE}-00f067aa0ba902b7-1"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-+{}-00f067aa0ba902b7-01", &TRACE[1..]),
        ] {
            assert_eq!(Parent::of(&header), None, "{header}");
        }
    }
}
