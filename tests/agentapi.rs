//! The AgentAPI server of the tests, used as tests use it: a process with a real program in its terminal, asked over HTTP.
//! Its rules have tests beside them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is, its helpers included")]

#[path = "agentapi/checks/api.rs"]
mod api;
#[path = "agentapi/checks/events.rs"]
mod events;
#[path = "agentapi/checks/habits.rs"]
mod habits;
#[path = "agentapi/checks/rig.rs"]
mod rig;
