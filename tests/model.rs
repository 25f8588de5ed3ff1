//! The scripted model, used as tests use it: a real endpoint on loopback, asked over HTTP.
//! No agent is driven here: that is in the integration tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is, its helpers included")]

#[path = "model/checks/answers.rs"]
mod answers;
#[path = "model/checks/client.rs"]
mod client;
#[path = "model/checks/record.rs"]
mod record;
#[path = "model/checks/script.rs"]
mod script;
#[path = "model/checks/trouble.rs"]
mod trouble;
