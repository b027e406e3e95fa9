//! Configurations and files of events in a bucket, and an encrypted port.

use rankwright_e2e::many::{FEATURES, day};
use rankwright_e2e::program::{clean, command, named};
use rankwright_e2e::random::Random;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, encrypted, events};
use rankwright_object::Runner;
use std::path::Path;
use std::process::Command;

/// A bucket of the test's own on the server for tests.
struct Bucket {
    settings: rankwright_object::Settings,
    runner: Runner,
}

impl Bucket {
    fn own() -> Option<Self> {
        let settings = rankwright_object::testing::own_bucket()?;
        Some(Self { settings, runner: Runner::start().expect("there is room for a thread") })
    }

    fn name(&self) -> &str {
        &self.settings.bucket
    }

    fn secret() -> String {
        std::env::var("RANKWRIGHT_TEST_S3_SECRET").unwrap_or_default()
    }

    fn put(&self, key: &'static str, text: String) {
        let settings = self.settings.clone();
        let put = async move { rankwright_object::Bucket::connect(&settings).await.put(key, text.into()).await };
        self.runner.wait(put).expect("the server takes it");
    }

    /// Runs the program with the environment of a pod.
    fn run(&self, arguments: &[&str], folder: &Path) -> Ended {
        self.run_with("AWS_ENDPOINT_URL", arguments, folder)
    }

    fn run_with(&self, variable: &str, arguments: &[&str], folder: &Path) -> Ended {
        Ended::of(self.in_a_pod(variable, &mut command(arguments)).current_dir(folder))
    }

    fn in_a_pod<'a>(&self, variable: &str, command: &'a mut Command) -> &'a mut Command {
        let endpoint = self.settings.endpoint.as_deref().unwrap_or_default();
        command.env(variable, endpoint).env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", std::env::var("RANKWRIGHT_TEST_S3_KEY").unwrap_or_default());
        command.env("AWS_SECRET_ACCESS_KEY", Self::secret())
    }
}

#[test]
fn configuration_and_events_are_read_from_a_bucket() {
    let Some(bucket) = Bucket::own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    let events = day(&mut Random(7), 200);
    let (first, second) = events.split_at(events.len() / 2);
    bucket.put("days/1.jsonl", events::lines(first));
    bucket.put("days/2.jsonl", events::lines(second));
    bucket.put("days/old/0.jsonl", "not read".to_owned());
    let config = format!(
        "state: {{type: file, path: ./state}}\n{FEATURES}\nsource: {{type: file, path: s3://{}/days}}\n",
        bucket.name()
    );
    bucket.put("config.yml", config);
    let url = format!("s3://{}/config.yml", bucket.name());
    let import = |more: &[&str]| bucket.run(&[&["import", "--config", &url], more].concat(), folder);
    let said = |ended: &Ended, count: usize| ended.stderr.contains(&format!("events={count} "));
    let whole = import(&[]).ok();
    assert!(said(&whole, events.len()), "{}", whole.stderr);
    let again = bucket.run_with("AWS_ENDPOINT_URL_S3", &["import", "--config", &url], folder).ok();
    assert!(said(&again, 0), "what was read is known by its name in the bucket: {}", again.stderr);

    let slashed = import(&["--data", &format!("s3://{}/days/", bucket.name())]).ok();
    assert!(said(&slashed, 0), "it is the same folder: {}", slashed.stderr);

    let missing = import(&["--data", &format!("s3://{}/nights", bucket.name())]).refused();
    assert!(missing.stderr.contains("there is no such object"), "{}", missing.stderr);
    let no_config = bucket.run(&["import", "--config", &format!("s3://{}/other.yml", bucket.name())], folder).refused();
    assert!(no_config.stderr.contains("other.yml does not exist"), "{}", no_config.stderr);
    bucket.put("wrong.yml", "prot: 1".to_owned());
    let wrong = bucket.run(&["import", "--config", &format!("s3://{}/wrong.yml", bucket.name())], folder).refused();
    assert!(wrong.stderr.contains("wrong.yml:1:1"), "{}", wrong.stderr);
    let url = format!("s3://{}/wrong.yml", bucket.name());
    let programs = ["rank-server", "ingest-worker", "training-job"].map(|program| (program, Vec::new()));
    let more = [
        "serve",
        "train",
        "status",
        "purge",
        "standalone --data .",
        "models list",
        "models rollback --model m",
        "forget --user u",
    ]
    .map(|subcommand| ("rankwright", subcommand.split(' ').collect::<Vec<_>>()));
    for (program, subcommand) in programs.into_iter().chain(more) {
        let mut command = clean(Command::new(named(program)));
        command.args(&subcommand).args(["--config", &url]);
        let said = Ended::of(bucket.in_a_pod("AWS_ENDPOINT_URL", &mut command).current_dir(folder));
        assert_ne!(said.code, Some(0), "{program} {subcommand:?}");
        assert!(said.stderr.contains("wrong.yml:1:1"), "{program} {subcommand:?}: {}", said.stderr);
    }
    let secret = Bucket::secret();
    for ended in [whole, again, missing, no_config, wrong] {
        assert!(!ended.stderr.contains(&secret) && !ended.stdout.contains(&secret), "no credentials are told");
    }
}

