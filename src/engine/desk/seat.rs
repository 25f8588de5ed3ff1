//! The seat, as the doors ask for it: take it, free it, see who sits.
//! Whether a connection is the sitter's is judged at the door, by what its socket proved.

use std::sync::Arc;

use super::unexpected;
use crate::engine::handle::Handle;
use crate::engine::requests::SeatView;
use crate::fleet::caller::Caller;
use crate::fleet::input::{Answer, Call, Input};
use crate::fleet::refusal::Refusal;
use crate::fleet::rules::{self, Verb};
use crate::fleet::seat::{Seat, Sitter};
use crate::fleet::worker::Process;

impl Handle {
    /// Takes the seat for a session that could be the leader, or keeps it.
    pub async fn take_seat(&self, caller: &Caller, sitter: Sitter) -> Result<SeatView, Refusal> {
        self.seat_call(caller, Call::TakeSeat(sitter)).await
    }

    /// Frees the seat, whoever sits there.
    pub async fn release_seat(&self, caller: &Caller) -> Result<SeatView, Refusal> {
        self.seat_call(caller, Call::ReleaseSeat).await
    }

    /// Returns who sits.
    pub fn seat(&self, caller: &Caller) -> Result<SeatView, Refusal> {
        rules::check(caller, Verb::Seat)?;
        Ok(self.view_seat())
    }

    /// Returns who sits, without asking who wants to know.
    pub fn view_seat(&self) -> SeatView {
        self.seat_as(self.fleet().seat())
    }

    /// Tells the engine that the process which sat has ended.
    pub async fn seat_gone(&self, process: Process) {
        self.input(Input::SeatGone(process)).await;
    }

    async fn seat_call(&self, caller: &Caller, call: Call) -> Result<SeatView, Refusal> {
        match self.call(caller, call).await? {
            Answer::Seat(seat) => Ok(self.seat_as(seat.as_ref())),
            other => Err(unexpected(&other)),
        }
    }

    fn seat_as(&self, seat: Option<&Arc<Seat>>) -> SeatView {
        let fleet = self.fleet();
        let (told, not_told) = fleet.nudges();
        SeatView {
            taken: seat.is_some(),
            by: seat.map(|seat| seat.sitter.to_string()),
            process: seat.and_then(|seat| match seat.sitter {
                Sitter::Process(process) => Some(process),
                Sitter::Session(_) | Sitter::Token => None,
            }),
            since: seat.map(|seat| seat.since),
            until: seat.and_then(|seat| seat.until),
            age_ms: seat.map(|seat| self.now().since(seat.since).0),
            told: seat.and(Some(told)).filter(|told| *told > 0),
            not_told: seat.and(not_told).map(str::to_owned),
        }
    }
}
