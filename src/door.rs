//! The doors: the ways in, over one listener on this machine.
//!
//! What lives here: who is on the other end of a connection (`peer`), and the doors: REST, MCP, agent hooks. A door reads a request, asks
//! the engine and renders the answer; it decides nothing and keeps no copy of the truth.

pub mod audit;
pub mod auth;
pub mod conn;
pub mod guard;
pub mod hook;
pub mod intake;
pub mod mcp;
pub mod metrics;
pub mod peer;
pub mod refused;
pub mod rest;
pub mod schema;
pub mod server;
pub mod shared;
mod whoami;
