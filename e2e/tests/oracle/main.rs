//! Answers of the upstream service, recorded, against ours.

mod rates;

use rankwright_e2e::{program, shared};
use std::process::Command;

#[test]
fn all_recorded_answers_agree_with_ours() {
    let Some(oracle) = shared::path("oracle") else { return };
    // the script changes its folder
    let oracle = oracle.canonicalize().expect("the folder is there");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let replay = |arguments: &[&std::ffi::OsStr]| {
        let output = Command::new("python3").arg("replay.py").args(arguments).current_dir(&oracle).output();
        let output = output.expect("python3 can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    };
    let (ours, program) = (folder.path().as_os_str(), program::path());
    let cases = oracle.join("cases");
    let (recorded, told) = replay(&["record".as_ref(), cases.as_os_str(), ours, program.as_os_str()]);
    let (agree, compared) = replay(&["compare".as_ref(), "expected".as_ref(), ours]);
    println!("{told}{compared}");
    assert!(recorded && agree, "{told}{compared}");

    // the script leaves these out, as a field that changes while a ranking is open counts otherwise
    let mut rates = 0;
    for case in std::fs::read_dir(&cases).expect("there are cases") {
        let case = case.expect("folders can be read").path();
        let answers = case.with_extension("json").file_name().expect("cases have names").to_owned();
        rates += rates::compare(&case, &oracle.join("expected").join(&answers), &folder.path().join(&answers))
            .unwrap_or_else(|differs| panic!("{}: {differs}", case.display()));
    }
    println!("{rates} values of rates over item fields agree");
    assert!(rates > 0, "no case has a rate over an item field");
}
