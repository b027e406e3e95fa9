use super::*;
use crate::FileNames;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// A bucket and a web of their own, which count what is asked for.
#[derive(Default)]
struct Elsewhere {
    content: BTreeMap<String, Vec<u8>>,
    cut: bool, // loses the last byte of each
    asked: Mutex<Vec<String>>,
}

impl Elsewhere {
    fn with(content: &[(&str, &str)]) -> Self {
        let content = content.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
        Self { content, ..Self::default() }
    }
}

impl Fetch for Elsewhere {
    fn list(&self, address: &str) -> Result<Vec<Object>, FetchError> {
        self.asked.lock().push(address.to_owned());
        let found = self.content.iter().filter(|(name, _)| name.starts_with(address));
        Ok(found.map(|(name, text)| Object { address: name.clone(), size: text.len() as u64 }).collect())
    }

    fn get(&self, address: &str, to: &mut dyn Write) -> Result<bool, FetchError> {
        self.asked.lock().push(address.to_owned());
        let Some(text) = self.content.get(address) else { return Ok(false) };
        to.write_all(&text[..text.len() - usize::from(self.cut)])?;
        Ok(true)
    }
}

fn sources<'a>(folder: &Path, hub: bool, fetch: Option<&'a dyn Fetch>) -> Sources<'a> {
    let hub = hub.then(|| "https://hub".to_owned());
    Sources { models: folder.join("models"), cache: folder.join("cache"), hub, fetch }
}

fn locate(sources: &Sources<'_>, handle: &str) -> Result<Files, String> {
    let handle = handle.parse().expect("is a handle");
    sources.locate(&handle, &FileNames::default()).map_err(|error| error.to_string())
}

fn put(folder: &Path, names: &[&str]) {
    for name in names {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder is made");
        fs::write(path, *name).expect("a file is written");
    }
}

#[test]
fn a_model_in_the_folder_of_models_is_not_fetched() {
    let folder = tempfile::tempdir().expect("a folder is made");
    put(&folder.path().join("models/acme/rank"), &["onnx/model.onnx", "tokenizer.json"]);
    let elsewhere = Elsewhere::default();
    let files = locate(&sources(folder.path(), true, Some(&elsewhere)), "acme/rank").expect("it is there");
    assert_eq!(files.model, folder.path().join("models/acme/rank/onnx/model.onnx"));
    assert!(elsewhere.asked.lock().is_empty());
}

#[test]
fn a_folder_that_lacks_a_file_is_reported_with_its_content() {
    let folder = tempfile::tempdir().expect("a folder is made");
    put(folder.path(), &["model.onnx", "vocab.txt"]);
    let handle = format!("file://{}", folder.path().display());
    let error = locate(&sources(folder.path(), false, None), &handle).expect_err("no tokenizer");
    let expected = "holds no tokenizer.json, a model needs it; it holds model.onnx, vocab.txt";
    assert!(error.contains(expected) && error.contains(&handle[7..]), "{error}");
    let error = locate(&sources(folder.path(), false, None), "file:///no/such").expect_err("no folder");
    assert_eq!(error, "the model file:///no/such is not in /no/such");
}

#[test]
fn a_model_of_the_hub_is_fetched_once() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let base = "https://hub/acme/rank/resolve/main";
    let content = ["onnx/model.onnx", "tokenizer.json", "config.json"].map(|name| format!("{base}/{name}"));
    let text = |name: &str| if name.ends_with("json") { "{}" } else { "m" };
    let elsewhere = Elsewhere::with(&content.each_ref().map(|name| (name.as_str(), text(name))));
    let sources = sources(folder.path(), true, Some(&elsewhere));
    let files = locate(&sources, "acme/rank").expect("it is fetched");
    assert_eq!(fs::read(&files.model).expect("it was written"), b"m");
    assert!(files.folder.join("config.json").is_file() && files.model.ends_with("onnx/model.onnx"));
    assert!(!files.folder.join("model.onnx").exists());
    let asked = elsewhere.asked.lock().len();
    assert_eq!(locate(&sources, "acme/rank").expect("it is kept"), files);
    assert_eq!(elsewhere.asked.lock().len(), asked);
}

#[test]
fn offline_nothing_is_fetched_from_the_hub() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let elsewhere = Elsewhere::default();
    let error = locate(&sources(folder.path(), false, Some(&elsewhere)), "acme/rank").expect_err("it is nowhere");
    assert!(error.ends_with("models/acme/rank; RANKWRIGHT_OFFLINE=1 forbids fetching it"), "{error}");
    assert!(elsewhere.asked.lock().is_empty() && !folder.path().join("cache").exists());
}

