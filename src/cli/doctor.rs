//! `fleetd doctor`: whether everything is there that a fleet needs here, and what to do about what is not. It starts no
//! daemon, changes nothing, shows no value of a variable or a key, and has a limit for whatever might hang.
//! Each thing that is looked at has a file: what was found are facts, and a pure function makes findings of them.

mod agents;
mod ask;
mod charter;
mod daemon;
mod endpoints;
mod finding;
mod git;
mod herdr;
mod leader;
mod state;

use std::path::{Path, PathBuf};

use clap::Args;
use console::Style;
use serde::Serialize;

use self::finding::{Check, Finding, Level};
use super::exit::{Exit, Failure, shown};
use super::look::{Look, count, safe, wrap};
use super::terminal::Terminal;
use crate::config::{self, Config, ConfigError, Surroundings};

pub const EXAMPLES: &str = "\
Examples:
  fleetd doctor
  fleetd doctor ~/project && cd ~/project && fleetd serve
  fleetd doctor --json | jq '.findings[] | select(.level == \"problem\")'

The exit code is 1 when there is a problem; warnings and notes leave it at 0.";

/// What `doctor` is told.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Where fleetd and the leader are started: the project
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The configuration [default: the one that `fleetd serve` would take in DIR]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The directory of the charter, instead of the configured one
    #[arg(long, value_name = "DIR")]
    charter: Option<PathBuf>,
}

/// What came of it all.
#[derive(Debug, Serialize)]
struct Report {
    /// Whether nothing is a problem.
    ok: bool,
    /// In a fixed order of what was looked at.
    findings: Vec<Finding>,
}

/// Looks at everything, and tells each finding with its fix.
pub fn run(terminal: &Terminal, args: &DoctorArgs) -> Result<Exit, Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::Usage(format!("there is no directory {}: name the leader's project", args.dir.display())));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot look at several things at once", error))?;
    let findings = runtime.block_on(look(terminal, args));
    // Whoever is late is not waited for.
    runtime.shutdown_background();
    let findings = findings?;
    let report = Report { ok: findings.iter().all(|finding| finding.level < Level::Problem), findings };
    let told = match terminal.json {
        true => terminal.print_json(&report),
        false => terminal.print(&draw(&report, &terminal.out)),
    };
    shown(told, if report.ok { Exit::Ok } else { Exit::Failed })
}

async fn look(terminal: &Terminal, args: &DoctorArgs) -> Result<Vec<Finding>, Failure> {
    let here = Surroundings::of_process()?;
    let dir = if args.dir == Path::new(".") { here.cwd.clone() } else { here.cwd.join(&args.dir) };
    // A worker is told where its own fleet is; whoever names another one means that.
    let state = terminal.state.clone().or_else(|| std::env::var_os("FLEET_STATE").map(PathBuf::from));
    let told = config::Args {
        // What is named is named from here, wherever the project is.
        config: args.config.as_ref().map(|file| here.cwd.join(file)),
        charter: args.charter.as_ref().map(|charter| here.cwd.join(charter)),
        state: state.map(|state| here.cwd.join(state)),
        listen: None,
    };
    let around = Surroundings { cwd: dir.clone(), ..here };
    let state = around.state_dir(told.state.as_deref())?;
    let loaded = ask::blocking(ask::DISK, move || config::load(&told, &around)).await;
    let (first, config) = settings(loaded, &dir);
    let client = terminal.client();
    let runs = client.is_ok();

    let of_config = async {
        match &config {
            Some(config) => tokio::join!(charter::look(config), endpoints::look(&config.endpoints, runs)),
            None => (Vec::new(), Vec::new()),
        }
    };
    let listen = config.as_ref().map(|config| config.listen);
    let host = config.as_ref().map(|config| config.pane_host).unwrap_or_default();
    let (state, daemon, (charter, endpoints), agents, git, herdr, leader) = tokio::join!(
        state::look(&state),
        daemon::look(client, listen),
        of_config,
        agents::look(),
        git::look(&dir),
        herdr::look(host),
        leader::look(&args.dir),
    );
    let all = [vec![first], state, daemon, charter, endpoints, agents, git, vec![herdr], leader];
    Ok(all.into_iter().flatten().collect())
}

