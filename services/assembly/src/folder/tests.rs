#![allow(clippy::expect_used)]

use super::owner::{Owner, groups, of_another};
use super::rights::{each_below, handed_over, ungrouped};
use super::*;
use rankwright_config::state::Format;
use rankwright_state::{Commit, Outcome, Position, Store, Writer};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

fn home() -> (tempfile::TempDir, PathBuf, FileState) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (path, file) = (folder.path().join("home/state"), file(&folder.path().join("home")));
    (folder, path, file)
}

fn file(path: &Path) -> FileState {
    FileState { path: path.to_owned(), format: Format::Binary }
}

async fn goes_on(store: &FileStore) -> u64 {
    let lease = store.acquire(&Writer("w".to_owned())).await.expect("acquires");
    let before = lease.position.0.parse().unwrap_or(0_u64);
    let (from, to) = (lease.position.clone(), Position((before + 1).to_string()));
    assert_eq!(
        store.commit(&lease, Commit { from, to, ..Commit::default() }).await.expect("commits"),
        Outcome::Applied
    );
    before + 1
}

/// Marks the end of a thread, also where it panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens a state; while another thread has it, tries again, and leaves others time.
fn opened(path: &Path, file: &FileState) -> FileStore {
    let began = Instant::now();
    loop {
        match open(path, file) {
            Ok(store) => return store,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(120), "{error:#}"),
        }
        std::thread::sleep(PAUSE * 5);
    }
}

/// Otherwise its commits would go into files that are no longer read.
#[test]
fn nothing_is_lost_of_who_opens_a_state_while_others_rewrite_it_and_look_at_it() {
    const TURNS: u64 = 5;
    let (_folder, path, file) = home();
    drop(open(&path, &file).expect("is made"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                assert!(existing(&path, &file).map_or(true, |found| found.is_some()), "the state is always there");
                std::thread::sleep(PAUSE * 5);
            }
        });
        let rewriting = scope.spawn(|| {
            for _ in 0..TURNS {
                super::rewrite(&path, opened(&path, &file)).expect("is rewritten");
                std::thread::sleep(PAUSE * 5);
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("starts");
        for count in 1..=TURNS {
            assert_eq!(runtime.block_on(goes_on(&opened(&path, &file))), count);
            std::thread::sleep(PAUSE * 5);
        }
        rewriting.join().expect("ends");
    });
    assert_eq!(
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("starts")
            .block_on(goes_on(&open(&path, &file).expect("opens"))),
        TURNS + 1
    );
    let listed = fs::read_dir(parent(&path)).expect("is there").map(|file| file.expect("is listed").file_name());
    assert_eq!(listed.collect::<std::collections::BTreeSet<_>>(), ["state"].map(Into::into).into());
}

#[tokio::test]
async fn what_was_killed_between_two_steps_is_undone() {
    let (_folder, path, file) = home();
    goes_on(&open(&path, &file).expect("is made")).await;
    fs::rename(&path, replaced(&path)).expect("is moved");
    let told = existing(&path, &file).err().expect("it is no state to look at").to_string();
    assert!(told.contains("a process ended while it replaced the state"), "{told}");
    fs::create_dir(copy_of(&path)).expect("is made");
    assert_eq!(goes_on(&open(&path, &file).expect("is undone")).await, 2);
    assert!(!replaced(&path).exists() && !copy_of(&path).exists());
    fs::create_dir(replaced(&path)).expect("is made");
    assert!(existing(&path, &file).expect("is whole").is_some());
    assert_eq!(goes_on(&open(&path, &file).expect("opens")).await, 3);
    assert!(!replaced(&path).exists());
}

#[test]
fn a_state_that_lies_elsewhere_is_not_rewritten_in_the_place_of_its_link() {
    let (folder, path, file) = home();
    drop(open(&path, &file).expect("is made"));
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).expect("is moved");
    std::os::unix::fs::symlink(&elsewhere, &path).expect("is linked");
    let told = rewrite(&path, open(&path, &file).expect("opens")).expect_err("is refused").to_string();
    assert!(told.contains("symbolic link"), "{told}");
    assert!(elsewhere.join("version").exists() && open(&path, &file).is_ok());
}

