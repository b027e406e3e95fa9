//! Files of events before they are imported: put in order of time ([`sort`](mod@sort)), and checked ([`check`](mod@check)).
//!
//! Both stream: memory depends on what is kept of each id, not on the size of the files.

pub mod check;
pub mod output;
pub mod sort;

pub use output::{Output, Target, TargetError};
