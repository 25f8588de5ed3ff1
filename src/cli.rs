//! The command line, one file a subcommand. What a command does lives below; here it is parsed, asked for and shown.

pub mod client;
pub mod demo;
pub mod exit;
pub mod find;
pub mod interrupt;
pub mod look;
pub mod wire;