/// Who may do what with each file of a state, and whether it is a folder.
fn rights(path: &Path) -> Vec<(bool, u32, (u32, u32))> {
    let mut found = Vec::new();
    each_below(path, &mut |path, _, own| {
        let private = own.is_file() && own.mode() & 0o077 == 0; // which the store keeps to its owner by itself
        let mode = if private { 0 } else { own.mode() & 0o7777 };
        assert!(!path.ends_with("version") || own.len() > 0);
        found.push((own.is_dir(), mode, (own.uid(), own.gid())));
        Ok(())
    })
    .expect("can be looked at");
    found
}

#[test]
fn a_state_that_is_replaced_keeps_its_rights() {
    use std::os::unix::fs::{PermissionsExt, fchown};
    let (_folder, path, file) = home();
    for how in ["rewritten", "rebuilt"] {
        drop(open(&path, &file).expect("is made"));
        let (user, group) = rights(&path)[0].2;
        let group = if user == 0 { 4712 } else { group };
        each_below(&path, &mut |_, file, own| {
            fchown(file, None, Some(group))?; // who is root may choose any
            file.set_permissions(fs::Permissions::from_mode(if own.is_dir() { 0o2750 } else { 0o640 }))
        })
        .expect("they are ours");
        match how {
            "rebuilt" => {
                let built = path.with_extension("built");
                drop(open(&built, &file).expect("is made"));
                replace(&path, &built, open(&path, &file).expect("opens")).expect("is replaced");
            }
            _ => rewrite(&path, open(&path, &file).expect("opens")).expect("is rewritten"),
        }
        let found = rights(&path);
        assert!(found.len() > 4, "{found:?}");
        for (is_folder, mode, of) in found {
            assert_eq!(of, (user, group), "{how}");
            assert!(if is_folder { mode == 0o2750 } else { [0, 0o640].contains(&mode) }, "{how}: {mode:o}");
        }
        fs::remove_dir_all(&path).expect("is removed");
    }
}

#[test]
fn what_lies_elsewhere_does_not_get_the_rights_of_a_state_that_links_to_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (folder, path, file) = home();
    drop(open(&path, &file).expect("is made"));
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("is made");
    fs::write(elsewhere.join("secret"), "").expect("is written");
    fs::write(elsewhere.join("third"), "").expect("is written");
    let looked_at = || fs::metadata(elsewhere.join("third")).map(|own| own.mode()).expect("is there");
    let (before, of_third) = (rights(&elsewhere), looked_at());
    symlink(&elsewhere, path.join("folder")).expect("is linked");
    symlink(elsewhere.join("secret"), path.join("file")).expect("is linked");
    let like = folder.path().join("like");
    fs::create_dir(&like).expect("is made");
    fs::write(like.join("version"), "").expect("is written");
    for path in [&like, &like.join("version")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o751)).expect("it is ours");
    }
    fs::hard_link(elsewhere.join("third"), path.join("third")).expect("is linked");
    handed_over(&path, &like).expect("is handed over");
    assert_eq!(rights(&path)[0].1, 0o751);
    assert_eq!(looked_at(), of_third);
    fs::remove_file(path.join("third")).expect("is removed");
    assert_eq!(rights(&elsewhere), before);
}

