//! `fleetd pane-exec`: the small parent of every worker's program, be that one `exec` turn or a session in a pane. It
//! runs the program once, leaves no process behind and writes the exit record last.
//!
//! It outlives the daemon and speaks to it only through a directory. Blocking and without a runtime: hundreds of it
//! may run. No policy may come in here, and no socket.

mod args;
mod copy;
mod lines;
mod terminal;
mod tree;
mod wake;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{WaitStatus, getpid, set_child_subreaper, setsid};

pub use self::args::{Args, ArgsError, MAX_OUTPUT, Mode};
use self::copy::Copying;
use self::tree::Tree;
use self::wake::Wake;
use super::env;
use super::turn_dir::{Claim, Ended, ExitRecord, STDERR_TAIL, Started, TurnDir, now};
use crate::process::ProcessId;

/// The exit code after the turn was run, however it ended: the exit record tells.
pub const RAN: u8 = 0;
/// The exit code when somebody else had claimed the turn. Nothing was run.
pub const LOST: u8 = 3;
/// The exit code when the turn could not be claimed, with the reason on stderr. Nothing was run.
pub const UNCLAIMED: u8 = 4;

/// What it says on stdout, as one line, when it has claimed the turn.
pub const CLAIMED: &str = "claimed";

/// Runs the turn and returns the exit code of pane-exec: [`RAN`], [`LOST`] or [`UNCLAIMED`].
pub fn run(args: &Args) -> u8 {
    let dir = TurnDir::new(&args.dir);
    let (me, wake) = match prepare(args.mode) {
        Ok(prepared) => prepared,
        Err(error) => {
            say(&format!("cannot prepare for the turn in {}: {error}", args.dir.display()));
            return UNCLAIMED;
        }
    };
    let claim = Started::by(me);
    match dir.claim(&claim) {
        // A pane shows the program's words and not ours.
        Ok(Claim::Won) if args.mode == Mode::Terminal => {}
        // The daemon, if it is still there, is told at once that the text is taken.
        Ok(Claim::Won) => drop(writeln!(io::stdout(), "{CLAIMED}")),
        Ok(Claim::Lost) => return LOST,
        Err(error) => {
            say(&error.to_string());
            // The claim may stand although it was not made durable. Then nobody else can run the turn, and the record must say so.
            if dir.started().is_ok_and(|started| started.as_ref() == Some(&claim)) {
                write_until_written(&dir, &claim, &not_started(error.to_string()));
                return RAN;
            }
            return UNCLAIMED;
        }
    }
    let record = if wake.told_to_end() {
        ExitRecord::without_a_run(Ended::Killed)
    } else {
        match args.mode {
            Mode::Turn => Running::start(args, &dir, me)
                .map_or_else(not_started, |running| running.until_end(args.timeout, &wake)),
            Mode::Terminal => terminal::run(args, me, &wake).unwrap_or_else(not_started),
            Mode::Lines => lines::run(args, &dir, me, &wake).unwrap_or_else(not_started),
        }
    };
    write_until_written(&dir, &claim, &record);
    RAN
}

/// Everything that must hold before the claim: from it on no signal but KILL may end pane-exec without a record.
fn prepare(mode: Mode) -> io::Result<(ProcessId, Wake)> {
    let wake = Wake::install()?;
    // In a pane it leads the terminal's session already. Otherwise: away from the terminal on which the daemon was started: its Ctrl-C is the daemon's affair, and a worker
    // that asks for a password there must fail instead of waiting. Fails only for a group's leader, who is away already.
    if mode != Mode::Terminal {
        let _ = setsid();
    }
    set_child_subreaper(Some(getpid()))?;
    Ok((ProcessId::current()?, wake))
}

struct Running {
    tree: Tree,
    began: Instant,
    started_at: u64,
    stdout: Copying,
    stderr: Copying,
}

