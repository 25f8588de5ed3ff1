//! The program: hands its words to the command line and turns what came of it into an exit code. `pane-exec` and
//! `pane-tty` go their own way before anything heavy is touched: hundreds of them may run.

use std::process::ExitCode;

use fleetd::launch::pane_exec;
use fleetd::pane::tty;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let program = words.next();
    let word = std::env::args_os().nth(1);
    if word.as_ref().is_some_and(|word| word == tty::WORD) {
        return ExitCode::from(tty::run(words.skip(1)));
    }
    if word.is_some_and(|word| word == "pane-exec") {
        return match pane_exec::Args::from_words(words.skip(1)) {
            Ok(args) => ExitCode::from(pane_exec::run(&args)),
            Err(error) => {
                eprintln!("fleetd pane-exec: {error}");
                ExitCode::from(2)
            }
        };
    }
    ExitCode::from(fleetd::cli::run(program.into_iter().chain(words)).code())
}
