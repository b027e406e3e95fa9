//! What a test server never does: throttle, lag behind, refuse.

use crate::seen::{LONG, Seen, settings};
use crate::stream::source;
use crate::stub::{Answer, stub};
use crate::table::Table;
use rankwright_config::Offset;
use rankwright_source::{Kinesis, Lag, Step, Stream};
use std::time::Duration;
use tokio::time::timeout;

const PARTITION: &str = "kinesis:events/shard-0";

fn open(address: &str) -> Kinesis {
    let leases = Table::default().holder("one");
    let opened = Kinesis::open(&source(address, "events", Offset::Earliest), settings(), leases);
    opened.expect("opens a reader").with_credentials("test", "test")
}

#[tokio::test]
async fn a_shard_that_throttles_is_asked_again_after_growing_pauses() {
    let throttled = Answer::Error("ProvisionedThroughputExceededException");
    let answers = [throttled.clone(), throttled.clone(), throttled, Answer::Records(vec![1, 2], 0)];
    let (address, script) = stub(answers).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 2).await;
    let script = script.lock().expect("nobody has panicked");
    let pauses: Vec<_> = script.asked.windows(2).map(|pair| pair[1] - pair[0]).take(3).collect();
    for (pause, least) in pauses.iter().zip([125, 250, 500]) {
        assert!(*pause >= Duration::from_millis(least), "{pauses:?}");
    }
    assert_eq!(script.iterators.len(), 1, "the iterator is still good");
}

#[tokio::test]
async fn a_shard_is_never_asked_more_than_five_times_a_second() {
    let (address, script) = stub((0..12).map(|number| Answer::Records(vec![number], 1000))).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 12).await;
    let asked = script.lock().expect("nobody has panicked").asked.clone();
    for six in asked.windows(6) {
        assert!(six[5] - six[0] >= Duration::from_secs(1), "{:?}", six[5] - six[0]);
    }
}

#[tokio::test]
async fn a_shard_has_caught_up_only_when_nothing_is_behind() {
    let behind = Answer::Records(Vec::new(), 60_000); // a stretch without records
    let (address, _) = stub([behind.clone(), Answer::Records(vec![1], 0), behind, Answer::Records(vec![2], 10)]).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read_up(&mut reader, 1).await;
    assert_eq!(seen.events[PARTITION], [1, 2]);
    assert_eq!(reader.lag()[0].1, Lag { events: None, age: Some(Duration::ZERO) });
}

#[tokio::test]
async fn how_old_the_next_record_is_can_be_told() {
    let (address, _) = stub((0..100).map(|number| Answer::Records(vec![number], 90_000))).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    assert_eq!(reader.lag(), [], "nothing was asked yet");
    seen.read(&mut reader, |seen| seen.count() > 0).await;
    assert_eq!(reader.lag()[0].1, Lag { events: None, age: Some(Duration::from_secs(90)) });
}

#[tokio::test]
async fn an_expired_iterator_is_replaced_behind_the_last_record() {
    let expired = Answer::Error("ExpiredIteratorException");
    let (address, script) = stub([Answer::Records(vec![1, 2], 9), expired, Answer::Records(vec![3], 0)]).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 3).await;
    let iterators = script.lock().expect("nobody has panicked").iterators.clone();
    assert!(iterators[0].contains("TRIM_HORIZON"), "{iterators:?}");
    assert!(iterators[1].contains("AFTER_SEQUENCE_NUMBER") && iterators[1].contains(r#""2""#), "{iterators:?}");
}

#[tokio::test]
async fn a_shard_that_follows_from_one_that_is_gone_is_read_from_its_start_where_the_stream_was_read_before() {
    let (parent, before, other) = ("kinesis:events/parent", "kinesis:events/before", "kinesis:others/parent");
    for (known, gone, asked) in [
        (&[parent, PARTITION, other][..], &[parent][..], "TRIM_HORIZON"),
        (&[before], &[before], "TRIM_HORIZON"), // the parent came and went meanwhile
        (&[other], &[], "LATEST"),
    ] {
        let (address, script) = stub([Answer::Records(vec![1], 0)]).await;
        script.lock().expect("nobody has panicked").parent = Some("parent");
        let leases = Table::default().holder("one");
        let opened = Kinesis::open(&source(&address, "events", Offset::Latest), settings(), leases);
        let mut reader = opened.expect("opens a reader").with_credentials("test", "test");
        reader.all().await.expect("lists");
        let found: Vec<String> = reader.gone(known).iter().map(ToString::to_string).collect();
        assert_eq!(found, gone);
        Seen::default().read(&mut reader, |seen| seen.count() == 1).await;
        let iterators = script.lock().expect("nobody has panicked").iterators.clone();
        assert!(iterators[0].contains(asked), "{known:?}: {iterators:?}");
    }
}

#[tokio::test]
async fn errors_of_the_service_are_waited_for() {
    let broken = Answer::Error("InternalFailure");
    let (address, _) = stub([broken.clone(), Answer::Records(vec![1], 0), broken, Answer::Records(vec![2], 0)]).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 2).await;
    assert_eq!(seen.events[PARTITION], [1, 2]);
}

#[tokio::test]
async fn a_loop_that_is_slow_bounds_what_is_fetched() {
    let (address, script) = stub((0..100).map(|number| Answer::Records(vec![number], 1000))).await;
    let (mut reader, mut seen) = (open(&address), Seen::default());
    seen.read(&mut reader, |seen| seen.count() == 1).await;
    tokio::time::sleep(Duration::from_secs(3)).await; // a commit that takes long
    let asked = script.lock().expect("nobody has panicked").asked.len();
    assert!(asked <= 7, "{asked}");
    seen.read(&mut reader, |seen| seen.count() == 20).await;
    assert_eq!(seen.events[PARTITION], (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_may_not_read_is_told_in_one_line() {
    let error = async |name| {
        let (address, _) = stub([Answer::Error(name)]).await;
        let (mut reader, mut seen) = (open(&address), Seen::default());
        let error = loop {
            match timeout(LONG, reader.next()).await.expect("an error comes") {
                Ok(step) => seen.take(&mut reader, step).await,
                Err(error) => break error.to_string(),
            }
        };
        (error, address)
    };
    let (denied, address) = error("AccessDeniedException").await;
    let start = format!("{address} does not allow reading stream events, which takes kinesis:ListShards");
    assert!(denied.starts_with(&start), "{denied}");
    let (refused, address) = error("UnrecognizedClientException").await;
    assert_eq!(refused, format!("{address} refused the credentials: no"));
}

#[tokio::test]
async fn a_service_that_is_away_is_waited_for() {
    let mut reader = open("http://127.0.0.1:9"); // no server listens there
    let waiting = timeout(LONG / 10, async {
        loop {
            match reader.next().await {
                Ok(Step::Assigned(_)) => panic!("nobody answers"),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert!(waiting.await.is_err());
}
