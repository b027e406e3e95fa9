//! Files of events before they are imported: put in order of time ([`sort`](mod@sort)), checked ([`check`](mod@check)), and
//! turned into a configuration ([`propose`](mod@propose)).
//!
//! All stream: memory depends on what is kept of each id or field, not on the size of the files.

pub mod check;
mod digits;
pub mod output;
pub mod propose;
pub mod shell;
pub mod sort;

pub use digits::count;
pub use output::{Output, Target, TargetError};
