//! What every program needs first.

use crate::closing::StillOpen;
use crate::log::{complain, flush_log};
use anyhow::Context;
use std::io::Write;
use std::process::ExitCode;
use tokio::runtime::Runtime;

/// Exit code of a process that SIGTERM ended.
pub const TERMINATED: i32 = 128 + 15;

/// A thread for each core: they wait for connections, requests and answers, and compute requests of usual size.
///
/// # Errors
/// When the system has no room for them.
pub fn runtime() -> std::io::Result<Runtime> {
    crate::log::write_aside(); // a process that becomes another user before has one thread
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Prints what was asked for. Who reads it may have seen enough.
///
/// # Errors
/// When standard output takes it for another reason not.
pub fn print(text: &str) -> anyhow::Result<()> {
    flush_log(); // a terminal shows it behind what was logged before
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output is closed, or full")
        }
        _ => Ok(()),
    }
}

/// How a program ends; an error is told in one line.
pub fn exit(outcome: anyhow::Result<()>) -> ExitCode {
    flush_log();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {}", chain(&error)));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// Exit code of a program that failed: 75 where a server was away, and trying again later may help without anybody
/// changing a setting (`EX_TEMPFAIL` of `sysexits.h`), else 1.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if passes(error) { 75 } else { 1 }
}

/// Whether trying again later may help without anybody changing a setting.
pub(crate) fn passes(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<StillOpen>())
        || of_stores(error).any(|(redis, object)| {
            redis.is_some_and(|error| error.problem.passes()) || object.is_some_and(|error| error.problem.passes())
        })
}

/// Whether a store refuses until a person changes a setting or a right.
pub(crate) fn is_refused(error: &anyhow::Error) -> bool {
    of_stores(error).any(|(redis, object)| {
        redis.is_some_and(|error| error.problem.stays()) || object.is_some_and(|error| error.problem.stays())
    })
}

/// What stores say among the causes.
fn of_stores(
    error: &anyhow::Error,
) -> impl Iterator<Item = (Option<&rankwright_redis::Error>, Option<&rankwright_object::Error>)> {
    error.chain().map(|cause| {
        let (redis, object) = (cause.downcast_ref(), cause.downcast_ref());
        if let Some(rankwright_model::StoreError::Redis(error)) = cause.downcast_ref() {
            return (Some(error), object);
        }
        match cause.downcast_ref::<rankwright_clickthrough::Error>() {
            Some(rankwright_clickthrough::Error::Redis(error)) => (Some(error), object),
            Some(rankwright_clickthrough::Error::Object(error)) => (redis, Some(error)),
            _ => (redis, object),
        }
    })
}

/// As [`runtime`], of a program that does one thing. It ends when it is told to: the system sees to that for any process but
/// the first one of a container.
///
/// # Errors
/// When the system has no room for its threads.
pub fn job_runtime() -> std::io::Result<Runtime> {
    let runtime = runtime()?;
    if std::process::id() == 1 {
        runtime.spawn(async {
            rankwright_serve::server::stop_signal().await;
            leave(TERMINATED);
        });
    }
    Ok(runtime)
}

/// Lets all other threads go first: this one, and those that it begins, get what time of the processors is left. Where the
/// system does not allow it, nothing changes.
pub fn give_way() {
    const LAST: i32 = 19;
    let _as_it_was = rustix::process::nice(LAST); // Linux takes it as of one thread
}

/// Ends the process at once, with this exit code, once the log is written; what is in other buffers of this program is lost.
///
/// `std::process::exit` runs what libraries have registered for the end of a process. Those of the boosters and of OpenMP take
/// away what the threads of a training still use: one in fifteen trainings that were told to stop ended with a fault of memory.
#[allow(unsafe_code)]
pub fn leave(code: i32) -> ! {
    flush_log();
    // SAFETY: it has no conditions, and touches nothing of this process
    unsafe { libc::_exit(code) }
}

/// An error and its causes in one line, each cause once.
pub fn chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_object::{Action, Problem};

    #[test]
    fn a_service_that_is_busy_does_not_refuse_until_somebody_changes_something() {
        let of = |problem| {
            let error = rankwright_object::Error { place: "s3://b/p".to_owned(), action: Action::Put, problem };
            anyhow::Error::from(rankwright_clickthrough::Error::Object(error)).context("click-throughs wait")
        };
        let busy = |status| Problem::Refused { status, code: "SlowDown".to_owned(), message: String::new() };
        let denied = || Problem::Denied { permission: "s3:PutObject" };
        let timed_out = || Problem::TimedOut { endpoint: "here".to_owned() };
        assert_eq!([busy(503), denied(), timed_out()].map(|problem| is_refused(&of(problem))), [false, true, false]);
        assert_eq!([busy(503), denied(), timed_out()].map(|problem| passes(&of(problem))), [true, false, true]);
        assert_eq!(
            [busy(429), busy(500), busy(501), busy(400)].map(|of_it| passes(&of(of_it))),
            [true, true, false, false]
        );
        let slow = rankwright_redis::Error { place: "here".to_owned(), problem: rankwright_redis::Problem::Slow };
        let models = anyhow::Error::from(rankwright_model::StoreError::from(slow)).context("failed to publish");
        assert_eq!(exit_code(&models), 75, "of the store of models as well");
        let login = rankwright_redis::Problem::Login("no".to_owned());
        let redis = |problem| anyhow::Error::from(rankwright_redis::Error { place: "here".to_owned(), problem });
        assert!(is_refused(&redis(login)) && !is_refused(&redis(rankwright_redis::Problem::Slow)));
    }
}
