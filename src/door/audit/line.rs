//! What stands in a line of the audit. Every field is an id, a name of ours, a word of a fixed list or a number, so
//! that no line can hold what somebody wrote to somebody. Where lines go is not known here.

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::super::conn::Conn;
use super::Trouble;
use crate::fleet::caller::{Caller, CallerKind};
use crate::fleet::ids::WorkerName;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::rules::{Door, Verb};
use crate::fleet::time::Time;

/// One decision of a door.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// When it was decided.
    #[serde(serialize_with = "rfc_3339")]
    pub at: Time,
    /// At which door.
    #[serde(serialize_with = "door_word")]
    pub door: Door,
    /// Who asked.
    pub who: Who,
    /// What for.
    #[serde(serialize_with = "word")]
    pub verb: Verb,
    /// Ids and names of what it is about; made by `About`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub target: Vec<String>,
    /// Whether the rules let it in.
    pub allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
    /// What came of it, if it was let in and did not simply succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The size of the text that it brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The charter generation in force; 0 = none.
    pub generation: u64,
}

/// What came of a request that was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was not answered yet when the line was written.
    Open,
    /// Its caller went away.
    Left,
    /// It was refused for what it asked; the word is the kind.
    #[serde(untagged)]
    Refused(RefusalKind),
}

/// Who asked, as the connection shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Who {
    /// The kind of caller.
    pub caller: CallerKind,
    /// The worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// True for a process that the worker's agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_child: Option<bool>,
    /// The process on the other end, if it is of this machine and no worker's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The address on the other end, if it is not loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
}

impl Who {
    /// Returns what the audit says of a caller on a connection.
    pub fn of(caller: &Caller, conn: &Conn) -> Who {
        let (worker, via_child) = match caller {
            Caller::Worker { name, via_child } => (Some(name.clone()), Some(*via_child)),
            _ => (None, None),
        };
        let pid = if worker.is_none() { conn.pid() } else { None };
        let peer = Some(conn.peer().ip()).filter(|ip| !ip.is_loopback());
        Who { caller: caller.kind(), worker, via_child, pid, peer }
    }
}

/// The line that follows a gap: how many are missing, and why.
#[derive(Debug, Serialize)]
pub(super) struct Gap {
    lost: u64,
    why: String,
}

impl Gap {
    pub fn of(trouble: Trouble) -> Gap {
        Gap { lost: trouble.lost, why: trouble.why }
    }
}

/// Adds a value as one line.
pub(super) fn line(value: &impl Serialize, to: &mut Vec<u8>) {
    // Ours alone are written, and none of them can fail: no map has a key that is no text.
    let _ = serde_json::to_writer(&mut *to, value);
    to.push(b'\n');
}

fn rfc_3339<S: Serializer>(at: &Time, to: S) -> Result<S::Ok, S::Error> {
    let at = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    to.collect_str(&at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
}

fn door_word<S: Serializer>(door: &Door, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(door.word())
}

fn word<S: Serializer>(verb: &Verb, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(verb.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_documented() {
        let who = Who { caller: CallerKind::Operator, worker: None, via_child: None, pid: Some(7), peer: None };
        let decision = Decision {
            at: Time(1_795_999_107_004),
            door: Door::Rest,
            who,
            verb: Verb::Send,
            target: vec!["w-local".into(), "t17".into()],
            allowed: true,
            refusal: None,
            outcome: None,
            bytes: Some(5),
            generation: 3,
        };
        let text = |decision: &Decision| {
            let mut text = Vec::new();
            line(decision, &mut text);
            String::from_utf8(text).unwrap()
        };
        let begin =
            r#"{"at":"2026-11-30T00:38:27.004Z","door":"rest","who":{"caller":"operator","pid":7},"verb":"send""#;
        let end = ",\"generation\":3}\n";
        assert_eq!(text(&decision), format!(r#"{begin},"target":["w-local","t17"],"allowed":true,"bytes":5{end}"#));
        let refused = Decision { outcome: Some(Outcome::Refused(RefusalKind::QueueFull)), ..decision.clone() };
        assert!(text(&refused).contains(r#""allowed":true,"outcome":"queue_full""#), "{}", text(&refused));
        let open = Decision { outcome: Some(Outcome::Open), ..decision };
        assert!(text(&open).contains(r#""outcome":"open""#), "{}", text(&open));
    }
}
