//! The integration tests: one binary, one module a part.
//! What several parts share is in `support`; no test stands here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is, helpers included")]

mod charter;
mod cli;
mod demo_scripts;
mod door;
mod exec;
mod kill;
mod live;
mod pane_exec;
mod store;
mod store_crash;
mod store_full;
mod store_refusals;
mod store_rows;
mod support;
mod wrong_input;
