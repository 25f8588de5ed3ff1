//! Processes that outlive the program:
//! what a plain signal to its process group, or a walk down its tree, misses.

use std::io;
use std::process::{Child as Spawned, Command, Stdio};
use std::time::Duration;

use rustix::event::poll;
use rustix::process::setsid;

use super::habits::Child;

/// How long they live if nobody ends them: longer than any test, not for ever.
const LIFE: Duration = Duration::from_secs(600);

/// Starts both and returns their pids: the one in a session of its own, and the orphan.
///
/// # Errors
///
/// Fails when a process cannot be started.
pub fn start() -> io::Result<Vec<u32>> {
    let in_session = spawn("session")?;
    let between = spawn("between")?.wait_with_output()?;
    let orphan = String::from_utf8_lossy(&between.stdout).trim().parse().map_err(io::Error::other)?;
    Ok(vec![in_session.id(), orphan])
}

/// Is one of them.
///
/// # Errors
///
/// Fails when the next one cannot be started.
pub fn live(role: Child) -> io::Result<u8> {
    match role {
        Child::Between => {
            setsid()?;
            let orphan = spawn("orphan")?;
            println!("{}", orphan.id());
        }
        Child::Session => {
            setsid()?;
            wait(LIFE);
        }
        Child::Orphan => wait(LIFE),
    }
    Ok(0)
}

fn spawn(role: &str) -> io::Result<Spawned> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--child", role]).stdin(Stdio::null());
    // The one between says who its child is; the orphan must not hold that pipe open. Stderr stays the terminal, so
    // that its end is not the end of what runs in it.
    command.stdout(if role == "between" { Stdio::piped() } else { Stdio::null() });
    command.spawn()
}

fn wait(time: Duration) {
    let end = std::time::Instant::now() + time;
    while let Some(left) = end.checked_duration_since(std::time::Instant::now()) {
        let _ = poll(&mut [], left.try_into().ok().as_ref());
    }
}