#[test]
fn offline_a_model_that_was_fetched_before_is_found() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let base = "https://hub/acme/rank/resolve/main";
    let content = ["model.onnx", "tokenizer.json"].map(|name| format!("{base}/{name}"));
    let text = |name: &str| if name.ends_with("json") { "{}" } else { "m" };
    let elsewhere = Elsewhere::with(&content.each_ref().map(|name| (name.as_str(), text(name))));
    let fetched = locate(&sources(folder.path(), true, Some(&elsewhere)), "acme/rank").expect("it is fetched");
    let offline = sources(folder.path(), false, Some(&elsewhere));
    elsewhere.asked.lock().clear();
    assert_eq!(locate(&offline, "acme/rank").expect("it is kept"), fetched);
    assert_eq!(locate(&sources(folder.path(), true, None), "acme/rank").expect("it is kept"), fetched);
    let other = locate(&offline, "acme/rank@v2").expect_err("another revision is not kept");
    assert!(other.ends_with("RANKWRIGHT_OFFLINE=1 forbids fetching it"), "{other}");
    assert!(elsewhere.asked.lock().is_empty());
}

#[test]
fn a_model_in_a_bucket_is_fetched_once() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let content =
        [("s3://b/x/model.onnx", "m"), ("s3://b/x/tokenizer.json", "{}"), ("s3://b/x/1_Pooling/config.json", "p")];
    let elsewhere = Elsewhere::with(&content);
    let sources = sources(folder.path(), false, Some(&elsewhere));
    let files = locate(&sources, "s3://b/x").expect("it is fetched");
    assert!(files.folder.join("1_Pooling/config.json").is_file());
    let asked = elsewhere.asked.lock().len();
    assert_eq!(locate(&sources, "s3://b/x/").expect("it is kept"), files);
    assert_eq!(elsewhere.asked.lock().len(), asked);
}

fn file(sources: &Sources<'_>, address: &str) -> Result<PathBuf, String> {
    let check = |path: &Path| if fs::read(path)?.starts_with(b"{") { Ok(()) } else { Err("no JSON".into()) };
    sources.file(address, check).map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    })
}

#[test]
fn a_file_in_a_bucket_is_fetched_once() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let elsewhere = Elsewhere::with(&[("s3://b/x/terms.json.gz", "{gz}"), ("s3://b/x/terms.json", "{}")]);
    let sources = sources(folder.path(), false, Some(&elsewhere));
    let path = file(&sources, "s3://b/x/terms.json").expect("it is fetched");
    assert!(path.ends_with("terms.json") && fs::read(&path).expect("it was written") == b"{}", "{path:?}");
    let asked = elsewhere.asked.lock().len();
    assert_eq!(file(&sources, "s3://b/x/terms.json").expect("it is kept"), path);
    assert_eq!(elsewhere.asked.lock().len(), asked);
    assert!(file(&sources, "s3://b/x/terms.json.gz").expect("it is another").ends_with("terms.json.gz"));
}

#[test]
fn what_was_damaged_where_it_is_kept_is_fetched_again() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let hub = "https://hub/acme/rank/resolve/main";
    let names = ["onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json", "1_Pooling/config.json"];
    let text = |name: &str| if name.ends_with("json") { "{}" } else { "graph" };
    let of = |base: &str| names.map(|name| (format!("{base}/{name}"), text(name)));
    let placed: Vec<(String, &str)> =
        [of("s3://b/x"), of(hub)].into_iter().flatten().chain([("s3://b/terms.json".to_owned(), "{}")]).collect();
    let placed: Vec<(&str, &str)> = placed.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let elsewhere = Elsewhere::with(&placed);
    let able = sources(folder.path(), true, Some(&elsewhere));
    let terms = file(&able, "s3://b/terms.json").expect("it is fetched");
    fs::write(&terms, "{").expect("it is damaged"); // which its check would take
    assert_eq!(file(&able, "s3://b/terms.json"), Ok(terms.clone()));
    assert_eq!(fs::read(&terms).expect("it is there"), b"{}");
    for handle in ["s3://b/x", "acme/rank"] {
        let files = locate(&able, handle).expect("it is fetched");
        for name in names {
            let path = files.folder.join(name);
            fs::write(&path, &text(name)[..1]).expect("it is damaged");
            assert_eq!(locate(&able, handle), Ok(files.clone()));
            assert_eq!(fs::read(&path).expect("it is there"), text(name).as_bytes(), "{handle}: {name}");
            fs::remove_file(&path).expect("it is there");
            assert_eq!(locate(&able, handle), Ok(files.clone()));
            assert!(path.is_file(), "{handle}: {name}");
        }
        fs::write(&files.model, "g").expect("it is damaged");
        let unable = sources(folder.path(), false, None);
        assert_eq!(locate(&unable, handle), Ok(files), "what cannot be fetched is used as it is");
    }
}

#[test]
fn a_file_is_asked_for_without_a_list_of_its_bucket() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let elsewhere = Elsewhere::with(&[("s3://b/x/terms.json", "{}")]);
    file(&sources(folder.path(), false, Some(&elsewhere)), "s3://b/x/terms.json").expect("it is fetched");
    assert_eq!(*elsewhere.asked.lock(), ["s3://b/x/terms.json"]);
}