/// Judges the settings; what depends on them is not looked at where they are wrong.
fn settings(loaded: Option<Result<Config, ConfigError>>, dir: &Path) -> (Finding, Option<Config>) {
    match loaded {
        Some(Ok(config)) => match &config.file {
            Some(file) => {
                (Finding::ok(Check::Config, format!("{} is good", file.display())).at(file, None), Some(config))
            }
            None => {
                let what = format!("there is no fleetd.toml for {}: everything is a default", dir.display());
                (Finding::note(Check::Config, what).fix("fleetd init writes one to begin with"), Some(config))
            }
        },
        Some(Err(error)) => {
            let finding = Finding::problem(Check::Config, error.to_string());
            let finding = finding.fix(error.hint.unwrap_or_else(|| "correct it, then look again".into()));
            (error.file.map_or(finding.clone(), |file| finding.at(&file, error.line)), None)
        }
        None => (Finding::late(Check::Config, &format!("the disk of {}", dir.display())), None),
    }
}

fn draw(report: &Report, look: &Look) -> String {
    const INDENT: &str = "         ";
    let mut text = String::new();
    for Finding { check, level, what, fix, .. } in &report.findings {
        let style = match level {
            Level::Ok => Style::new().green(),
            Level::Note => Style::new().dim(),
            Level::Warning => Style::new().yellow(),
            Level::Problem => Style::new().red(),
        };
        let word = look.paint(style, &format!("{:<8}", level.word()));
        text.push_str(&wrap(&safe(&format!("{check}: {what}")), look.width, &format!("{word} ")));
        text.push('\n');
        if let Some(fix) = fix {
            text.push_str(&wrap(&safe(fix), look.width, &format!("{INDENT}{} ", look.arrow())));
            text.push('\n');
        }
    }
    let of = |level: Level| report.findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings, notes) = (of(Level::Problem), of(Level::Warning), of(Level::Note));
    let problems = if problems == 0 { "no problem".into() } else { count(problems, "problem") };
    text.push_str(&format!("\n{problems}, {}, {}\n", count(warnings, "warning"), count(notes, "note")));
    text
}

#[cfg(test)]
mod tests {
    use super::super::look::tests::plain;
    use super::*;

    #[test]
    fn a_person_reads_the_level_first_and_the_fix_below() {
        let findings = vec![
            Finding::ok(Check::Git, "git is 2.47.3"),
            Finding::note(Check::Daemon, "no fleetd is running for state /s").fix("fleetd serve"),
            Finding::problem(Check::Endpoint, "local: 127.0.0.1:4000 cannot be reached: Connection refused")
                .about("local")
                .fix("start the model server, or correct url in [endpoints.local] of fleetd.toml"),
        ];
        insta::assert_snapshot!(draw(&Report { ok: false, findings }, &plain(60)), @r"
        ok       git: git is 2.47.3
        note     daemon: no fleetd is running for state /s
                 → fleetd serve
        problem  endpoint: local: 127.0.0.1:4000 cannot be reached:
                 Connection refused
                 → start the model server, or correct url in
                   [endpoints.local] of fleetd.toml

        1 problem, 0 warnings, 1 note
        ");
    }

    #[test]
    fn settings_that_are_wrong_are_a_problem_at_their_line() {
        let error = ConfigError {
            file: Some("/p/fleetd.toml".into()),
            line: Some(3),
            message: "there is no setting 'x'".into(),
            hint: None,
        };
        let (finding, config) = settings(Some(Err(error)), Path::new("/p"));
        assert!(config.is_none());
        assert_eq!((finding.level, finding.line), (Level::Problem, Some(3)));
        assert_eq!(finding.what, "/p/fleetd.toml:3: there is no setting 'x'");
        assert_eq!(settings(None, Path::new("/p")).0.level, Level::Warning);
    }

    #[test]
    fn what_scripts_read_stays_as_it_is() {
        let finding = Finding::warning(Check::Git, "w").about("s").at(Path::new("f"), Some(1));
        assert_eq!(
            serde_json::to_string(&finding).expect("JSON"),
            r#"{"check":"git","level":"warning","subject":"s","what":"w","fix":null,"file":"f","line":1}"#
        );
    }
}
