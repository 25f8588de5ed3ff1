//! Temporary entry of the launch branch: only `pane-exec` until the command line lands.

use std::process::ExitCode;

use fleetd::launch::pane_exec::{Args, run};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == "pane-exec" => match Args::from_words(words) {
            Ok(args) => ExitCode::from(run(&args)),
            Err(error) => {
                eprintln!("fleetd pane-exec: {error}");
                ExitCode::from(2)
            }
        },
        _ => ExitCode::FAILURE,
    }
}
