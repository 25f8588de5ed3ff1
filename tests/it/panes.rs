//! The pane hosts, each held against the contract (`panes/contract.rs`); what only one of them can do stands in a
//! file of its own. Everything happens to real processes in real terminals.

mod attach;
mod contract;
mod embedded;
mod herdr;
mod hostile;
mod screen;
mod server;
