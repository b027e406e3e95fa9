//! What no waiting helps against: one line says what to change.

use crate::{GOES_ON, assert_refused, over, plain};
use rankwright_e2e::events::item;
use rankwright_e2e::kafka::{broker, make_topic};
use rankwright_e2e::many::{import, launch};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::s3;
use rankwright_e2e::said::{PROGRAMS, Said};
use std::collections::BTreeSet;

#[test]
fn a_redis_that_is_not_trusted_or_does_not_trust_is_told_by_every_program() {
    let Some(redis) = Redis::secured() else { return };
    let ca = redis.ca().display();
    let config = |tls: &str, password: &str| {
        let (host, port) = (redis.host(), redis.port());
        over(&format!("type: redis, host: {host}, port: {port}, tls: {tls}, auth: {{user: app, password: {password}}}"))
    };
    let (trusted, place) = (format!("{{enabled: true, ca: '{ca}'}}"), format!("{}:{}", redis.host(), redis.port()));
    let refused = |config: String, words: &[&str]| {
        assert_refused(&PROGRAMS, &config, "bad", &[&[place.as_str()], words].concat())
    };
    refused(config(&trusted, "wrong"), &["user or password refused", "set auth.user and auth.password"]);
    refused(config("{enabled: true}", "secret"), &["UnknownIssuer", "check tls.ca"]);
}

#[test]
fn a_server_is_trusted_as_far_as_the_configuration_says() {
    let Some(redis) = Redis::secured() else { return };
    let (ca, service) = (redis.ca().display(), redis.own_service("trust"));
    // the certificate is for localhost and 127.0.0.1
    let config = |host: &str, tls: &str| {
        let (port, timeout) = (redis.port(), "{connect: 30s, command: 30s}"); // the machine has other things to do
        let tls = format!("tls: {{enabled: true, {tls}}}, auth: {{user: app, password: secret}}, timeout: {timeout}");
        over(&format!("type: redis, host: {host}, port: {port}, {tls}"))
    };
    let (known, unknown) = (format!("ca: '{ca}', verify"), "verify");
    let cases = [
        ("localhost", format!("{known}: full"), None),
        ("127.0.0.2", format!("{known}: full"), Some("not valid for name")),
        ("127.0.0.2", format!("{known}: ca"), None),
        ("localhost", format!("{unknown}: ca"), Some("UnknownIssuer")),
        ("127.0.0.2", format!("{unknown}: off"), None),
    ];
    for (host, tls, refused) in cases {
        let config = config(host, &tls);
        match refused {
            Some(why) => {
                assert_refused(&["ingest-worker"], &config, &service, &[why, "check tls.ca, tls.verify"]);
            }
            None => {
                let folder = tempfile::tempdir().expect("there is room for temporary files");
                drop(launch("ingest-worker", &config, &service, folder.path()));
            }
        }
    }
}

#[test]
fn a_server_that_refuses_all_that_concerns_clients_is_used_without_and_that_is_said_once() {
    let Some(redis) = Redis::of_its_own() else { return };
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    let user = ["SETUSER", "managed", "on", ">secret", "~*", "&*", "+@all", "-client"];
    redis::cmd("ACL").arg(&user).exec(&mut connection).expect("takes a user");
    let config = over(&format!("type: redis, {}, auth: {{user: managed, password: secret}}", redis.keys()));
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let server = launch("rank-server", &config, &redis.own_service("managed"), folder.path());
    let taken = |number: i64| server.post("/feedback", &item("i1", number, &[])).status == 200;
    server.until("taking events", || taken(1));
    // it connects again
    redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"]).exec(&mut connection).expect("closes them");
    server.until("taking events again", || taken(2));
    let told = ["offers no client tracking", "takes no CLIENT SETINFO"];
    server.until("told", || told.iter().all(|words| server.log().contains(words)));
    for words in told {
        assert_eq!(server.log().matches(words).count(), 1, "{words}: {}", server.log());
    }
}

#[test]
fn plain_text_at_a_port_for_tls_is_told_and_nothing_is_served() {
    let Some(redis) = Redis::secured() else { return };
    let config = over(&format!("type: redis, host: {}, port: {}", redis.host(), redis.port()));
    for program in PROGRAMS {
        let said = Said::by(program, &config, &[], &GOES_ON);
        assert!(said.code.is_none_or(|code| code == 75), "{program}: {}", said.text);
        assert!(said.text.contains("its port is one for TLS (set tls)"), "{program}: {}", said.text);
        assert!(!said.text.contains("serving address="), "{program}: {}", said.text);
    }
}

#[test]
fn encryption_asked_for_at_a_port_without_it_is_told() {
    let Some(redis) = Redis::for_tests() else { return };
    let tls = "tls: {enabled: true}, timeout: {connect: 500ms, command: 30s, socket: 30s}";
    let config = over(&format!("type: redis, {}, {tls}", redis.keys()));
    for program in PROGRAMS {
        let said = Said::by(program, &config, &[], &GOES_ON);
        let told = ["its port may be one without TLS", "check tls.ca, tls.verify and that this is a port for TLS"];
        assert!(told.iter().any(|words| said.text.contains(words)), "{program}: {}", said.text);
        assert!(!said.text.contains("serving address="), "{program}: {}", said.text);
    }
}

