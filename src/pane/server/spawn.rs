//! Starting a program in a new terminal: every refusal before, the terminal itself, and the word of `pane-tty` whether
//! the program really runs. Nothing is left behind by a start that is refused.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, OFlags, access, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::pane::tty;
use crate::pane::wire::{Size, Start};
use crate::process::ProcessId;

/// The server's own program. Unlike its path, this is right after the file was replaced by a newer one.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Where programs are looked for when the environment has no path.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// A program on its way.
pub struct Spawned {
    /// The process that becomes the program.
    pub root: ProcessId,
    /// Our end of the terminal.
    pub master: OwnedFd,
    /// The program's end. Held open, so that ours never reports its end while the program lives.
    pub slave: OwnedFd,
    /// Shut without a word when the program runs, or with the reason why it does not.
    pub report: PipeReader,
}

/// Why a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// It cannot be done as asked.
    #[error("{0}")]
    Refused(String),
    /// The system gives no terminal or no process.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Starts it, in a terminal of this size.
pub fn spawn(start: &Start, size: Size) -> Result<Spawned, SpawnError> {
    let cwd = PathBuf::from(OsString::from(start.cwd.clone()));
    check_directory(&cwd)?;
    let env: Vec<(OsString, OsString)> =
        start.env.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect();
    check_env(&env)?;
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let argv: Vec<OsString> = start.argv.iter().cloned().map(OsString::from).collect();
    let name = argv.first().ok_or_else(|| SpawnError::Refused("no program is named".into()))?;
    if argv.iter().any(|word| word.as_bytes().contains(&0)) {
        return Err(SpawnError::Refused("a word of the command line holds a zero byte".into()));
    }
    let program = find(name, path, &cwd)?;
    let (master, slave) = terminal(size).map_err(system("cannot have a terminal"))?;
    let (report, told) = io::pipe().map_err(system("cannot make a pipe"))?;
    nonblocking(&report).map_err(system("cannot prepare a pipe"))?;
    let end = || slave.try_clone().map_err(system("cannot open the terminal once more"));

    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("fleetd").arg(tty::WORD).arg(program).args(&argv).current_dir(&cwd).env_clear().envs(env);
    command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
    command.stdin(Stdio::from(end()?)).stdout(Stdio::from(end()?)).stderr(Stdio::from(OwnedFd::from(told)));
    let child = command.spawn().map_err(system("cannot start a process"))?;
    // Not waited for, it keeps its pid until it is reaped, so this is its start time and nobody else's.
    let root = ProcessId::of(child.id()).ok_or_else(|| SpawnError::System {
        what: "cannot look at the new process",
        source: io::ErrorKind::NotFound.into(),
    })?;
    Ok(Spawned { root, master, slave, report })
}

/// Returns what `pane-tty` said: nothing yet, that the program runs, or why it does not.
pub fn reported(report: &mut PipeReader) -> Option<Result<(), String>> {
    let mut text = [0; 512];
    match report.read(&mut text) {
        Ok(0) => Some(Ok(())),
        Ok(read) => Some(Err(String::from_utf8_lossy(&text[..read]).into_owned())),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
        Err(error) => Some(Err(format!("it is not told whether it runs: {error}"))),
    }
}

/// Gives a terminal another size; the kernel tells the program.
pub fn resize(master: &OwnedFd, size: Size) -> rustix::io::Result<()> {
    let (ws_row, ws_col) = (size.rows, size.columns);
    tcsetwinsize(master, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })
}

/// Makes reads and writes return when they would wait.
pub fn nonblocking(file: &impl std::os::fd::AsFd) -> io::Result<()> {
    fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?;
    Ok(())
}

fn terminal(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    resize(&master, size)?;
    nonblocking(&master)?;
    Ok((master, slave))
}

fn check_directory(cwd: &Path) -> Result<(), SpawnError> {
    let refused = |why: &str| Err(SpawnError::Refused(format!("the directory '{}' {why}", cwd.display())));
    if !cwd.is_absolute() {
        return refused("is no absolute path");
    }
    match std::fs::metadata(cwd) {
        Ok(found) if !found.is_dir() => refused("is no directory"),
        Ok(_) if access(cwd, Access::EXEC_OK).is_err() => refused("may not be entered"),
        Ok(_) => Ok(()),
        Err(error) => refused(&format!("cannot be used: {error}")),
    }
}

fn check_env(env: &[(OsString, OsString)]) -> Result<(), SpawnError> {
    for (name, value) in env {
        let wrong = name.is_empty() || name.as_bytes().contains(&b'=') || name.as_bytes().contains(&0);
        if wrong || value.as_bytes().contains(&0) {
            // The value may be a secret by mistake; the name is enough.
            return Err(SpawnError::Refused(format!("the variable '{}' cannot be set", name.display())));
        }
    }
    Ok(())
}

/// Finds a program as its own shell would: by its path, or on the path of its environment.
fn find(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, SpawnError> {
    let refused = |why: String| Err(SpawnError::Refused(format!("cannot start '{}': {why}", name.display())));
    if name.is_empty() {
        return refused("a program needs a name".into());
    }
    if name.as_bytes().contains(&b'/') {
        let program = cwd.join(name);
        return runnable(&program).map(|()| program).or_else(refused);
    }
    let mut found = None;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new(USUAL_PATH))) {
        // An empty or relative entry is meant from the directory in which the program will run.
        let program = cwd.join(dir).join(name);
        match runnable(&program) {
            Ok(()) => return Ok(program),
            Err(why) if program.exists() => found = Some(format!("{}: {why}", program.display())),
            Err(_) => {}
        }
    }
    refused(found.unwrap_or_else(|| "no directory of its PATH has it".into()))
}

fn runnable(program: &Path) -> Result<(), String> {
    match std::fs::metadata(program) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("there is no such program".into()),
        Err(error) => Err(error.to_string()),
        Ok(found) if !found.is_file() => Err("it is no program".into()),
        Ok(_) => access(program, Access::EXEC_OK).map_err(|_| "it may not be executed".into()),
    }
}

fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> SpawnError {
    move |error| SpawnError::System { what, source: error.into() }
}
