//! How the boosters' threads wait for each other.
//!
//! The OpenMP runtime lets a thread that waits spin for milliseconds, in the hope that the others are about to be done.
//! On a machine with other work, in a container with less than its cores, or in a server that answers requests
//! meanwhile, the one they wait for is not even running, and training takes five times as long (measured on two
//! cores: 111 s against 20 s at a load of 13). Where they sleep at once, an idle machine spends a third of a training
//! on waking them, as a tree takes hundreds of short parallel steps (5.8 s against 3.7 s). So they spin for about as
//! long as such a step takes, and then sleep.

use std::{env, io};

/// What the runtime reads before a program starts; there is no call for it.
const POLICY: &str = "OMP_WAIT_POLICY";
/// The finer setting of the GNU runtime: how often a thread looks before it sleeps.
const SPINS: &str = "GOMP_SPINCOUNT";
/// About a tenth of a millisecond.
const PATIENCE: &str = "10000";

/// Starts this program again, in its own place (same process, same arguments), with waiting threads that fall asleep soon.
///
/// To be called first thing in `main` by a program that trains. Does nothing where the environment decides already, as
/// it does the second time, and goes on as it is where a program cannot be replaced.
pub fn restart_with_patient_threads() {
    if [POLICY, SPINS].iter().all(|name| env::var_os(name).is_none_or(|value| value.is_empty())) {
        let failure = replaced();
        tracing::debug!(%failure, "training threads will spin while they wait");
    }
}

/// Returns only when it fails.
#[cfg(unix)]
fn replaced() -> io::Error {
    use std::{os::unix::process::CommandExt, process::Command};
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_default();
    match env::current_exe() {
        Ok(program) => {
            Command::new(program).arg0(name).args(arguments).env(POLICY, "passive").env(SPINS, PATIENCE).exec()
        }
        Err(error) => error,
    }
}

#[cfg(not(unix))]
fn replaced() -> io::Error {
    io::ErrorKind::Unsupported.into()
}
