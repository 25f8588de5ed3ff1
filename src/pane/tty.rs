//! `fleetd pane-tty`: the moment between a new terminal and the program that gets it. The pane server starts it with
//! the terminal as its standard input; it becomes the leader of the terminal's session and then is the program.
//!
//! So no code of ours runs between a fork and an exec, and a program that cannot be run is told of before the pane
//! counts as started: standard error is a pipe to the server, which is shut without a word when all went well.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::stdio::{dup2_stderr, stderr, stdin};

/// The word by which the program is called so.
pub const WORD: &str = "pane-tty";
/// Its exit code when there is nothing to become.
pub const FAILED: u8 = 127;

/// Becomes the program: its path comes first, then its words, the first of which is its name. Returns only if that
/// failed; the reason went to the server.
pub fn run(mut words: impl Iterator<Item = OsString>) -> u8 {
    let Ok(report) = fcntl_dupfd_cloexec(stderr(), 3) else { return FAILED };
    let mut report = std::fs::File::from(report);
    let why = match (words.next(), words.next()) {
        (Some(program), Some(name)) => match take_terminal() {
            Ok(()) => Command::new(program).arg0(name).args(words).exec().to_string(),
            Err(error) => format!("it cannot have its terminal: {error}"),
        },
        _ => "pane-tty was called without a program".into(),
    };
    // Nobody reads it only if the server is gone, and then there is no pane either.
    let _ = report.write_all(why.as_bytes());
    FAILED
}

fn take_terminal() -> rustix::io::Result<()> {
    dup2_stderr(stdin())?;
    setsid()?;
    ioctl_tiocsctty(stdin())
}
