//! `forget`: removing a visitor or an item from every store.

use crate::options::ForgetOptions;
use anyhow::Result;
use rankwright_assembly::{Engine, configuration, forget, job_runtime};
use rankwright_clickthrough::{Subject, Who};

/// Removes what the options name, and says what that was.
pub(crate) fn run(options: &ForgetOptions) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    let who = match (&options.subject.user, &options.subject.item) {
        (Some(user), _) => Who::User(user.as_str().into()),
        (None, Some(item)) => Who::Item(item.as_str().into()),
        (None, None) => unreachable!("one of them is required"),
    };
    let subject = Subject { tenant: options.tenant.as_str().into(), who };
    let runtime = job_runtime()?;
    let removed = runtime.block_on(async { forget(&Engine::open(config).await?, &subject).await })?;
    Ok(removed.iter().map(|line| format!("removed {line}\n")).collect())
}
