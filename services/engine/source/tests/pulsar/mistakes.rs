//! What is wrong from the start is told in one line.

use crate::seen::{LONG, failure};
use crate::topic::broker;
use futures_util::{SinkExt, StreamExt};
use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::{BaseCommand, CommandError, ServerError};
use pulsar::message::{Codec, Message};
use rankwright_config::{EventFormat, Offset, SourceConfig, SourceKind, Subscription};
use rankwright_source::{Error, Pulsar};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::codec::Framed;

#[tokio::test]
async fn a_topic_that_does_not_exist_is_named_and_not_made() {
    let Some(broker) = broker() else { return };
    let topic = broker.named("nobody-made-this").await;
    let expected = format!(
        "topic public/default/nobody-made-this does not exist at {}: create it, or correct source.topic",
        broker.service
    );
    for mut reader in
        [topic.open(), topic.open_with(Subscription::Shared, Offset::Latest), topic.bounded(Offset::Earliest)]
    {
        assert_eq!(failure(&mut reader).await.to_string(), expected);
    }
    let topics = broker.admin("GET", "persistent/public/default", "").await;
    assert!(!topics.contains("nobody-made-this"), "{topics}");
}

/// A source at an address, with one option.
fn source(service: &str, topic: &str, option: (&str, &str)) -> Result<Pulsar, Error> {
    let kind = SourceKind::Pulsar {
        service_url: service.to_owned(),
        admin_url: "http://localhost:8080".to_owned(),
        topic: topic.to_owned(),
        subscription_name: "readers".to_owned(),
        subscription_type: Subscription::Exclusive,
        options: [(option.0.to_owned(), option.1.to_owned())].into(),
    };
    let config = SourceConfig { offset: Offset::Earliest, format: EventFormat::Json, kind, dead_letter: None };
    Pulsar::open(&config, crate::seen::settings())
}

#[test]
fn what_cannot_be_is_refused_at_once() {
    let error =
        |service: &str, topic: &str, option| source(service, topic, option).err().map(|error| error.to_string());
    let fine = ("consumerName", "me");
    assert_eq!(error("pulsar://localhost:6650", "events", fine), None);
    assert!(
        error("pulsar://localhost:x", "events", fine).is_some_and(|error| error.starts_with("source.serviceUrl: "))
    );
    let topic = "non-persistent://public/default/events";
    assert!(error("pulsar://localhost", topic, fine).is_some_and(|error| error.starts_with("source.topic: ")));
    let unknown = error("pulsar://localhost", "events", ("ackTimoutMillis", "1"));
    assert!(unknown.is_some_and(|error| error.starts_with("source.options.ackTimoutMillis: no option of a Pulsar")));
    assert_eq!(error("pulsar://localhost", "events", ("ackTimeoutMillis", "1")), None, "is ignored");
}

/// A broker that says no to everybody, in many lines as brokers do; tells what it was shown.
async fn refusing(code: ServerError) -> (String, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let address = format!("pulsar://{}", listener.local_addr().expect("listens somewhere"));
    let shown = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("somebody comes");
        let mut framed = Framed::new(stream, Codec);
        let hello = framed.next().await.expect("says something").expect("says what can be read").command;
        let error =
            Some(CommandError { request_id: 0, error: code.into(), message: "no\n\tat Broker.java".to_owned() });
        let command = BaseCommand { r#type: Type::Error.into(), error, ..BaseCommand::default() };
        framed.send(Message { command, payload: None }).await.expect("answers");
        hello.connect.and_then(|connect| connect.auth_data).unwrap_or_default()
    });
    (address, shown)
}

#[tokio::test]
async fn refused_credentials_end_the_reading_with_one_line() {
    let (service, shown) = refusing(ServerError::AuthenticationError).await;
    let mut reader = source(&service, "events", ("authParams", "token:secret")).expect("opens a reader");
    let error = failure(&mut reader).await.to_string();
    assert_eq!(error, format!("{service} refused the credentials in source.options: no"));
    assert_eq!(shown.await.expect("was asked"), b"secret");
}

#[tokio::test]
async fn a_reader_that_may_not_read_is_told_so() {
    let (service, _) = refusing(ServerError::AuthorizationError).await;
    let mut reader = source(&service, "events", ("consumerName", "me")).expect("opens a reader");
    let error = failure(&mut reader).await.to_string();
    assert_eq!(
        error,
        format!(
            "{service} does not allow reading topic public/default/events with subscription readers: grant its role consume (no)"
        )
    );
}

#[tokio::test]
async fn a_token_file_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let service = format!("pulsar://{}", listener.local_addr().expect("listens somewhere"));
    let mut reader = source(&service, "events", ("authParams", "file:///no/such/token")).expect("opens a reader");
    let error = timeout(LONG, failure(&mut reader)).await.expect("an error comes").to_string();
    assert!(error.starts_with("source.options.authParams: cannot read /no/such/token: "), "{error}");
}
