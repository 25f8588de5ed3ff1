//! An AgentAPI server for tests, as a process: says where it listens, and serves until the program in its terminal ends.
//! What it does is in the library.

use std::process::ExitCode;

use clap::Parser;
use fleetd_agentapi::{Options, run};

fn main() -> ExitCode {
    match run(Options::parse(), |url| println!("listens on {url}")) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("agentapi-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
