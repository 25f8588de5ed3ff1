//! `fleetd doctor`: what in this environment and this project would take the leader off its subscription. It needs no
//! daemon, changes nothing, and never shows a value. What it looks for is data (`lua/leaders.json`); what it means is
//! decided in `subscription`.

mod place;
mod subscription;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use self::subscription::{Finding, Leader};
use super::exit::{Exit, Failure, shown};
use super::look::{Look, count, safe, wrap};
use super::terminal::Terminal;

pub const EXAMPLES: &str = "\
Examples:
  fleetd doctor
  fleetd doctor ~/project && cd ~/project && fleetd serve";

/// Leading agents, and what takes each off its subscription.
const LEADERS: &str = include_str!("../../lua/leaders.json");

/// What `doctor` is told.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// The project in which the leader is started
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// What was found, and where it was looked.
#[derive(Debug, Serialize)]
struct Report {
    findings: Vec<Finding>,
    /// Files that are there; the environment is always looked at.
    looked_in: Vec<PathBuf>,
}

/// Looks, and tells each finding with its place and what to do about it.
pub fn run(terminal: &Terminal, args: &DoctorArgs) -> Result<Exit, Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::Usage(format!("there is no directory {}: name the leader's project", args.dir.display())));
    }
    let report = look(&args.dir);
    let exit = if report.findings.is_empty() { Exit::Ok } else { Exit::Failed };
    let told = match terminal.json {
        true => terminal.print_json(&report),
        false => terminal.print(&draw(&report, &terminal.out)),
    };
    shown(told, exit)
}

fn look(dir: &Path) -> Report {
    let leaders: Vec<Leader> = serde_json::from_str(LEADERS).expect("the table of leaders is tested");
    let environment = environment();
    let mut report = Report { findings: Vec::new(), looked_in: Vec::new() };
    for leader in &leaders {
        report.findings.extend(leader.in_environment(&environment));
        for file in leader.files(dir, &environment) {
            match read(&file) {
                Ok(None) => continue,
                Ok(Some(text)) => report.findings.extend(leader.in_settings(&file, &text)),
                Err(error) => report.findings.push(leader.unreadable(&file, None, &error.to_string())),
            }
            report.looked_in.push(file);
        }
    }
    report
}

/// The environment of whoever asks, which is the one that a leader started from here would get.
#[expect(clippy::disallowed_methods, reason = "it is looked at for names, and handed to nobody")]
fn environment() -> BTreeMap<String, String> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// Returns what stands in a file, or nothing if there is no such file.
fn read(file: &Path) -> io::Result<Option<String>> {
    match std::fs::metadata(file) {
        // A pipe would hold us up for ever.
        Ok(found) if !found.is_file() => Ok(None),
        Ok(_) => std::fs::read(file).map(|bytes| Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn draw(report: &Report, look: &Look) -> String {
    let files = count(report.looked_in.len(), "settings file");
    if report.findings.is_empty() {
        let names: String =
            report.looked_in.iter().map(|file| format!("\n  {}", safe(&file.display().to_string()))).collect();
        return format!(
            "nothing takes the leader off its subscription: looked at this environment and {files}{names}\n"
        );
    }
    let mut text = format!("{} would take the leader off its subscription\n", count(report.findings.len(), "finding"));
    for finding in &report.findings {
        text.push_str(&format!("\n{}\n", look.bold(&safe(&finding.place()))));
        for line in [&finding.does, &finding.fix] {
            text.push_str(&wrap(&safe(line), look.width, "  "));
            text.push('\n');
        }
    }
    text.push_str("\nWorkers need none of this: their endpoints stand in fleetd.toml.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_leaders_can_be_read() {
        let leaders: Vec<Leader> = serde_json::from_str(LEADERS).expect("a valid table");
        assert!(!leaders.is_empty());
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert!(read(dir.path()).expect("looked").is_none());
        assert!(read(&dir.path().join("none")).expect("looked").is_none());
        std::fs::write(dir.path().join("file"), "text").expect("written");
        assert!(read(&dir.path().join("file/below")).expect("looked").is_none());
        assert_eq!(read(&dir.path().join("file")).expect("looked").as_deref(), Some("text"));
    }
}
