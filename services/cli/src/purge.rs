//! `purge`: a service goes from Redis and S3.

use crate::options::PurgeOptions;
use anyhow::{Result, bail};
use rankwright_assembly::{configuration, job_runtime, purge, purge_places, service};
use std::io::{BufRead, IsTerminal, Write};

/// Removes everything of a service, and says what it was.
pub(crate) fn run(options: &PurgeOptions) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    let places = purge_places(&config)?;
    if !options.yes {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            bail!("this removes {}: confirm with --yes, because this is not a terminal", places.join(", "));
        }
        confirmed(&service(), &places, &mut stdin.lock())?;
    }
    let told = job_runtime()?.block_on(purge(&config, options.take_over))?;
    Ok(told.iter().map(|line| format!("removed {line}\n")).collect())
}

/// Has the name of the service typed.
fn confirmed(service: &str, places: &[String], answers: &mut impl BufRead) -> Result<()> {
    eprint!(
        "This removes all of service '{service}': {}.\nStop its programs first. Type its name to go on: ",
        places.join(", ")
    );
    std::io::stderr().flush()?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    if answer.trim() != service {
        bail!("nothing was removed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_service_confirms() {
        let answered = |answer: &str| confirmed("shop", &[], &mut answer.as_bytes());
        assert!(answered("shop\n").is_ok());
        for answer in ["", "\n", "yes\n", "shops\n"] {
            assert_eq!(answered(answer).expect_err("refuses").to_string(), "nothing was removed");
        }
    }
}
