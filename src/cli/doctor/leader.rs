//! What in this environment and this project would take the leader off its subscription. No value is ever shown. What is
//! looked for is data (`lua/leaders.json`); what it means is decided in `subscription`.

mod place;
mod subscription;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use self::subscription::{Leader, Trap};
use super::super::look::count;
use super::ask;
use super::finding::{Check, Finding};

/// Leading agents, and what takes each off its subscription.
const LEADERS: &str = include_str!("../../../lua/leaders.json");

/// Looks at this environment, and at the settings that leaders would read in a project.
pub async fn look(dir: &Path) -> Vec<Finding> {
    let project = dir.to_path_buf();
    match ask::blocking(ask::DISK, move || traps(&project)).await {
        Some((traps, files)) => judge(traps, &files),
        None => vec![Finding::late(Check::Leader, &format!("the disk of {}", dir.display()))],
    }
}

/// Returns what was found, and which files of settings there are.
fn traps(dir: &Path) -> (Vec<Trap>, Vec<PathBuf>) {
    let leaders: Vec<Leader> = serde_json::from_str(LEADERS).expect("the table of leaders is tested");
    let environment = environment();
    let (mut traps, mut files) = (Vec::new(), Vec::new());
    for leader in &leaders {
        traps.extend(leader.in_environment(&environment));
        for file in leader.files(dir, &environment) {
            match read(&file) {
                Ok(None) => continue,
                Ok(Some(text)) => traps.extend(leader.in_settings(&file, &text)),
                Err(error) => traps.push(leader.unreadable(&file, None, &error.to_string())),
            }
            files.push(file);
        }
    }
    (traps, files)
}

fn judge(traps: Vec<Trap>, files: &[PathBuf]) -> Vec<Finding> {
    if traps.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let looked_in = count(files.len(), "settings file");
        let what = format!("nothing takes it off its subscription; looked at this environment and {looked_in}{names}");
        return vec![Finding::ok(Check::Leader, what)];
    }
    let findings = traps.into_iter().map(|trap| {
        let finding = Finding::problem(Check::Leader, format!("{}: {}", trap.place(), trap.does));
        let finding = finding.about(trap.name).fix(trap.fix);
        match trap.file {
            Some(file) => finding.at(&file, trap.line),
            None => finding,
        }
    });
    findings.collect()
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
