//! Processes of panes: what runs in a session, what has the terminal, and how a session is ended.
//! Read from `/proc`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::pause;

/// How long a session may take to end after HUP, and after TERM.
const AFTER_HUP: Duration = Duration::from_millis(500);
const AFTER_TERM: Duration = Duration::from_millis(50);

struct Stat {
    state: char,
    group: u32,
    session: u32,
    foreground: i64,
}

fn stat(pid: u32) -> Option<Stat> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line).into_owned();
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        foreground: fields.get(5)?.parse().ok()?,
    })
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn living(sessions: &[u32]) -> Vec<u32> {
    let lives = |pid: &u32| stat(*pid).is_some_and(|stat| sessions.contains(&stat.session) && stat.state != 'Z');
    pids().filter(lives).collect()
}

/// Ends sessions: HUP, then TERM, then KILL. Takes half a second where HUP does not serve.
pub fn end_sessions(leaders: &[u32]) {
    for (signal, wait) in [(Signal::HUP, AFTER_HUP), (Signal::TERM, AFTER_TERM), (Signal::KILL, AFTER_TERM)] {
        for pid in living(leaders) {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let _ = kill_process(pid, signal);
            }
        }
        let end = Instant::now() + wait;
        while Instant::now() < end {
            if living(leaders).is_empty() {
                return;
            }
            pause(Duration::from_millis(3));
        }
    }
}

/// Returns the directory of what has the terminal of this session, or of its leader.
pub fn foreground_cwd(leader: u32) -> Option<PathBuf> {
    let foreground = stat(leader).and_then(|stat| u32::try_from(stat.foreground).ok()).unwrap_or(leader);
    fs::read_link(format!("/proc/{foreground}/cwd")).or_else(|_| fs::read_link(format!("/proc/{leader}/cwd"))).ok()
}

/// Returns what `pane.process_info` tells.
pub fn info(pane_id: &str, leader: u32) -> Value {
    let group = stat(leader).and_then(|stat| u32::try_from(stat.foreground).ok()).unwrap_or(leader);
    let in_group = |pid: &u32| stat(*pid).is_some_and(|stat| stat.group == group && stat.session == leader);
    let mut found: Vec<u32> = pids().filter(in_group).collect();
    found.sort_unstable();
    let processes: Vec<Value> = found.into_iter().filter_map(process).collect();
    json!({
        "pane_id": pane_id, "shell_pid": leader, "foreground_process_group_id": group,
        "foreground_processes": processes,
    })
}

fn process(pid: u32) -> Option<Value> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let argv: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    Some(json!({"pid": pid, "name": name.trim_end(), "argv": argv, "cmdline": argv.join(" "), "cwd": cwd}))
}
