//! The pane room: the hosts in which sessions live, behind the port `engine::panes::PaneHost`.
//!
//! A host starts a program in a pane, types into it and shows its screen. What is typed when is the launcher's matter,
//! and what it means the fleet's: no rule about turns, and no agent, may come in here.

pub mod embedded;
pub mod herdr;
pub mod server;
pub mod talk;
pub mod tty;
pub mod wire;