#[test]
fn a_bucket_that_is_missing_is_told_by_every_program_that_needs_it() {
    let (Some(redis), Some(endpoint)) = (Redis::for_tests(), s3()) else { return };
    let key = |variable: &str| std::env::var(variable).unwrap_or_default();
    let keys =
        format!("cloudKey: {}, cloudKeySecret: {}", key("RANKWRIGHT_TEST_S3_KEY"), key("RANKWRIGHT_TEST_S3_SECRET"));
    let bucket = format!("type: s3, bucket: missing, prefix: p, region: us-east-1, endpoint: '{endpoint}', {keys}");
    let config = plain(&redis).replace("type: file, path: ./parts, format: json", &bucket);
    let words = ["s3://missing/p/", "no such bucket", "create it, or correct its name"];
    assert_refused(&["ingest-worker", "training-job", "serve", "import"], &config, &redis.own_service("bad"), &words);
}

#[test]
fn a_bucket_or_stream_whose_certificate_is_not_trusted_is_told_with_what_to_do() {
    let Some(redis) = Redis::for_tests() else { return };
    // it speaks TLS, and that is as far as anybody comes there
    let Some(secured) = Redis::secured() else { return };
    let (endpoint, ca) = (format!("https://localhost:{}", secured.port()), secured.ca().display().to_string());
    let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let bucket = format!("type: s3, bucket: b, prefix: p, region: us-east-1, endpoint: '{endpoint}'");
    let bucket = plain(&redis).replace("type: file, path: ./parts, format: json", &bucket);
    let source = "source: {type: kinesis, topic: events, offset: earliest, region: us-east-1";
    let stream = format!("{}{source}, endpoint: '{endpoint}'}}\n", plain(&redis));
    let words = ["the certificate of", "is not trusted", "SSL_CERT_FILE"];
    let goes_on = [&GOES_ON[..], &["the service does not answer"]].concat();
    for (programs, config) in [(&["ingest-worker", "training-job", "import"][..], &bucket), (&["import"], &stream)] {
        for program in programs {
            let service = redis.own_service("bad");
            let own = [&keys[..], &[("RANKWRIGHT_SERVICE", &*service)]].concat();
            let said = Said::by(program, config, &own, &GOES_ON);
            assert_eq!(said.code, Some(1), "{program}: {}", said.text);
            assert!(words.iter().all(|word| said.text.contains(word)), "{program}: {}", said.text);
            let trusted = [&own[..], &[("SSL_CERT_FILE", &*ca)]].concat();
            let said = Said::by(program, config, &trusted, &goes_on);
            assert!(!said.text.contains("is not trusted"), "{program}: {}", said.text);
        }
    }
}

#[test]
fn a_topic_that_is_missing_is_told_and_can_be_made_later() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let service = redis.own_service("missing");
    let source =
        format!("source: {{type: kafka, brokers: ['{broker}'], topic: {service}, groupId: g, offset: earliest}}\n");
    let config = plain(&redis) + &source;
    for program in ["ingest-worker", "serve", "import"] {
        let said = Said::by(program, &config, &[("RANKWRIGHT_SERVICE", &service)], &[]);
        assert_eq!(said.code, Some(1), "{program}: {}", said.text);
        let told = format!("topic {service} does not exist at {broker}: create it, or correct source.topic");
        assert!(said.text.contains(&told), "{program}: {}", said.text);
    }
    make_topic(&broker, &service, 1);
    let said = Said::by("import", &config, &[("RANKWRIGHT_SERVICE", &service)], &[]);
    assert_eq!(said.code, Some(0), "{}", said.text);
}

#[test]
fn a_broker_that_refuses_the_password_or_is_not_there_is_told() {
    let (Some(redis), Some(broker)) = (Redis::for_tests(), broker()) else { return };
    let (host, port) = broker.rsplit_once(':').expect("host:port");
    let scram = format!("{host}:{}", port.parse::<u16>().expect("a port") + 2);
    let config_of = |brokers: &str, user: &str, password: &str| {
        let login = format!("sasl.mechanism: SCRAM-SHA-512, sasl.username: {user}, sasl.password: {password}");
        let options = format!("{{security.protocol: SASL_PLAINTEXT, {login}}}");
        plain(&redis)
            + &format!("source: {{type: kafka, brokers: ['{brokers}'], topic: t, groupId: g, options: {options}}}\n")
    };
    let config = |brokers: &str| config_of(brokers, "test", "wrong");
    for program in ["ingest-worker", "serve", "import"] {
        let said = Said::by(program, &config_of(&scram, "guest", "secret"), &[], &[]);
        let told = said.text.contains("does not allow reading topic t as group g: grant the user");
        assert!(said.code == Some(1) && told, "{program}: {}", said.text);
    }
    let said = Said::by("ingest-worker", &config(&scram), &[], &[]);
    assert!(said.code == Some(1) && said.text.contains("refused the credentials of source.options"), "{}", said.text);
    let nowhere = format!("127.0.0.1:{}", rankwright_e2e::ports::free(1));
    let said = Said::by("ingest-worker", &config(&nowhere), &[], &["no broker answers"]);
    assert!(said.code.is_none() && said.text.contains("no broker answers"), "{}", said.text);
}

#[test]
fn a_state_of_a_newer_version_is_refused_by_every_program_and_left_as_it_is() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (service, config) = (redis.own_service("newer"), plain(&redis));
    import(&config, &service, &[item("i1", 0, &[])], folder.path());
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    redis::cmd("HSET").arg(&[&format!("rw:{service}:meta"), "format", "3"]).exec(&mut connection).expect("is written");
    // who held the import lets go of it, or its time is over, in a moment
    let lasting = || redis.names(&service).into_iter().filter(|name| !name.contains(":t:")).collect::<BTreeSet<_>>();
    let before = (lasting(), redis.values(&service));
    assert_refused(&PROGRAMS, &config, &service, &["newer"]);
    assert_eq!((lasting(), redis.values(&service)), before);
}
