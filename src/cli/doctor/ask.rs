//! Asking what may never answer: a program, a disk, a name server. Each question has a limit, and whoever is late is
//! left alone. What an answer means is for those who ask.

use std::io::{self, ErrorKind};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

/// How long a program may take to say its version: some start a whole runtime first.
pub const PROGRAM: Duration = Duration::from_secs(5);
/// How long a disk may take.
pub const DISK: Duration = Duration::from_secs(3);

/// How long a killed program may take to be gone.
const ENDS: Duration = Duration::from_secs(1);

/// More than this is read of no program.
const LONGEST: u64 = 64 << 10;

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Whether it ended well.
    pub ok: bool,
    /// Its output.
    pub out: String,
    /// Its complaints.
    pub err: String,
}

/// Why a program said nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silent {
    /// It is not there.
    Missing,
    /// It did not end in time.
    Late(Duration),
    /// It cannot be run.
    Broken(String),
}

impl std::fmt::Display for Silent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Silent::Missing => f.write_str("it is not there"),
            Silent::Late(limit) => write!(f, "it did not answer within {} s", limit.as_secs()),
            Silent::Broken(why) => f.write_str(why),
        }
    }
}

/// Does what blocks. Nothing comes back where it takes longer than the limit: its thread then ends with the process.
pub async fn blocking<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    timeout(limit, tokio::task::spawn_blocking(work)).await.ok()?.ok()
}

/// Runs a program that reads nothing, and ends it with all that it started when the limit is reached.
pub async fn program(mut command: Command, limit: Duration) -> Result<Said, Silent> {
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Silent::Missing,
        _ => Silent::Broken(error.to_string()),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).kill_on_drop(true).spawn().map_err(broken)?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let heard = timeout(limit, async {
        let (out, err) = tokio::join!(text(out), text(err));
        Ok(Said { ok: child.wait().await?.success(), out, err })
    })
    .await;
    match heard {
        Ok(said) => said.map_err(broken),
        Err(_) => {
            // It was not waited for, so its number is still its own.
            if let Some(group) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
                let _ = kill_process_group(group, Signal::KILL);
                // A killed one ends at once, unless a disk holds it.
                let _ = timeout(ENDS, child.wait()).await;
            }
            Err(Silent::Late(limit))
        }
    }
}

async fn text(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read before it broke is what it said.
        let _ = stream.take(LONGEST).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn ask(script: &str, limit: Duration) -> Result<Said, Silent> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(program(command, limit))
    }

    #[test]
    fn a_program_is_heard() {
        let said = ask("echo 1.2.3; echo what >&2; exit 3", Duration::from_secs(60)).expect("it ends");
        assert_eq!(said, Said { ok: false, out: "1.2.3".into(), err: "what".into() });
    }

    #[test]
    fn one_that_never_ends_or_never_stops_talking_is_left() {
        let began = Instant::now();
        let limit = Duration::from_millis(200);
        assert_eq!(ask("sleep 600 & sleep 600", limit), Err(Silent::Late(limit)));
        let talked = ask("yes; exit 0", Duration::from_secs(60)).expect("its pipe is closed");
        assert_eq!(talked.out.len(), LONGEST as usize - 1);
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn one_that_is_not_there_is_told_as_such() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let asked = program(Command::new("/nowhere/at/all"), Duration::from_secs(60));
        assert_eq!(runtime.block_on(asked), Err(Silent::Missing));
    }
}
