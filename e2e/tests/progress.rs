//! What `./run` says while it builds (`e2e/progress.py`).

use std::io::Write;
use std::process::{Command, Stdio};

/// What cargo wrote, with a progress bar of 100 columns and without colours; the names of files are shorter here.
const CARGO: &[u8] = b"    Blocking waiting for file lock on build directory\n   Compiling rankwright-event v0.1.0 (/r/event)\n   \
Compiling crc-fast v1.10.0\n    Building [==========>              ] 338/758: rankwright-event, crc-fast                      \r   \
Compiling rankwright-config v0.1.0 (/r/config)\n    Building [==========>              ] 339/758: rankwright-event, rankwright-config             \r\
error[E0432]: unresolved import `crate::nothing`\n --> services/engine/event/src/lib.rs:1:5\n  |\n1 | use crate::nothing;\n  |     ^^^^^^^^^^^^^^ no `nothing` in the root\n\n    \
Building [==========>              ] 346/758: aws-sdk-s3, aws-smithy-che...                   \r\
warning: build failed, waiting for other jobs to finish...\n    Building [========================>] 757/758                                                   \r    \
Finished `release` profile [optimized] target(s) in 8m 01s\n";

/// What the script prints for some bytes, at most once in this many seconds.
fn told(seconds: &str, bytes: &[u8]) -> Vec<String> {
    let mut command = Command::new("python3");
    command.args(["progress.py", seconds]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut script = command.spawn().expect("python3 is there");
    script.stdin.take().expect("is piped").write_all(bytes).expect("it reads all");
    let ended = script.wait_with_output().expect("it ends");
    assert!(ended.status.success() && ended.stdout.is_empty(), "{ended:?}");
    String::from_utf8(ended.stderr).expect("is text").lines().map(str::to_owned).collect()
}

#[test]
fn how_far_a_build_is_and_at_which_crates_is_said_beside_errors_and_warnings() {
    let expected = [
        "   338 of 758, 0.0 minutes so far: rankwright-event, crc-fast",
        "   339 of 758, 0.0 minutes so far: rankwright-event, rankwright-config",
        "error[E0432]: unresolved import `crate::nothing`",
        " --> services/engine/event/src/lib.rs:1:5",
        "  |",
        "1 | use crate::nothing;",
        "  |     ^^^^^^^^^^^^^^ no `nothing` in the root",
        "   346 of 758, 0.0 minutes so far: aws-sdk-s3, aws-smithy-che...",
        "warning: build failed, waiting for other jobs to finish...",
        "   757 of 758, 0.0 minutes so far",
    ];
    assert_eq!(told("0", CARGO), expected);
}

#[test]
fn between_two_times_errors_and_warnings_alone_are_passed_on() {
    let quiet = told("1000", CARGO);
    assert_eq!(quiet.len(), 6, "{quiet:?}");
    assert!(!quiet.iter().any(|line| line.contains("minutes so far")), "{quiet:?}");
}
