//! A bucket of the test's own on the server for tests.

use rankwright_object::{Runner, Settings, testing};
use std::env::var;
use std::fs;
use std::path::Path;

/// Where keys begin.
const PREFIX: &str = "kept/";

pub(crate) struct Bucket {
    settings: Settings,
    runner: Runner,
    key: String,
    secret: String,
}

impl Bucket {
    pub(crate) fn own() -> Option<Self> {
        let (settings, runner) = (testing::own_bucket()?, Runner::start().expect("there is room for a thread"));
        let secret = |name: &str| var(name).unwrap_or_default();
        let (key, secret) = (secret("RANKWRIGHT_TEST_S3_KEY"), secret("RANKWRIGHT_TEST_S3_SECRET"));
        Some(Self { settings, runner, key, secret })
    }

    /// How a configuration names it.
    pub(crate) fn keys(&self) -> String {
        let (bucket, endpoint) = (&self.settings.bucket, self.settings.endpoint.as_deref().unwrap_or_default());
        format!("bucket: {bucket}, prefix: {PREFIX}, region: us-east-1, endpoint: '{endpoint}'")
    }

    /// For the environment.
    pub(crate) fn credentials(&self) -> [(&str, &str); 2] {
        [("AWS_ACCESS_KEY_ID", &self.key), ("AWS_SECRET_ACCESS_KEY", &self.secret)]
    }

    /// Puts the files of a folder.
    pub(crate) fn put_all(&self, folder: &Path) {
        for file in fs::read_dir(folder).expect("is there") {
            let file = file.expect("can be listed");
            let (key, bytes) = (file.file_name().into_string(), fs::read(file.path()));
            let (key, bytes) = (format!("{PREFIX}{}", key.expect("a text")), bytes.expect("can be read"));
            let settings = self.settings.clone();
            let put = async move { rankwright_object::Bucket::connect(&settings).await.put(&key, bytes.into()).await };
            self.runner.wait(put).expect("the server takes it");
        }
    }

    /// Writes all that lies there into files.
    pub(crate) fn get_all(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("can be made");
        let (settings, folder) = (self.settings.clone(), folder.to_owned());
        let get = async move {
            let bucket = rankwright_object::Bucket::connect(&settings).await;
            for object in bucket.list(PREFIX).await.expect("the server lists") {
                let bytes = bucket.get(&object.key).await.expect("the server answers").expect("is there");
                fs::write(folder.join(&object.key[PREFIX.len()..]), bytes).expect("can be written");
            }
        };
        self.runner.wait(get);
    }
}
