//! herdr, in which workers live where it answers: its socket, whether it answers, and whether we speak its protocol.
//! How bad a herdr that is away is depends on `pane_host`.

use std::path::PathBuf;
use std::time::Duration;

use super::finding::{Check, Finding, Level};
use crate::config::PaneHost;
use crate::pane::herdr::{Env, Greeting, Herdr, Options, socket};

/// How long it may take to answer: it is on this machine.
const ANSWER: Duration = Duration::from_secs(1);

/// Where it is looked for, whether something is there, and what it said.
struct Facts {
    socket: Result<PathBuf, String>,
    is_there: bool,
    answer: Result<Greeting, String>,
}

/// Looks for it.
pub async fn look(host: PaneHost) -> Finding {
    let socket = socket(None, &Env::of_this_process());
    let (mut is_there, mut answer) = (false, Err(String::new()));
    if let (Ok(socket), false) = (&socket, host == PaneHost::Embedded) {
        is_there = std::fs::symlink_metadata(socket).is_ok();
        let (herdr, _) = Herdr::new(Options::new(socket.clone()));
        answer = herdr.answers(ANSWER).await;
    }
    judge(host, &Facts { socket, is_there, answer })
}

fn judge(host: PaneHost, facts: &Facts) -> Finding {
    const INSTEAD: &str = "workers live in fleetd's own pane server instead";
    if host == PaneHost::Embedded {
        return Finding::ok(Check::Herdr, "it is not used: pane_host = \"embedded\"");
    }
    // Where it was asked for by name there is nothing instead.
    let is_wanted = host == PaneHost::Herdr;
    let away = if is_wanted { Level::Problem } else { Level::Warning };
    let instead = if is_wanted { String::new() } else { format!("; {INSTEAD}") };
    let socket = match &facts.socket {
        Ok(socket) => socket.display(),
        Err(why) => {
            return Finding::new(Check::Herdr, away, format!("{why}{instead}"))
                .fix("set HERDR_SOCKET_PATH, or pane_host = \"embedded\" in fleetd.toml");
        }
    };
    match (&facts.answer, facts.is_there) {
        (Ok(Greeting { version, protocol }), _) => {
            Finding::ok(Check::Herdr, format!("herdr {version} answers at {socket} (protocol {protocol})"))
        }
        (Err(_), false) if !is_wanted => Finding::note(Check::Herdr, format!("no herdr is at {socket}; {INSTEAD}"))
            .fix("to see workers as tabs of herdr, start it before fleetd"),
        (Err(_), false) => {
            Finding::problem(Check::Herdr, format!("no herdr is at {socket}, and pane_host = \"herdr\""))
                .fix("start herdr, or write pane_host = \"embedded\" in fleetd.toml")
        }
        (Err(why), true) => Finding::new(Check::Herdr, away, format!("{why}{instead}"))
            .fix("start it anew, in version 0.8.0 or newer, or write pane_host = \"embedded\" in fleetd.toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(host: PaneHost, is_there: bool, answer: Result<(&str, u64), &str>) -> (Level, String) {
        let answer = answer.map(|(version, protocol)| Greeting { version: version.into(), protocol });
        let facts = Facts { socket: Ok("/s".into()), is_there, answer: answer.map_err(str::to_owned) };
        let finding = judge(host, &facts);
        assert!(finding.level == Level::Ok || finding.fix.is_some(), "{finding:?}");
        (finding.level, finding.what)
    }

    #[test]
    fn one_that_answers_is_told_with_its_version() {
        let told = judged(PaneHost::Auto, true, Ok(("0.9.0", 21)));
        assert_eq!(told, (Level::Ok, "herdr 0.9.0 answers at /s (protocol 21)".into()));
    }

    #[test]
    fn one_that_is_away_is_bad_where_it_was_asked_for() {
        for (host, is_there, level) in [
            (PaneHost::Auto, false, Level::Note),
            (PaneHost::Auto, true, Level::Warning),
            (PaneHost::Herdr, false, Level::Problem),
            (PaneHost::Herdr, true, Level::Problem),
            (PaneHost::Embedded, true, Level::Ok),
        ] {
            assert_eq!(judged(host, is_there, Err("too old")).0, level, "{host:?} {is_there}");
        }
        assert!(judged(PaneHost::Herdr, true, Err("it speaks protocol 17")).1.contains("it speaks protocol 17"));
        let facts = Facts { socket: Err("HOME is not set".into()), is_there: false, answer: Err(String::new()) };
        assert_eq!(judge(PaneHost::Auto, &facts).level, Level::Warning);
    }
}
