//! The seat: which main session is the leader. There is one, it is taken by whoever needs it first while it is free,
//! and it is bound to what the connection proved: a process of this machine, or a session that showed the token.
//!
//! Whether a connection belongs to the sitter is judged at the door; mail for the leader does not care who sits.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::events::FleetEvent;
use super::input::Answer;
use super::record::{Event, Record};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::worker::Process;

/// A seat held by a token is kept alive by its use; that is written down only when this part of its time has passed.
const REFRESH: u64 = 8;

/// Who can sit: what the connection of a leader proved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sitter {
    /// A process of this machine, with everything below it.
    Process(Process),
    /// An MCP session that was opened with the token.
    Session(Arc<str>),
    /// Whoever shows the token without a session.
    Token,
}

impl fmt::Display for Sitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sitter::Process(process) => write!(f, "process {}", process.pid),
            // A session's id lets its owner speak: only its beginning is shown.
            Sitter::Session(id) => write!(f, "session {}…", id.chars().take(8).collect::<String>()),
            Sitter::Token => f.write_str("a holder of the token"),
        }
    }
}

/// The seat while somebody sits in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// Who.
    pub sitter: Sitter,
    /// Since when.
    pub since: Time,
    /// When it is free again unless it is used before; only for those that hold it by a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

impl Fleet {
    /// Returns the seat, unless it is free.
    pub fn seat(&self) -> Option<&Arc<Seat>> {
        self.seat.as_ref()
    }

    /// Gives the seat to who asks for it if it is free or theirs already.
    pub(super) fn take_seat(&mut self, cx: &mut Cx, sitter: Sitter) -> Result<Answer, Refusal> {
        let now = cx.now;
        let until = (!matches!(sitter, Sitter::Process(_))).then(|| now + self.limits.seat_ttl);
        match self.seat.clone() {
            Some(seat) if seat.sitter == sitter => {
                let part = Span(self.limits.seat_ttl.0 / REFRESH);
                if seat.until.is_some_and(|old| until.is_some_and(|new| new.since(old) >= part)) {
                    self.put_seat(cx, Some(Seat { until, ..(*seat).clone() }));
                }
            }
            Some(seat) => return Err(taken(&seat, now)),
            None => {
                self.tell_seat(cx, true, format!("the seat was taken by {sitter}"));
                self.put_seat(cx, Some(Seat { sitter, since: now, until }));
            }
        }
        Ok(Answer::Seat(self.seat.clone()))
    }

    /// Frees the seat because a caller wants it; whoever sat there may take it again like anybody.
    pub(super) fn release_seat(&mut self, cx: &mut Cx, by: Sender) -> Answer {
        if let Some(seat) = self.seat.clone() {
            self.tell_seat(cx, false, format!("the seat of {} was released by {by}", seat.sitter));
            self.put_seat(cx, None);
        }
        Answer::Seat(None)
    }

    /// The process that sat is gone.
    pub(super) fn seat_gone(&mut self, cx: &mut Cx, process: Process) {
        if self.seat.as_ref().is_some_and(|seat| seat.sitter == Sitter::Process(process)) {
            self.tell_seat(cx, false, format!("the seat is free: process {} has ended", process.pid));
            self.put_seat(cx, None);
        }
    }

    pub(super) fn seat_over(&mut self, cx: &mut Cx) {
        if self.seat.as_ref().and_then(|seat| seat.until).is_some_and(|until| until <= cx.now) {
            self.tell_seat(cx, false, "the seat is free: it was not used for its seat_ttl".into());
            self.put_seat(cx, None);
        }
    }

    fn put_seat(&mut self, cx: &mut Cx, seat: Option<Seat>) {
        if let Some(until) = self.seat.as_ref().and_then(|seat| seat.until) {
            self.timers.remove(&(until, Timer::Seat));
        }
        if let Some(until) = seat.as_ref().and_then(|seat| seat.until) {
            self.at(until, Timer::Seat);
        }
        if self.seat.as_ref().map(|seat| &seat.sitter) != seat.as_ref().map(|seat| &seat.sitter) {
            self.forget_nudges();
        }
        self.seat = seat.map(Arc::new);
        cx.record(Record::Seat(self.seat.clone()));
    }

    fn tell_seat(&self, cx: &mut Cx, taken: bool, what: String) {
        self.tell(cx, || FleetEvent::SeatChanged { taken, why: what.clone() }, "seat_changed");
        cx.event(Event { at: cx.now, turn: None, run: None, worker: None, what });
    }
}

/// Says who sits, for whoever wanted to.
fn taken(seat: &Seat, now: Time) -> Refusal {
    let age = now.since(seat.since);
    let message = format!("the seat is taken: {} has been the leader for {age}", seat.sitter);
    Refusal::new(RefusalKind::NotAllowed, message)
        .hint("there is one leader at a time; the seat is free when that session ends")
        .hint("a person can free it: fleetd seat release")
}