#[test]
fn a_file_that_is_missing_or_of_no_use_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let content = [("s3://b/x/terms.json", "{}"), ("s3://b/x/page.json", "<html>")];
    let elsewhere = Elsewhere::with(&content);
    let whole = sources(folder.path(), false, Some(&elsewhere));
    for address in ["s3://b/x/terms", "s3://b/x/", "s3://b", "s3:///x", "s3://b/.."] {
        let error = file(&whole, address).expect_err("it is not there");
        assert_eq!(error, format!("there is no file {address}"));
    }
    let error = file(&whole, "s3://b/x/page.json").expect_err("of no use");
    assert_eq!(error, "s3://b/x/page.json cannot be used: no JSON");
    let left = fs::read_dir(folder.path().join("cache/fetched/s3/b")).expect("the folder is made").count();
    assert_eq!(left, 0);
    let alone = file(&sources(folder.path(), false, None), "s3://b/x/terms.json").expect_err("nothing is fetched");
    assert_eq!(alone, "failed to fetch s3://b/x/terms.json: this program does not fetch it");
}

#[test]
fn who_cannot_fetch_makes_no_folder_for_it() {
    let folder = tempfile::tempdir().expect("a folder is made");
    for handle in ["s3://b/x", "acme/rank"] {
        let error = locate(&sources(folder.path(), true, None), handle).expect_err("it is nowhere");
        assert!(error.ends_with("; this program does not fetch it"), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 0);
    let elsewhere = Elsewhere::with(&[("s3://b/x/model.onnx", "m"), ("s3://b/x/tokenizer.json", "{}")]);
    let fetched = locate(&sources(folder.path(), false, Some(&elsewhere)), "s3://b/x").expect("it is fetched");
    assert_eq!(locate(&sources(folder.path(), false, None), "s3://b/x"), Ok(fetched), "what was fetched is found");
}

#[test]
fn what_came_in_part_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let content = [("s3://b/x/model.onnx", "model"), ("s3://b/x/tokenizer.json", "{}")];
    let elsewhere = Elsewhere { cut: true, ..Elsewhere::with(&content) };
    let error = locate(&sources(folder.path(), false, Some(&elsewhere)), "s3://b/x").expect_err("it is cut off");
    assert_eq!(error, "s3://b/x/model.onnx has 5 bytes, but 4 came");
    let left = fs::read_dir(folder.path().join("cache/fetched/s3/b/_x%2f")).expect("the folder is made").count();
    assert_eq!(left, 0);
    let whole = Elsewhere::with(&content);
    locate(&sources(folder.path(), false, Some(&whole)), "s3://b/x").expect("it is fetched now");
}

#[test]
fn what_a_killed_fetch_left_goes_with_the_next_one() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let (model, files) = (folder.path().join("cache/fetched/s3/shop/_rank%2f"), ["lock", "model/model.onnx"]);
    put(&model.join(".new-left"), &files);
    let elsewhere = Elsewhere::with(&[("s3://shop/rank/model.onnx", "m"), ("s3://shop/rank/tokenizer.json", "{}")]);
    let found = locate(&sources(folder.path(), false, Some(&elsewhere)), "s3://shop/rank/").expect("it is fetched");
    assert_eq!(found.folder.parent(), Some(model.as_path()));
    let left: Vec<_> = fs::read_dir(&model).expect("is there").flatten().map(|entry| entry.path()).collect();
    assert_eq!(left, [found.folder]);
}

#[test]
fn a_bucket_without_a_graph_is_reported_with_its_content() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let elsewhere = Elsewhere::with(&[("s3://b/x/tokenizer.json", "{}")]);
    let error = locate(&sources(folder.path(), false, Some(&elsewhere)), "s3://b/x").expect_err("no graph");
    assert_eq!(error, "s3://b/x/ holds no model.onnx or onnx/model.onnx, a model needs it; it holds tokenizer.json");
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().expect("a folder is made");
    for name in ["../model.onnx", "/model.onnx", ""] {
        let names = FileNames { model: Some(name.to_owned()), tokenizer: None };
        let handle = "acme/rank".parse().expect("is a handle");
        let error = sources(folder.path(), false, None).locate(&handle, &names).expect_err("refused");
        assert!(matches!(error, FilesError::Name { .. }), "{error}");
    }
}

#[test]
fn a_page_or_a_pointer_instead_of_a_file_is_refused_and_not_kept() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let cases = [
        ("<html>", "{}", "model.onnx was fetched and is a text"),
        ("", "{}", "model.onnx was fetched and is empty"),
        (
            "version https://git-lfs.github.com/spec/v1",
            "{}",
            "model.onnx was fetched and is a pointer of Git LFS, not the file itself",
        ),
        ("m", "<html>", "tokenizer.json was fetched and is no JSON"),
    ];
    for (graph, tokenizer, expected) in cases {
        let elsewhere = Elsewhere::with(&[("s3://b/x/model.onnx", graph), ("s3://b/x/tokenizer.json", tokenizer)]);
        let error = locate(&sources(folder.path(), false, Some(&elsewhere)), "s3://b/x").expect_err("refused");
        assert_eq!(error, expected);
    }
}
