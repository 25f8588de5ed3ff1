//! `fleetd demo [DIR]`: a directory inspected by a fleet of its own, and the result worth showing to a colleague.
//!
//! A daemon with its own state and port is started for it, and ended with everything below it when the demo ends, at
//! whatever moment and by whatever key. No model, no network, nothing of the user's own fleetd.

pub mod batch;
pub mod follow;
pub mod grid;
pub mod private;
pub mod report;
pub mod scratch;
pub mod shipped;
pub mod verdict;
pub mod walk;

use std::io::Write;
use std::path::PathBuf;

use self::follow::{Following, Picture};
use self::private::Private;
use self::report::Report;
use self::scratch::Scratch;
use self::verdict::Verdict;
use self::walk::{Bounds, WalkError, Walked, walk};
use super::exit::{Exit, Failure};
use super::interrupt;
use super::look::Look;
use crate::engine::requests::RunResult;
use crate::fleet::run::RunOutcome;

/// What `fleetd demo` is asked for.
#[derive(Clone, Debug, clap::Args)]
pub struct Demo {
    /// The directory to inspect
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// How many findings to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
}

impl Demo {
    /// Runs the demo and prints its report.
    pub fn run(&self, json: bool) -> Result<Exit, Failure> {
        interrupt::hold();
        let picture = Picture::new(Look::of_stderr());
        let walked = self.walk(&picture)?;
        let (report, exit) = self.inspect(walked, &picture)?;
        drop(picture);
        if interrupt::pressed() {
            return Err(Failure::Interrupted { goes_on: None });
        }
        let text = match json {
            true => format!("{:#}\n", report.json()),
            false => report.text(&Look::of_stdout()),
        };
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::io("cannot write the report", error))?;
        Ok(exit)
    }

    fn walk(&self, picture: &Picture) -> Result<Walked, Failure> {
        let walked = walk(&self.dir, Bounds::default(), |found| {
            picture.say(&format!("looking for files: {found}"));
            !interrupt::pressed()
        });
        walked.map_err(|error| match error {
            WalkError::Interrupted => Failure::Interrupted { goes_on: None },
            WalkError::Root { .. } => Failure::Other {
                message: error.to_string(),
                hints: vec!["name a directory that you can read: fleetd demo DIR".into()],
            },
        })
    }

    /// Everything that needs the scratch directory and the daemon; both are gone when this returns.
    fn inspect(&self, walked: Walked, picture: &Picture) -> Result<(Report, Exit), Failure> {
        let scratch = Scratch::new(&std::env::temp_dir())?;
        let job = scratch.lay_out(&walked, self.top)?;
        let parts = job["parts"].as_array().map_or(0, Vec::len);

        picture.say("starting a fleetd of its own");
        let mut private = Private::start(&scratch)?;
        let client = private.client()?;
        let result = Following::start(&client, job).and_then(|run| run.to_the_end(picture));
        let result = result.map_err(|failure| match failure {
            Failure::Unreachable { .. } | Failure::NotRunning(_) => private.failed("went away"),
            other => other,
        })?;
        picture.say("tidying up");
        private.close();
        report(walked, parts, result)
    }
}

fn report(walked: Walked, parts: usize, result: RunResult) -> Result<(Report, Exit), Failure> {
    let run = result.run;
    let ended = run.outcome == Some(RunOutcome::Done) || run.outcome == Some(RunOutcome::Partial);
    if !ended && result.value.is_null() {
        return Err(Failure::Other {
            message: format!("the inspection ended {}: {}", word(run.outcome), run.why.unwrap_or_default()),
            hints: Vec::new(),
        });
    }
    let verdict = Verdict::read(&result.value).map_err(|message| Failure::Other { message, hints: Vec::new() })?;
    let report = Report {
        root: walked.root.to_string_lossy().into_owned(),
        files: walked.files.len(),
        parts,
        left_out: walked.left_out,
        outcome: word(run.outcome).to_owned(),
        why: run.why,
        verdict,
        wall: run.ended.unwrap_or(run.started).since(run.started),
    };
    Ok((report, if ended { Exit::Ok } else { Exit::Failed }))
}

fn word(outcome: Option<RunOutcome>) -> &'static str {
    outcome.map_or("without an outcome", RunOutcome::word)
}
