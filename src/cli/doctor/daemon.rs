//! The daemon and the seat: whether one runs, where, how it does, and who is the leader. It is asked through its door,
//! like by every other command. That none runs is no problem: it is only said how to start one.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::client::Client;
use super::super::exit::Failure;
use super::super::seat;
use super::ask;
use super::finding::{Check, Finding};
use crate::engine::requests::SeatView;
use crate::fleet::time::Span;

/// How long it may take to answer: it is on this machine or near.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a connection to where one would listen may take.
const CONNECT: Duration = Duration::from_secs(1);

/// What it says of itself to everybody.
#[derive(Debug, Deserialize)]
struct Health {
    degraded: Vec<String>,
    generation: u64,
    version: String,
}

/// What came of looking for one.
enum Facts {
    /// None runs; whether somebody else listens where it would.
    None { failure: Failure, listen: Option<SocketAddr>, is_taken: bool },
    /// One should be there, and something is wrong.
    Wrong(Failure),
    /// It was found and did not answer.
    Late { url: String },
    /// It answered.
    There { url: String, health: Health, seat: Result<SeatView, Failure> },
}

/// Asks the daemon that was found, or looks whether one could listen.
pub async fn look(found: Result<Client, Failure>, listen: Option<SocketAddr>) -> Vec<Finding> {
    judge(&facts(found, listen).await)
}

async fn facts(found: Result<Client, Failure>, listen: Option<SocketAddr>) -> Facts {
    let client = match found {
        Ok(client) => client,
        Err(failure @ Failure::NotRunning(_)) => return none(failure, listen).await,
        Err(failure) => return Facts::Wrong(failure),
    };
    let url = client.url().to_owned();
    let asked = move || {
        let health = client.get("/healthz", Span(0)).and_then(|reply| reply.read::<Health>());
        health.map(|health| (health, client.get("/v1/seat", Span(0)).and_then(|reply| reply.read::<SeatView>())))
    };
    match ask::blocking(ANSWER, asked).await {
        Some(Ok((health, seat))) => Facts::There { url, health, seat },
        Some(Err(failure @ Failure::NotRunning(_))) => none(failure, listen).await,
        Some(Err(failure)) => Facts::Wrong(failure),
        None => Facts::Late { url },
    }
}

async fn none(failure: Failure, listen: Option<SocketAddr>) -> Facts {
    let listen = listen.filter(|listen| listen.port() != 0);
    let is_taken = match listen {
        Some(listen) => matches!(timeout(CONNECT, TcpStream::connect(listen)).await, Ok(Ok(_))),
        None => false,
    };
    Facts::None { failure, listen, is_taken }
}

fn judge(facts: &Facts) -> Vec<Finding> {
    let nobody = || Finding::note(Check::Seat, "without a daemon there is no seat");
    let wrong = |failure: &Failure| {
        let finding = Finding::problem(Check::Daemon, failure.to_string());
        match failure.hints().into_iter().next() {
            Some(hint) => finding.fix(hint),
            None => finding.fix("see what its log says, and start it anew: fleetd serve"),
        }
    };
    match facts {
        Facts::None { failure, listen: Some(listen), is_taken: true } => vec![
            Finding::warning(Check::Daemon, format!("{failure}, and somebody else listens at {listen}"))
                .fix("if that is a fleetd, name its directory with --state DIR; else set listen in fleetd.toml"),
            nobody(),
        ],
        Facts::None { failure, .. } => {
            vec![Finding::note(Check::Daemon, failure.to_string()).fix("fleetd serve"), nobody()]
        }
        Facts::Wrong(failure) => vec![wrong(failure)],
        Facts::Late { url } => vec![
            Finding::problem(Check::Daemon, format!("fleetd at {url} does not answer within {} s", ANSWER.as_secs()))
                .fix("see what its log says, and start it anew: fleetd serve"),
        ],
        Facts::There { url, health, seat } => {
            let mut findings = vec![health.judge(url)];
            let ours = env!("CARGO_PKG_VERSION");
            if health.version != ours {
                let what = format!("the daemon is version {}, and this program {ours}", health.version);
                findings.push(Finding::warning(Check::Daemon, what).fix("start the daemon anew with this program"));
            }
            findings.push(match seat {
                Ok(seat) if seat.taken && seat.not_told.is_none() => Finding::ok(Check::Seat, seat::line(seat)),
                Ok(seat) if seat.taken => Finding::note(Check::Seat, seat::line(seat))
                    .fix("it sees what waits at its next call; fleetd seat release lets another session sit down"),
                Ok(seat) => Finding::note(Check::Seat, seat::line(seat)),
                Err(failure) => {
                    let finding = Finding::warning(Check::Seat, format!("who sits there is not told: {failure}"));
                    match failure.hints().into_iter().next() {
                        Some(hint) => finding.fix(hint),
                        None => finding,
                    }
                }
            });
            findings
        }
    }
}

// === impl Health ===

impl Health {
    fn judge(&self, url: &str) -> Finding {
        match self.degraded.split_first() {
            None => {
                Finding::ok(Check::Daemon, format!("fleetd is ready at {url} (charter generation {})", self.generation))
            }
            Some((first, others)) => {
                let more = match others.len() {
                    0 => String::new(),
                    n => format!(" (and {n} more)"),
                };
                Finding::problem(Check::Daemon, format!("fleetd at {url} is degraded: {first}{more}"))
                    .fix("all reasons, and what to do: fleetd status")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::finding::Level;
    use super::*;

    fn there(health: Value, seat: Value) -> Vec<(Level, String)> {
        let health = serde_json::from_value(health).expect("a health");
        let seat = Ok(serde_json::from_value(seat).expect("a seat"));
        let findings = judge(&Facts::There { url: "http://d".into(), health, seat });
        findings.into_iter().map(|finding| (finding.level, finding.what)).collect()
    }

    #[test]
    fn a_daemon_that_does_well_is_told_with_its_leader() {
        let health = json!({ "degraded": [], "generation": 3, "version": env!("CARGO_PKG_VERSION") });
        let told = there(health, json!({ "taken": true, "by": "process 7", "age_ms": 1000 }));
        assert_eq!(told[0], (Level::Ok, "fleetd is ready at http://d (charter generation 3)".into()));
        assert_eq!(told[1], (Level::Ok, "process 7 is the leader, for 1s".into()));
    }

    #[test]
    fn what_is_degraded_and_an_older_daemon_are_told() {
        let health = json!({ "degraded": ["the charter is broken", "x"], "generation": 0, "version": "0.0.1" });
        let told = there(health, json!({ "taken": false }));
        assert_eq!(
            told.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
            [Level::Problem, Level::Warning, Level::Note]
        );
        assert_eq!(told[0].1, "fleetd at http://d is degraded: the charter is broken (and 1 more)");
    }

    #[test]
    fn no_daemon_is_a_note_and_one_that_is_lost_a_problem() {
        let none = |is_taken| Facts::None {
            failure: Failure::NotRunning("/s".into()),
            listen: "127.0.0.1:7717".parse().ok(),
            is_taken,
        };
        let told = judge(&none(false));
        assert_eq!((told[0].level, told[0].fix.as_deref()), (Level::Note, Some("fleetd serve")));
        assert_eq!(judge(&none(true))[0].level, Level::Warning);
        let lost = Failure::Unreachable { url: "http://d".into(), why: "nobody listens there".into() };
        assert_eq!(judge(&Facts::Wrong(lost))[0].level, Level::Problem);
        assert_eq!(judge(&Facts::Late { url: "http://d".into() })[0].level, Level::Problem);
    }
}
