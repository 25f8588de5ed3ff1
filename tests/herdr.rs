//! The programs that tests start, used as tests use them:
//! as processes, in a real terminal and on a real socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is, its helpers included")]

#[path = "herdr/checks/agent.rs"]
mod agent;
#[path = "herdr/checks/house.rs"]
mod house;
#[path = "herdr/checks/replay.rs"]
mod replay;
#[path = "herdr/checks/wire.rs"]
mod wire;