/// Who is not root cannot make this.
#[test]
fn a_folder_is_its_owners_who_are_not_root_and_his_who_laid_the_link_to_it() {
    use std::os::unix::fs::{chown, lchown, symlink};
    let (folder, path, file) = home();
    drop(open(&path, &file).expect("is made"));
    if fs::metadata(&path).expect("is there").uid() != 0 {
        let own = fs::metadata(&path).expect("is there");
        assert_eq!(of_another(path.clone()), Some((path, Owner { uid: own.uid(), gid: own.gid() })));
        return;
    }
    let linked = folder.path().join("linked");
    symlink(&path, &linked).expect("is linked");
    assert_eq!([&path, &linked].map(|path| of_another(path.clone())), [None, None]);
    lchown(&linked, Some(4713), Some(4714)).expect("who is root may");
    assert_eq!(of_another(linked.clone()), Some((linked.clone(), Owner { uid: 4713, gid: 4714 })));
    lchown(&linked, Some(0), Some(0)).expect("who is root may");
    chown(&path, Some(4711), Some(4712)).expect("who is root may");
    for folder in [&path, &linked] {
        assert_eq!(of_another(folder.clone()), Some((folder.clone(), Owner { uid: 4711, gid: 4712 })));
    }
    assert_eq!(of_another(folder.path().join("of nobody")), None);
    fs::create_dir(folder.path().join("new")).expect("is made");
    let told = handed_over(&folder.path().join("new"), &path).expect_err("they could not use it").to_string();
    assert!(told.contains("belongs to user 4711"), "{told}");
}

#[test]
fn who_is_in_another_group_now_may_do_no_more_than_before() {
    for (mode, expected) in
        [(0o755, 0o755), (0o2750, 0o2700), (0o664, 0o644), (0o604, 0o600), (0o640, 0o600), (0o600, 0o600)]
    {
        assert_eq!(ungrouped(mode), expected, "{mode:o}");
    }
}

#[test]
fn whose_groups_are_known_has_these() {
    let passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\nalice:x:1000:1001:Alice,,,:/home/alice:/bin/sh\n+::::::\n";
    let group = "root:x:0:\nalice:x:1001:alice\nadm:x:4:syslog,alice\nwww:x:33:malice,alice2\nbroken\nothers:x:no:alice\nsearch:x:44:alice\n";
    assert_eq!(groups(1000, passwd, group), Some(vec![1001, 4, 44]));
    assert_eq!(groups(0, passwd, ""), Some(vec![0]));
    assert_eq!(groups(1001, passwd, group), None);
    assert_eq!(groups(1000, "", group), None);
}

#[tokio::test]
async fn the_former_state_stays_as_long_as_the_new_one_does_not_open() {
    let (_folder, path, file) = home();
    goes_on(&open(&path, &file).expect("is made")).await;
    fs::rename(&path, replaced(&path)).expect("is moved");
    fs::create_dir(&path).expect("is made");
    fs::write(path.join("version"), "of a disk that lost its power").expect("is written");
    let told = format!("{:#}", open(&path, &file).err().expect("it is no state"));
    assert!(told.contains(&format!("the one before it is {}", replaced(&path).display())), "{told}");
    fs::remove_dir_all(&path).expect("is removed");
    assert_eq!(goes_on(&open(&path, &file).expect("is undone")).await, 2);
}

#[test]
fn what_does_not_take_its_place_is_not_left_beside_a_state() {
    let (_folder, path, file) = home();
    drop(open(&path, &file).expect("is made"));
    let store = open(&path, &file).expect("opens");
    fs::write(replaced(&path), "in the way").expect("is written");
    let told = format!("{:#}", rewrite(&path, store).expect_err("nothing can be moved there"));
    assert!(told.contains("failed to move"), "{told}");
    assert!(!copy_of(&path).exists());
    fs::remove_file(replaced(&path)).expect("is removed");
    assert!(open(&path, &file).is_ok());
}

#[test]
fn looking_at_a_state_makes_nothing() {
    let (folder, path, file) = home();
    assert!(existing(&path, &file).expect("there is none").is_none());
    assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 0);
    drop(open(&path, &file).expect("is made"));
    drop(existing(&path, &file).expect("opens").expect("is there"));
    assert_eq!(fs::read_dir(parent(&path)).expect("is there").count(), 1, "the state alone");
}
