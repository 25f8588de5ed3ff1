//! A herdr for tests: `herdr-sim server`, or `herdr-sim --session NAME server`, speaks the socket API of the real one
//! as it was recorded, warts included. What can be made to fail is said by variables (`sim/options.rs`).

use std::process::ExitCode;

use fleetd_herdr::sim;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match sim::Options::read(&args).and_then(sim::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("herdr-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
