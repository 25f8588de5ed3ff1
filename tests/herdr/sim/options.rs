//! How the server is started:
//! its command line and environment as the real one reads them, and which version it plays.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A version of the real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 0.8.0, protocol 19.
    V080,
    /// 0.8.2, protocol 20.
    V082,
    /// One that is too old, protocol 18.
    Old,
}

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub socket: PathBuf,
    /// Where it keeps what it remembers.
    pub session_file: PathBuf,
    /// The name of the session, if it has one.
    pub session: Option<String>,
    /// Whom it plays (`HERDR_SIM_VERSION`, `0.8.0` or `0.8.2`).
    pub version: Version,
    /// How many in a hundred requests take 100 ms (`HERDR_SIM_SLEEPS`).
    pub sleeps: u64,
    /// How long after a change it is saved (`HERDR_SIM_SAVE_MS`).
    pub save_after: Duration,
    /// The home of the user.
    pub home: PathBuf,
}

impl Options {
    /// Reads them. A flag beats `HERDR_SOCKET_PATH`, which beats `HERDR_SESSION`.
    ///
    /// # Errors
    ///
    /// Fails on an unknown command line or name of a session, and without a home.
    pub fn read(args: &[String]) -> io::Result<Self> {
        let mut flag = None;
        let mut words = args.iter();
        loop {
            match words.next().map(String::as_str) {
                Some("--session") => flag = words.next().cloned(),
                Some("server") => break,
                other => return Err(io::Error::other(format!("unknown command {other:?}; try `server`"))),
            }
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from).ok_or_else(|| io::Error::other("HOME is not set"))?;
        let config = variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("herdr");
        let given = variable("HERDR_SOCKET_PATH").filter(|_| flag.is_none()).map(PathBuf::from);
        let session = flag.or_else(|| variable("HERDR_SESSION").filter(|_| given.is_none()));
        let is_name = |name: &String| {
            (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if let Some(wrong) = session.as_ref().filter(|name| !is_name(name)) {
            return Err(io::Error::other(format!("invalid session name {wrong:?}")));
        }
        let folder = session.as_ref().map_or_else(|| config.clone(), |name| config.join("sessions").join(name));
        let number = |name: &str| variable(name).and_then(|value| value.parse::<u64>().ok());
        Ok(Self {
            socket: given.unwrap_or_else(|| folder.join("herdr.sock")),
            session_file: folder.join("session.json"),
            session,
            version: match variable("HERDR_SIM_VERSION").as_deref() {
                Some("0.8.2") => Version::V082,
                Some("0.7.0") => Version::Old,
                _ => Version::V080,
            },
            sleeps: number("HERDR_SIM_SLEEPS").unwrap_or(0),
            save_after: Duration::from_millis(number("HERDR_SIM_SAVE_MS").unwrap_or(5_000)),
            home,
        })
    }
}

impl Version {
    /// Returns how it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::V080 => "0.8.0",
            Self::V082 => "0.8.2",
            Self::Old => "0.7.0",
        }
    }

    /// Returns the number of its protocol.
    pub fn protocol(self) -> u32 {
        match self {
            Self::V080 => 19,
            Self::V082 => 20,
            Self::Old => 18,
        }
    }

    /// Returns the cells of a terminal nobody looks at: columns, rows.
    pub fn size(self) -> (u16, u16) {
        if self == Self::V082 { (94, 39) } else { (54, 23) }
    }
}
