//! What the words and codes in field values mean: user agents, referers, local times, texts and lists of numbers.
//!
//! Pure functions over values, without state of their own: extractors call them for each ranking or candidate. The
//! data they need is compiled in from the `data` folder of this crate.

pub(crate) mod agent;
pub(crate) mod local_time;
pub(crate) mod referrer;
pub(crate) mod words;
