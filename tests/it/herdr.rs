//! A herdr beside a daemon: the simulator, which copies the recorded habits of the real one, as a process in the home
//! of a house. What the client of fleetd must do with one is tested in `panes/herdr`, with servers of its own.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{House, until};

/// A herdr in the home of a house; its panes end with it.
pub struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    pub fn start(house: &House) -> Server {
        Server::start_as(house, "0.8.0")
    }

    /// Starts one of this version.
    pub fn start_as(house: &House, version: &str) -> Server {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("herdr-sim");
        assert!(program.exists(), "build it with the tests: cargo nextest run");
        let mut command = Command::new(program);
        command.arg("server").env_clear().env("HOME", house.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("SHELL", "/bin/sh").env("HERDR_SIM_SAVE_MS", "50").env("HERDR_SIM_VERSION", version);
        command.current_dir(house.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let socket = house.path().join(".config/herdr/herdr.sock");
        until("herdr listens", || UnixStream::connect(&socket).ok());
        Server { child, socket }
    }

    /// Asks it, as any client of it can; nothing where the answer breaks off.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        writeln!(stream, "{}", json!({ "id": "t", "method": method, "params": params })).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// Kills it as a crash would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
