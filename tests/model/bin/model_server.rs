//! A scripted model endpoint as a process: says where it listens, and serves until it is killed.
//! What it can be told to do is in the library.

use std::process::ExitCode;

use clap::Parser;
use fleetd_model::{Model, script};

/// A model endpoint on loopback whose answers are written into the prompts.
#[derive(Parser)]
#[command(after_help = script::GRAMMAR)]
struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

fn main() -> ExitCode {
    match Model::start_on(Options::parse().port) {
        Ok(model) => {
            println!("listens on {}", model.url());
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("model-server: cannot listen: {error}");
            ExitCode::FAILURE
        }
    }
}
