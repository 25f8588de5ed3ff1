//! Where the daemon is: told by `--url`, or read from the file that it writes into its state directory. Nothing is
//! ever searched for on the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::exit::Failure;
use crate::config::Surroundings;
use crate::process::ProcessId;

/// The file in the state directory in which a running daemon tells its address.
pub const DAEMON_FILE: &str = "daemon.json";

/// What a running daemon writes into its state directory.
#[derive(Clone, Debug, Deserialize)]
pub struct Running {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// Its pid.
    pub pid: u32,
    /// When that process started, where the system tells it.
    #[serde(default)]
    pub start: Option<u64>,
}

impl Running {
    /// Tells whether the daemon that wrote this still runs. A killed one leaves the file behind, and its port may by
    /// now be another program's. Where processes have no start time, only talking to it shows it.
    fn lives(&self) -> bool {
        self.start.is_none_or(|start_time| ProcessId { pid: self.pid, start_time }.is_alive())
    }
}

/// Where a daemon is reached, and how that is known.
#[derive(Clone, Debug)]
pub struct Place {
    /// `http://ADDRESS`, without a slash at the end.
    pub url: String,
    from: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Told,
    State(PathBuf),
}

impl Place {
    /// Finds the daemon: the address that was told, else the one in the state directory.
    pub fn find(url: Option<&str>, state: Option<&Path>) -> Result<Place, Failure> {
        match url {
            Some(url) => Ok(Place { url: http(url)?, from: Source::Told }),
            None => Place::of_state(Surroundings::of_process()?.state_dir(state)?),
        }
    }

    /// Looks again, for a daemon that was started anew on another port.
    pub fn again(&self) -> Result<Place, Failure> {
        match &self.from {
            Source::Told => Ok(self.clone()),
            Source::State(state) => Place::of_state(state.clone()),
        }
    }

    /// Returns the failure to tell when nobody listens there.
    pub fn nobody(&self) -> Failure {
        match &self.from {
            Source::Told => Failure::Unreachable { url: self.url.clone(), why: "nobody listens there".into() },
            Source::State(state) => Failure::NotRunning(state.clone()),
        }
    }

    fn of_state(state: PathBuf) -> Result<Place, Failure> {
        let file = state.join(DAEMON_FILE);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Failure::NotRunning(state)),
            Err(error) => return Err(Failure::io(format!("cannot read {}", file.display()), error)),
        };
        let running: Running = serde_json::from_str(&text).map_err(|error| Failure::Other {
            message: format!("cannot read {}: {error}", file.display()),
            hints: vec!["fleetd writes it anew at its start: fleetd serve".into()],
        })?;
        if !running.lives() {
            return Err(Failure::NotRunning(state));
        }
        Ok(Place { url: format!("http://{}", reachable(running.listen)), from: Source::State(state) })
    }
}

/// Returns an address that can be connected to: one that listens everywhere is reached on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

fn http(url: &str) -> Result<String, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("--url '{url}': {why}; write for example http://127.0.0.1:7717"));
    let address = match url.split_once("://") {
        Some(("http", address)) => address,
        Some(("https", _)) => return Err(wrong("the command line speaks no TLS")),
        Some(_) => return Err(wrong("this is no http address")),
        // Without a scheme and a port it is more likely a slip than an address.
        None if !url.contains(':') => return Err(wrong("it has neither http:// nor a port")),
        None => url,
    };
    let address = address.trim_end_matches('/');
    match address.is_empty() || address.contains(|c: char| c.is_whitespace() || "/?#@".contains(c)) {
        true => Err(wrong("this is no address of a daemon")),
        false => Ok(format!("http://{address}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_and_without_its_scheme() {
        assert_eq!(http("http://127.0.0.1:7717/").expect("valid"), "http://127.0.0.1:7717");
        assert_eq!(http("localhost:7717").expect("valid"), "http://localhost:7717");
        for wrong in ["foo", "https://127.0.0.1", "ftp://x", "", "http://", "http://a/b", "a b"] {
            assert!(http(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_daemon_that_listens_everywhere_is_reached_on_loopback() {
        let reach = |listen: &str| reachable(listen.parse().expect("an address")).to_string();
        assert_eq!(reach("0.0.0.0:7717"), "127.0.0.1:7717");
        assert_eq!(reach("[::]:7717"), "[::1]:7717");
        assert_eq!(reach("127.0.0.1:1"), "127.0.0.1:1");
    }

    #[test]
    fn a_dead_daemons_file_leads_nowhere() {
        let me = ProcessId::current().expect("a process");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let find = |start: u64| {
            let text = format!(r#"{{"pid":{},"start":{start},"listen":"127.0.0.1:9"}}"#, me.pid);
            std::fs::write(dir.path().join(DAEMON_FILE), text).expect("written");
            Place::find(None, Some(dir.path()))
        };
        assert_eq!(find(me.start_time).expect("this process lives").url, "http://127.0.0.1:9");
        assert!(matches!(find(me.start_time + 1), Err(Failure::NotRunning(_))), "its pid is another process's now");
    }

    #[test]
    fn a_state_without_a_daemon_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let failure = Place::find(None, Some(dir.path())).expect_err("nobody wrote a file");
        assert_eq!(failure.to_string(), format!("no fleetd is running for state {}", dir.path().display()));
        assert_eq!(failure.exit().code(), 5);
    }
}
