//! Answers bytes that are not an HTTP request with JSON, like every other error.
//!
//! hyper refuses a head that it cannot read by itself, with a status alone: no handler sees the request. Its answer is
//! recognised where it is written, by its status and its empty body, which no answer of ours has.

use crate::http::unreadable;

/// Status of an answer of hyper's own: bad syntax, a path too long, a head too large.
const REFUSALS: [&str; 3] = ["400", "414", "431"];
const EMPTY: &str = "\r\ncontent-length: 0\r\n";

/// hyper's refusal of a head, with a body; nothing where this is something else.
pub(super) fn of(written: &[u8]) -> Option<Vec<u8>> {
    let status = REFUSALS
        .into_iter()
        .find(|status| written.strip_prefix(b"HTTP/1.1 ").is_some_and(|rest| rest.starts_with(status.as_bytes())))?;
    let head = std::str::from_utf8(written).ok()?;
    let (before, after) = head.strip_suffix("\r\n").and_then(|head| head.split_once(EMPTY))?;
    let body = unreadable(status);
    let kind = "content-type: application/json";
    Some(format!("{before}\r\n{kind}\r\ncontent-length: {}\r\n{after}\r\n{body}", body.len()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_a_body_gets_one() {
        let own = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: d\r\n\r\n";
        let text = String::from_utf8(of(own).expect("a refusal")).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"), "{head}");
        assert!(head.ends_with(&format!("content-length: {}\r\ndate: d", body.len())), "{head}");
        assert!(body.contains("\"too_large\""), "{body}");
    }

    #[test]
    fn other_answers_stay_as_they_are() {
        for other in [
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "{\"x\": \"HTTP/1.1 400 \r\ncontent-length: 0\r\n\r\n\"}",
        ] {
            assert_eq!(of(other.as_bytes()), None, "{other}");
        }
    }
}
