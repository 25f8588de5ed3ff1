//! An agent program for tests: a composer at the bottom of its terminal, a transcript above, and every bad habit that
//! was seen on real ones, each behind a flag of its own (`--help`).

use std::process::ExitCode;

use clap::Parser;
use fleetd_herdr::agent::{self, Options};

fn main() -> ExitCode {
    match agent::run(&Options::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("test-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
