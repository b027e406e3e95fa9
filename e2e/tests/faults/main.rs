//! Whatever fails, nothing is lost and nothing counts twice: each test runs the programs over real servers, has something
//! fail again and again, and compares what comes of it with what one process makes of the same events undisturbed: the
//! state byte for byte, the click-throughs with interactions and labels.
//!
//! `RANKWRIGHT_TEST_LONG=1` has more of it, `RANKWRIGHT_TEST_SEED` repeats a run.

mod failover;
mod live;
mod names;
mod order;
mod parts;
mod proxied;
mod ranking;
mod redo;
mod rows;
mod servers;
mod trial;
mod workers;
