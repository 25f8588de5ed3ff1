//! The program: `pane-exec` before anything heavy, else the command line.

use std::process::ExitCode;

use fleetd::config::{self, Surroundings};
use fleetd::daemon;
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
        Some(word) if word == "serve" => {
            let mut args = config::Args::default();
            while let (Some(name), Some(value)) = (words.next(), words.next()) {
                match name.to_str() {
                    Some("--listen") => args.listen = value.into_string().ok(),
                    Some("--state") => args.state = Some(value.into()),
                    Some("--charter") => args.charter = Some(value.into()),
                    _ => return ExitCode::from(2),
                }
            }
            match serve(&args) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error:#}");
                    ExitCode::FAILURE
                }
            }
        }
        _ => ExitCode::FAILURE,
    }
}

fn serve(args: &config::Args) -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("info").init();
    let config = config::load(args, &Surroundings::of_process()?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let opened = |opened: &daemon::Opened| println!("fleetd listens on http://{}", opened.listen);
    let served = runtime.block_on(daemon::serve(config.into(), opened));
    if let Err(error) = &served
        && let Some(hint) = error.hint()
    {
        eprintln!("hint: {hint}");
    }
    Ok(served?)
}
