//! Whatever is sent: an answer in JSON that is no fault of ours.

use crate::inference::Letters;
use crate::service::{Answer, CONFIG, Service, ranking};
use proptest::prelude::*;
use rankwright_encoder::Task;
use std::sync::Arc;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

fn shared() -> &'static (Runtime, Service) {
    static SHARED: OnceLock<(Runtime, Service)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let service = runtime.block_on(Service::start_with(CONFIG, |builder| {
            let (words, pairs) = (Arc::new(Letters(Task::Embed)), Arc::new(Letters(Task::Score)));
            builder.inference("words", words).inference("pairs", pairs)
        }));
        (runtime, service)
    })
}

fn post(path: &str, body: Vec<u8>) -> Answer {
    let (runtime, service) = shared();
    runtime.block_on(service.post(path, body))
}

fn check(answer: &Answer) {
    let status = answer.status.as_u16();
    assert!(matches!(status, 200 | 400 | 413), "{status}: {:?}", answer.bytes);
    let json = answer.json();
    if status != 200 {
        assert!(json["error"]["code"].is_string() && json["error"]["message"].is_string(), "{json}");
    }
}

const EVENTS: &str = r#"[{"event":"item","id":"1","timestamp":"1636907100000","item":"p1","fields":[{"name":"price","value":7}]},
{"event":"user","id":"2","timestamp":1636907100000,"user":"u","fields":[{"name":"tags","value":["a","b"]}]},
{"event":"ranking","id":"3","timestamp":"2021-11-14T16:25:00Z","user":"u","items":[{"id":"p1","label":1,"fields":[]}]},
{"event":"interaction","id":"4","ranking":"3","timestamp":"1636907100000","type":"click","item":"p1"}]"#;

const TEXTS: [(&str, &str); 4] = [
    ("/inference/encoder/words", r#"{"texts": ["a b", "\u00e9", ""]}"#),
    ("/inference/cross/pairs", r#"{"input": [{"query": "a", "text": "a b"}]}"#),
    (
        "/v1/rerank",
        r#"{"model": "pairs", "query": "a", "documents": ["b", {"text": "a"}], "top_n": 1, "return_documents": true}"#,
    ),
    ("/v1/embeddings", r#"{"model": "words", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 2}"#),
];

/// Cuts, overwrites and doubles parts of a text.
fn mutated(text: &str, changes: &[(usize, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, len, new) in changes {
        let at = at % (bytes.len() + 1);
        let end = (at + len).min(bytes.len());
        bytes.splice(at..end, new.iter().copied());
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(usize, usize, Vec<u8>)>> {
    const TOKENS: [&str; 15] =
        ["{", "}", "[", "]", ",", ":", "\"", "null", "1e999", "-0", "NaN", "\\u0000", "\\ud800", "true", "\"id\":"];
    let token = prop::sample::select(&TOKENS[..]).prop_map(|token| token.as_bytes().to_vec());
    let noise = prop::collection::vec(any::<u8>(), 0..6);
    prop::collection::vec((any::<usize>(), 0_usize..12, prop_oneof![token, noise]), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn mutated_rank_requests_are_answered_or_refused(
        changes in changes(),
        explain in "true|false|contributions",
        model in "shop|new|plain|dice",
    ) {
        let body = mutated(&ranking(&["a", "b", "c"]), &changes);
        check(&post(&format!("/rank/{model}?explain={explain}"), body));
    }

    #[test]
    fn mutated_events_are_taken_in_or_refused(changes in changes()) {
        check(&post("/feedback", mutated(EVENTS, &changes)));
    }

    #[test]
    fn mutated_texts_are_computed_or_refused(changes in changes(), which in 0..TEXTS.len()) {
        let (path, body) = TEXTS[which];
        let answer = post(path, mutated(body, &changes));
        if answer.status != 404 {
            check(&answer); // else the name of the model is another one
        }
    }

    #[test]
    fn noise_is_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
        for path in ["/rank/shop", "/feedback", "/recommend/similar", "/v1/rerank", "/v1/embeddings"] {
            check(&post(path, body.clone()));
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{\"a\":"] {
        let body = format!("{{\"id\":\"r\",\"timestamp\":\"1\",\"x\":{}", open.repeat(200_000));
        for path in ["/rank/shop", "/feedback"] {
            assert_eq!(post(path, body.clone().into_bytes()).status, 400);
        }
    }
}
