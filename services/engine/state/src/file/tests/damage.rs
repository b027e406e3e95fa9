//! Journals that a crash has cut, and damaged ones.

use super::*;

/// The journal of a state with ten commits, as a process that was killed leaves it.
async fn ten_commits() -> (TempDir, PathBuf, Vec<u8>) {
    let folder = folder();
    let store = open(&folder, FileOptions::default());
    for number in 0..10 {
        put(&store, vec![(item(&format!("{number}")), clicks(1))]).await;
    }
    drop(store);
    let journal = folder.path().join("0.jnl");
    let bytes = std::fs::read(&journal).expect("is there");
    let written = bytes.iter().rposition(|&byte| byte != 0).expect("something was written") + 1;
    (folder, journal, bytes[..written].to_vec())
}

#[tokio::test]
async fn an_unfinished_commit_is_removed_and_the_others_stay() {
    let (folder, journal, bytes) = ten_commits().await;
    assert_eq!(journal::troubles(folder.path()).expect("can be read"), [], "a whole journal has no trouble");
    for cut in 1..30 {
        std::fs::write(&journal, &bytes[..bytes.len() - cut]).expect("is written");
        let troubles = journal::troubles(folder.path()).expect("can be read");
        assert!(matches!(&troubles[..], [journal::Trouble::Unfinished { .. }]), "{cut}: {troubles:?}");
    }
    let store = open(&folder, FileOptions::default());
    assert_eq!(store.stats().await.expect("has a size").entities, 9);
}

/// Whatever bit flips, or where bytes become zeros: commits that were acknowledged are there, or the state is refused.
#[tokio::test]
async fn damage_in_a_journal_never_loses_a_commit_behind_it() {
    let (folder, journal, bytes) = ten_commits().await;
    let damaged = |bytes: &[u8]| -> Result<u64, String> {
        std::fs::write(&journal, bytes).expect("is written");
        let opened = FileStore::open(folder.path(), FileOptions::default(), "shop");
        opened.map(|store| store.disk.stats().entities).map_err(|error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            source.unwrap_or_default().replace(&folder.path().display().to_string(), "STATE")
        })
    };
    let mut named = 0;
    for place in (0..bytes.len() - 1).step_by(7) {
        for bit in [0, 5] {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << bit;
            match damaged(&flipped) {
                Ok(entities) => assert_eq!(entities, 10, "bit {bit} of byte {place}"),
                Err(refused) => named += usize::from(refused.contains("STATE/0.jnl is damaged at byte ")),
            }
        }
    }
    assert!(named > 0, "some damage is what the store below would cut");
    let mut zeroed = bytes.clone();
    zeroed[bytes.len() / 2..][..100].fill(0);
    let refused = damaged(&zeroed).expect_err("is noticed");
    assert!(refused.contains("run `truncate -s ") && refused.contains("send the events again"), "{refused}");
}

/// All of a small state is in its journal: without it there is none, and none is begun in its place.
#[tokio::test]
async fn a_state_whose_journal_is_all_zeros_is_refused() {
    let (folder, journal, bytes) = ten_commits().await;
    for lost in [vec![0; bytes.len()], Vec::new()] {
        std::fs::write(&journal, lost).expect("is written");
        let troubles = journal::troubles(folder.path()).expect("can be read");
        assert_eq!(troubles, [journal::Trouble::Empty { journal: journal.clone() }]);
        let refused = refusal(&folder, "shop");
        assert!(refused.contains("neither its journal nor its tables say whose it is"), "{refused}");
    }
}

/// The store below syncs a journal before it begins the next one: what is cut or zero in front of commits is no crash.
#[tokio::test]
async fn a_journal_that_a_written_one_follows_is_whole_or_damaged() {
    let (folder, journal, bytes) = ten_commits().await;
    let next = folder.path().join("1.jnl");
    let troubles = |first: &[u8], second: &[u8]| {
        std::fs::write(&journal, first).expect("is written");
        std::fs::write(&next, second).expect("is written");
        journal::troubles(folder.path()).expect("can be read")
    };
    let reserved = [&bytes[..], &[0; 1000]].concat();
    assert_eq!(troubles(&reserved, &bytes), [], "room that is only reserved is no trouble");
    let damaged = |at| vec![journal::Trouble::Damaged { journal: journal.clone(), at, newest: false }];
    assert_eq!(troubles(&vec![0; bytes.len()], &bytes), damaged(0));
    assert_eq!(troubles(&[], &bytes), damaged(0));
    let cut = troubles(&bytes[..bytes.len() - 1], &bytes);
    assert!(matches!(&cut[..], [journal::Trouble::Damaged { at, newest: false, .. }] if *at > 0), "{cut:?}");
    let refused = refusal(&folder, "shop");
    assert!(refused.contains("STATE/0.jnl is damaged at byte ") && !refused.contains("truncate"), "{refused}");

    let cut = troubles(&bytes[..bytes.len() - 1], &[0; 1000]);
    let [journal::Trouble::Unfinished { .. }, journal::Trouble::Empty { journal: empty }] = &cut[..] else {
        panic!("a disk that was full leaves such a journal, and nothing behind it: {cut:?}");
    };
    assert_eq!(empty, &next);
}

/// What is in the tables stays; the store below would begin a journal, and count its commits from 0 again.
#[tokio::test]
async fn a_state_without_a_journal_is_refused_until_an_empty_one_says_that_its_commits_are_given_up() {
    let (folder, journal, _) = ten_commits().await;
    let store = open(&folder, FileOptions::default());
    store.disk.keyspaces(FileOptions::default()).into_iter().for_each(|(keyspace, _)| {
        keyspace.rotate_memtable_and_wait().expect("sorts what was written into a file");
    });
    drop(store);
    std::fs::remove_file(&journal).expect("is there");
    for _ in 0..2 {
        let refused = refusal(&folder, "shop");
        assert!(refused.contains("its journal is missing") && refused.contains("`touch STATE/0.jnl`"), "{refused}");
    }
    std::fs::write(&journal, "").expect("is written");
    let store = open(&folder, FileOptions::default());
    put(&store, vec![(item("0"), clicks(1)), (item("new"), clicks(1))]).await;
    drop(store);
    let store = open(&folder, FileOptions::default());
    let read = store.read(&[item("0"), item("new"), item("9")]).await.expect("reads");
    let counts: Vec<_> = read.iter().map(|entity| entity.as_deref().cloned()).collect();
    assert_eq!(counts, [clicks(2), clicks(1), clicks(1)]);
}

#[tokio::test]
async fn a_copy_of_a_state_has_a_journal_in_which_something_is() {
    let copy = folder();
    let (folder, _, _) = ten_commits().await;
    open(&folder, FileOptions::default()).write_copy(copy.path()).expect("is written");
    assert_eq!(journal::troubles(copy.path()).expect("can be read"), []);
    assert_eq!(open(&copy, FileOptions::default()).stats().await.expect("has a size").entities, 10);
}