impl Running {
    fn start(args: &Args, dir: &TurnDir, me: ProcessId) -> Result<Self, String> {
        let prompt =
            File::open(dir.prompt()).map_err(|error| format!("cannot read {}: {error}", dir.prompt().display()))?;
        let make =
            |path: PathBuf| File::create(&path).map_err(|error| format!("cannot make {}: {error}", path.display()));
        let (stdout, stderr) = (make(dir.stdout())?, make(dir.stderr())?);
        let (began, started_at) = (Instant::now(), now());
        let mut child = spawn(args, prompt, me)?;
        let (said, complained) =
            (child.stdout.take().expect("it was piped"), child.stderr.take().expect("it was piped"));
        let tree = Tree::of(child.id());
        let copying = Copying::start("stdout", said.into(), stdout, args.max_output, 0).and_then(|stdout| {
            Ok((stdout, Copying::start("stderr", complained.into(), stderr, args.max_output, STDERR_TAIL)?))
        });
        match copying {
            Ok((stdout, stderr)) => Ok(Self { tree, began, started_at, stdout, stderr }),
            Err(error) => {
                tree.kill_at_once();
                Err(format!("cannot start a thread for the output of {}: {error}", args.argv[0].display()))
            }
        }
    }

    fn until_end(mut self, timeout: Option<Duration>, wake: &Wake) -> ExitRecord {
        let ended = until_end(&mut self.tree, self.began, timeout, wake);
        let left = self.tree.clear(wake);
        // Nobody of the tree is left to write, so what is in the pipes now is all there will be.
        let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
        ExitRecord { ended, started_at: self.started_at, ended_at: now(), stdout, stderr, left }
    }
}

/// Waits until the program has ended, its time is over, or pane-exec is told to end.
fn until_end(tree: &mut Tree, began: Instant, timeout: Option<Duration>, wake: &Wake) -> Ended {
    loop {
        // An exit that was seen is the truth, even when the time passed or TERM came in the same moment.
        if let Some(status) = tree.reap() {
            return ended_by(status);
        }
        if wake.told_to_end() {
            return Ended::Killed;
        }
        let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if left == Some(Duration::ZERO) {
            return Ended::TimedOut;
        }
        wake.wait(left);
    }
}

fn spawn(args: &Args, prompt: File, me: ProcessId) -> Result<Child, String> {
    spawn_with(args, me, |command| command.stdin(prompt).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn spawn_with(args: &Args, me: ProcessId, stdio: impl FnOnce(&mut Command) -> &mut Command) -> Result<Child, String> {
    let program = args.argv.first().ok_or("the plan names no program")?;
    let mut command = Command::new(program);
    stdio(command.args(&args.argv[1..])).process_group(0);
    env::mark(&mut command, me);
    if let Some(cwd) = &args.cwd {
        let seen = std::fs::metadata(cwd);
        match seen {
            Ok(found) if found.is_dir() => command.current_dir(cwd),
            Ok(_) => {
                return Err(format!("cannot start {} in {}: it is no directory", program.display(), cwd.display()));
            }
            Err(error) => return Err(format!("cannot start {} in {}: {error}", program.display(), cwd.display())),
        };
    }
    let child = command.spawn().map_err(|error| {
        let place = if program.as_encoded_bytes().contains(&b'/') {
            "there is no such program"
        } else {
            "no directory of PATH has it"
        };
        match error.kind() {
            ErrorKind::NotFound => format!("cannot start {}: {place} ({error})", program.display()),
            _ => format!("cannot start {}: {error}", program.display()),
        }
    })?;
    // Without it what reports in the program's name is told apart by its place in the tree alone.
    if args.mode != Mode::Turn
        && let Some(process) = ProcessId::of(child.id())
        && let Err(error) = TurnDir::new(args.dir.clone()).write_program(process)
    {
        say(&error.to_string());
    }
    Ok(child)
}

fn ended_by(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Signal(0),
    }
}

fn not_started(why: String) -> ExitRecord {
    ExitRecord::without_a_run(Ended::NotStarted(why))
}

/// A record that is not written would make a finished turn unknown, so a full disk is waited out.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody tells when a disk has room again, and nothing else is left to do"
)]
fn write_until_written(dir: &TurnDir, claim: &Started, record: &ExitRecord) {
    loop {
        let written = match dir.started() {
            Ok(started) if started.as_ref() == Some(claim) => dir.write_exit(record),
            // The daemon removed the directory, or set it aside with an older store and gave its name to another turn.
            Ok(_) => return say("the turn's directory is another's now, and nobody waits for the record any more"),
            Err(error) => Err(error),
        };
        let Err(error) = written else { return };
        say(&error.to_string());
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Says something where the daemon's log is; nobody may be listening any more.
fn say(text: &str) {
    drop(writeln!(io::stderr(), "fleetd pane-exec: {text}"));
}
