//! `forget`: removing a visitor or an item from every store.

use crate::options::ForgetOptions;
use anyhow::{Result, bail};
use rankwright_assembly::{as_owner, configuration, forget, job_runtime, print};
use rankwright_clickthrough::{Subject, Who};

/// Removes what the options name, and says what that was; an error, where not all of it was.
pub(crate) fn run(options: &ForgetOptions) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    as_owner(&config)?;
    let who = match (&options.subject.user, &options.subject.item) {
        (Some(user), _) => Who::User(user.as_str().into()),
        (None, Some(item)) => Who::Item(item.as_str().into()),
        (None, None) => unreachable!("one of them is required"),
    };
    let subject = Subject { tenant: options.tenant.as_str().into(), who };
    let runtime = job_runtime()?;
    let told = runtime.block_on(forget(config, &subject))?;
    let removed: String = told.removed.iter().map(|line| format!("removed {line}\n")).collect();
    if !told.left.is_empty() {
        print(&removed)?;
        bail!("not all is forgotten; removed nothing of {}", told.left.join("; nothing of "));
    }
    Ok(removed)
}
