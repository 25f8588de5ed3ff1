//! A daemon to measure: private state, private charter, a free port.
//! It is the built program, talked to over HTTP like any other; nothing of its inside is called from here.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const TEAM: &str = r#"
fleet.profile("signal", { launcher = "exec", command = { "sh", "-c", "echo > \"$FIFO\"" }, env = { FIFO = "FIFOPATH" } })
fleet.profile("true", { launcher = "exec", command = { "true" } })
fleet.profile("sleep", { launcher = "exec", command = { "sleep", "600" } })
fleet.role("w-signal", { profiles = { "signal" }, max_busy = 4, max_waiting = 100 })
fleet.role("w-true", { profiles = { "true" }, max_busy = 4, max_waiting = 100 })
fleet.role("w-sleep", { profiles = { "sleep" }, max_busy = 1, max_waiting = 200000 })
fleet.route("bulk", function(task, team)
  if task.kind == "bulk" and team.roles["w-true"].free > 0 then
    return { role = "w-true", because = "bulk work and a worker is free" }
  end
end)
fleet.route("otherwise", function() return { role = "w-signal", because = "no rubric said otherwise" } end)
"#;

/// A running daemon, ended when dropped.
pub struct Daemon {
    serving: Serving,
    pub dir: TempDir,
    pub url: String,
    /// From exec to the line that says it listens.
    pub ready: Duration,
}

impl Daemon {
    /// Starts one.
    pub fn start() -> Daemon {
        let dir = TempDir::new().expect("a directory");
        let charter = dir.path().join("charter");
        std::fs::create_dir(&charter).expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("a fifo");
        let team = TEAM.replace("FIFOPATH", fifo.to_str().expect("plain"));
        std::fs::write(charter.join("team.lua"), team).expect("a charter");
        let serving = Serving::start(dir.path());
        Daemon { url: serving.url.clone(), ready: serving.ready, serving, dir }
    }

    /// Returns its resident memory in MB.
    pub fn resident(&self) -> f64 {
        self.serving.resident()
    }

    /// Returns the processor time that it took so far.
    pub fn processor_time(&self) -> Duration {
        processor_time(self.serving.child.id())
    }
}

/// The process of a daemon, ended when dropped: charter, state and settings lie in one directory.
pub struct Serving {
    child: Child,
    state: PathBuf,
    pub url: String,
    /// From exec to the line that says it listens.
    pub ready: Duration,
}

impl Serving {
    /// Starts a daemon on the directory `charter` of this one.
    pub fn start(dir: &Path) -> Serving {
        let begun = Instant::now();
        let state = dir.join("state");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fleetd"))
            .args(["serve", "--listen", "127.0.0.1:0", "--state"])
            .arg(&state)
            .arg("--charter")
            .arg(dir.join("charter"))
            .current_dir(dir)
            .env("FLEETD_LOG", "error")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the daemon starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listens on ")?.1.split_whitespace().next()?.to_string()))
            .expect("it says where it listens");
        Serving { child, state, url, ready: begun.elapsed() }
    }

    /// Returns its resident memory in MB.
    pub fn resident(&self) -> f64 {
        resident(self.child.id())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).expect("a pid");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
        // Sessions outlive their daemon, as they should: they end with the pane server.
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let state = self.state.display().to_string();
        for pid in pids {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            if words.get(1) == Some(&b"panes".as_slice()) && words.contains(&state.as_bytes()) {
                let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
        }
    }
}

/// Returns the resident memory of a process in MB.
pub fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("every process has it");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).expect("a number") / 1024.0
}

/// Returns the processor time that a process took so far, to a hundredth of a second.
pub fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The sleeping worker would outlive the daemon, as it should.
        let stop = r#"{"worker":"w-sleep-1","kill":true}"#;
        crate::http::Connection::open(&self.url).post("/v1/stop", stop);
    }
}
