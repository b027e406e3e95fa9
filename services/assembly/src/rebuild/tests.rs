#![allow(clippy::expect_used)]

use super::*;
use rankwright_event::{Tenant, Timestamp};
use rankwright_redis::{Link, testing};
use rankwright_state::{Cell, Commit, Entity, Key, Outcome, RedisOptions, Scope, Slot, Stored};

/// Of a state in a folder.
fn in_folder(path: &Path) -> (Config, PathBuf) {
    let text = format!(
        "state: {{type: file, path: {}}}\ntrain: {{type: discard}}\nmodels: {{m: {{type: noop}}}}\nfeatures:\n- {{name: price, type: number, field: item.price}}",
        path.display()
    );
    let config = Config::parse(&text, "test").expect("a configuration").0;
    let State::File(file) = &config.state else { panic!("it is one in a folder") };
    let place = folder::place(file);
    drop(folder::open(&place, file).expect("is made"));
    (config, place)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_rebuilds_that_are_not_completed_the_last_one_is_kept() {
    let home = tempfile::tempdir().expect("there is room for temporary files");
    let (config, _) = in_folder(home.path());
    let left = home.path().join(format!("{REBUILT}of-another-configuration"));
    fs::create_dir(&left).expect("is made");
    let begun = Rebuild::begin(&config, None, None).await.expect("begins").expect("is one");
    assert!(!left.exists());
    let built = unfinished(home.path()).expect("is listed");
    assert_eq!(built.len(), 1);
    drop(begun); // as where its events cannot be read
    assert_eq!(unfinished(home.path()).expect("is listed"), built);
    let begun = Rebuild::begin(&config, None, None).await.expect("begins").expect("goes on");
    assert!(begun.complete().await.expect("takes the place"));
    assert!(unfinished(home.path()).expect("is listed").is_empty());
}

#[test]
fn a_rebuild_begun_for_other_texts_of_items_is_another_one() {
    let of = |models: &str| digest(&Config::parse(&format!("models: {{{models}}}"), "test").expect("valid").0, None);
    let semantic = |fields: &str, ttl: &str| {
        of(&format!(
            "m: {{type: semantic, encoder: {{type: bert, model: a/b, dim: 2}}, itemFields: [{fields}], ttl: {ttl}}}"
        ))
    };
    let digests =
        [of("m: {type: noop}"), semantic("title", "90d"), semantic("title, text", "90d"), semantic("title", "9d")];
    for (place, digest) in digests.iter().enumerate() {
        assert!(!digests[..place].contains(digest), "{place}");
    }
    assert_eq!(of("m: {type: shuffle, maxPositionChange: 2}"), digests[0], "what is not stored does not matter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_lies_elsewhere_is_not_rebuilt_in_the_place_of_its_link() {
    let home = tempfile::tempdir().expect("there is room for temporary files");
    let (config, place) = in_folder(&home.path().join("home"));
    fs::rename(&place, home.path().join("elsewhere")).expect("is moved");
    std::os::unix::fs::symlink(home.path().join("elsewhere"), &place).expect("is linked");
    let told = Rebuild::begin(&config, None, None).await.err().expect("is refused").to_string();
    assert!(told.contains("symbolic link"), "{told}");
}

/// A state with a value.
async fn built() -> MemoryStore {
    let built = MemoryStore::default();
    let stored = Stored { at: Timestamp::from_millis(1), event: 1, cell: Cell::Flags(1) };
    let value = (Key::new(&Tenant::default(), Scope::Item("a".into())), Some(Entity::one(Slot(0), stored)));
    let lease = built.acquire(&Writer("w".to_owned())).await.expect("is given");
    let (from, to) = (lease.position.clone(), Position("1".to_owned()));
    let commit = Commit { from, to, writes: vec![value], ..Commit::default() };
    assert_eq!(built.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
    built
}

#[tokio::test]
async fn a_state_is_made_live_only_when_all_is_ready_and_is_removed_where_that_fails() {
    let Some(settings) = testing::server() else { return };
    let service = format!("rebuild-{:016x}", fastrand::u64(..));
    let live = RedisStore::open(settings.clone(), RedisOptions::default(), &service).await.expect("opens");
    let (built, link) = (built().await, Link::new(settings, None).expect("needs no certificates"));
    let prefix = format!("rw:{service}:");
    let names = async || {
        let mut names = link.names(&prefix).await.expect("lists");
        names.sort_unstable();
        names
    };
    let filling = live.fill_next().await.expect("begins");
    let (before, mut filled) = (names().await, 0);
    let refused = fill(&filling, &built, false, async || -> Result<()> {
        filled = names().await.len();
        bail!("what is owed is not brought")
    });
    assert!(refused.await.is_err_and(|error| error.to_string() == "what is owed is not brought"));
    assert!(filled > before.len(), "it was filled before");
    assert_eq!(names().await, before);

    let filling = live.fill_next().await.expect("begins");
    let there = async || live.imported().await.expect("answers");
    let filling = filling.named("days");
    let is_live = fill(&filling, &built, false, async || {
        assert_eq!(there().await, None, "it is not live yet");
        Ok(())
    });
    assert!(is_live.await.expect("is put in place"));
    assert_eq!(there().await.as_deref(), Some("days"));
    link.remove_all(&prefix).await.expect("is removed");
}
