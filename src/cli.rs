//! The command line, one file a subcommand. What a command does lives below; here it is parsed, asked for and shown.

pub mod demo;
