//! A session's program without a screen: it reads lines from a FIFO and writes lines to a file, both in the session's
//! directory, so that a daemon may go and another one come without the program noticing.
//!
//! pane-exec holds the FIFO open for itself, so that its program never reads an end. No line is read or written here.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;

use super::copy::Copying;
use super::tree::Tree;
use super::wake::Wake;
use super::{Args, spawn_with, until_end};
use crate::launch::turn_dir::{ExitRecord, Kept, STDERR_TAIL, TurnDir, now};
use crate::process::ProcessId;

/// How much the FIFO holds, where the system allows it: a text that fits is in it whole or not at all.
const ROOM: usize = 1024 * 1024;
/// How much of stderr is kept; of more only the end.
const STDERR: u64 = 1024 * 1024;

/// Runs the program to its end, and ends what it leaves behind.
pub(super) fn run(args: &Args, dir: &TurnDir, me: ProcessId, wake: &Wake) -> Result<ExitRecord, String> {
    let failed =
        |did: &str, path: &Path, error: &dyn std::fmt::Display| format!("cannot {did} {}: {error}", path.display());
    let (input, output, stderr) = (dir.input(), dir.stdout(), dir.stderr());
    match mknodat(CWD, &input, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(failed("make", &input, &error)),
    }
    // For reading too: opening it waits for nobody then, and there is always somebody who could write.
    let held =
        OpenOptions::new().read(true).write(true).open(&input).map_err(|error| failed("open", &input, &error))?;
    if let Err(error) = fcntl_setpipe_size(&held, ROOM) {
        super::say(&format!("the FIFO of the session stays small: {error}"));
    }
    // A description of its own: what the program sets on it is not ours.
    let stdin = File::open(&input).map_err(|error| failed("open", &input, &error))?;
    let make = |path: &Path| OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let stdout = make(&output).map_err(|error| failed("make", &output, &error))?;
    let complaints = make(&stderr).map_err(|error| failed("make", &stderr, &error))?;
    let (began, started_at) = (Instant::now(), now());
    let piped = std::process::Stdio::piped();
    let mut child = spawn_with(args, me, |command| command.stdin(stdin).stdout(stdout).stderr(piped))?;
    let mut tree = Tree::of(child.id());
    let complained = child.stderr.take().expect("it was piped");
    let copying = match Copying::start("stderr", complained.into(), complaints, STDERR, STDERR_TAIL) {
        Ok(copying) => copying,
        Err(error) => {
            tree.kill_at_once();
            return Err(format!("cannot start a thread for the stderr of the program: {error}"));
        }
    };
    let ended = until_end(&mut tree, began, args.timeout, wake);
    let left = tree.clear(wake);
    let stdout = Kept { bytes: output.metadata().map_or(0, |found| found.len()), ..Kept::default() };
    drop(held);
    Ok(ExitRecord { ended, started_at, ended_at: now(), stdout, stderr: copying.finish(), left })
}