/// As a platform's operators expect, who hand credentials to a pod whatever its configuration says.
#[test]
fn credentials_of_the_environment_go_before_those_of_the_configuration() {
    let Some(bucket) = Bucket::own() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    std::fs::write(folder.join("events.jsonl"), events::lines(&day(&mut Random(7), 50))).expect("can be written");
    let right = (std::env::var("RANKWRIGHT_TEST_S3_KEY").unwrap_or_default(), Bucket::secret());
    let wrong = ("nobody".to_owned(), "xyzzy-s3-secret".to_owned());
    let import = |environment: Option<&(String, String)>, configured: &(String, String), prefix: &str| {
        let endpoint = bucket.settings.endpoint.as_deref().unwrap_or_default();
        let keys = format!("cloudKey: {}, cloudKeySecret: {}", configured.0, configured.1);
        let place = format!("bucket: {}, prefix: {prefix}, region: us-east-1, endpoint: '{endpoint}'", bucket.name());
        let features = FEATURES.replace(
            "train: {type: file, path: ./parts, format: json}",
            &format!("train: {{type: s3, {place}, {keys}}}"),
        );
        assert!(features.contains("cloudKey"), "{features}");
        std::fs::write(folder.join("config.yml"), format!("state: {{type: file, path: ./{prefix}}}\n{features}"))
            .expect("can be written");
        let mut command = command(&["import", "--config", "config.yml", "--data", "events.jsonl"]);
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        if let Some((key, secret)) = environment {
            command.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", secret);
        }
        Ended::of(command.current_dir(folder))
    };
    import(Some(&right), &wrong, "environment").ok();
    import(None, &right, "configuration").ok();
    for (environment, configured) in [(Some(&wrong), &right), (None, &wrong)] {
        let refused = import(environment, configured, "refused");
        let told = refused.stderr.contains("the service does not know the access key");
        assert!(refused.code == Some(1) && told, "{}", refused.stderr);
        assert!(!refused.stderr.contains("xyzzy-s3-secret"), "{}", refused.stderr);
    }
}

#[test]
fn the_port_is_encrypted_where_the_configuration_says_so() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let folder = folder.path();
    encrypted::make_certificate(folder);
    let config = "models: {same: {type: noop}}\n\
                  api: {host: 127.0.0.1, port: 0, tls: {cert: cert.pem, key: key.pem}}\n";
    let launch = Launch { subcommand: "serve", config, data: None, folder, environment: &[] };
    let service = launch.start_unasked();
    encrypted::assert_encrypted(service.address(), folder);
    service.terminate();
    assert_eq!(service.wait(), Some(0));

    // a Secret of Kubernetes, as a pod has it
    let secret = folder.join("secret");
    std::fs::create_dir(&secret).expect("there is room");
    for (from, to) in [("cert.pem", "tls.crt"), ("key.pem", "tls.key")] {
        std::fs::copy(folder.join(from), secret.join(to)).expect("there is room");
    }
    let environment = [("RANKWRIGHT_API_TLS_DIR", secret.to_str().expect("a folder for tests has such a name"))];
    let bare = config.replace(", tls: {cert: cert.pem, key: key.pem}", "");
    let launch = Launch { subcommand: "serve", config: &bare, data: None, folder, environment: &environment };
    let service = launch.start_unasked();
    encrypted::assert_encrypted(service.address(), folder);
    service.kill();
    let Some(redis) = Redis::for_tests() else { return };
    for program in ["rank-server", "ingest-worker"] {
        let name = redis.own_service("encrypted");
        let config = format!("state: {{type: redis, {}}}\n{config}", redis.keys());
        let environment = [("RANKWRIGHT_SERVICE", name.as_str())];
        let launch = Launch { subcommand: program, config: &config, data: None, folder, environment: &environment };
        let service = launch.start_unasked();
        encrypted::assert_encrypted(service.address(), folder);
        service.terminate();
        assert_eq!(service.wait(), Some(0), "{program}");
    }
}
