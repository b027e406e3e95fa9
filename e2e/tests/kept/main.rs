//! What a release has stored is read by every later one: each leaves a sample in `e2e/kept`, from which the present
//! programs go on as it did.
//!
//! Nothing here depends on the day, as long as it is after the one when a sample was taken: rankings stay open by the time
//! of events alone, and keys come back without a time to live.

mod bucket;
mod going_on;
mod home;
mod make;
mod sample;
mod story;

use bucket::Bucket;
use going_on::gone_on;
use home::{Home, SERVICE};
use rankwright_e2e::redis::Redis;
use sample::{Place, Sample};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

/// `UPDATE_KEPT=1` makes the one of this release, once, while no other test here runs; `UPDATE_KEPT=0.1-2` one of what is stored
/// before the next release, where that has changed.
#[test]
fn each_release_has_a_sample_that_is_never_changed() {
    let own = Sample::of_this_release();
    if let Ok(wanted) = std::env::var("UPDATE_KEPT") {
        let made = if wanted == "1" { Sample::of_this_release() } else { Sample::named(&wanted) };
        assert!(!made.folder.exists(), "{} is there already, and is never changed", made.folder.display());
        make::sample(&made);
    }
    assert!(own.folder.exists(), "make {} with UPDATE_KEPT=1, see CONTRIBUTING.md", own.folder.display());
    for sample in Sample::all() {
        sample.assert_unchanged();
    }
}

#[test]
fn the_state_of_each_release_in_redis_answers_as_it_did_and_goes_on() {
    for sample in Sample::all() {
        let Some(redis) = Redis::of_its_own() else { return };
        let folder = folder();
        let home = Home::in_redis(&sample, &redis, folder.path());
        home.fill(&sample, Place::Redis);
        sample.assert_told(Place::Redis, &gone_on(&home, &sample));
    }
}

#[test]
fn the_state_of_each_release_in_a_cluster_answers_as_it_did_and_goes_on() {
    for sample in Sample::all() {
        let Some(redis) = Redis::in_a_cluster() else { return };
        let folder = folder();
        let home = Home::in_redis(&sample, &redis, folder.path());
        home.clear(); // what a test left that was killed
        home.fill(&sample, Place::Cluster);
        sample.assert_told(Place::Cluster, &gone_on(&home, &sample));
        home.clear();
        assert_eq!(redis.names(SERVICE), [""; 0], "all that a release has written is known");
    }
}

#[test]
fn the_folder_of_each_release_answers_as_it_did_and_goes_on() {
    for sample in Sample::all() {
        let folder = folder();
        let home = Home::in_a_folder(&sample, folder.path());
        home.fill(&sample, Place::Folder);
        sample.assert_told(Place::Folder, &gone_on(&home, &sample));
    }
}

#[test]
fn click_throughs_of_each_release_in_a_bucket_are_trained_on_and_are_not_taken_twice() {
    for sample in Sample::all() {
        let Some(bucket) = Bucket::own() else { return };
        let folder = folder();
        bucket.put_all(&sample.folder.join("bucket"));
        let home = Home::with_a_bucket(&sample, &bucket, folder.path());
        let (trained, kept) = (home.trained(), &sample.told()["bucket"]);
        assert_eq!(&trained["rankings"], kept, "{}: {trained}", sample.folder.display());
        home.import(&sample);
        let trained = home.trained();
        assert_eq!(&trained["rankings"], kept, "the same rankings lie in two parts now: {trained}");
    }
}
