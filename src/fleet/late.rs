//! Late replies: a turn was ended from outside, and its worker, which was told to stop, had a reply all the same.
//! The turn's end stays what it is; the reply is held for whom it was for, marked as late, and thrown away by nobody.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::envelope::{Envelope, Finish};
use super::ids::{RunId, TurnId, WorkerName};
use super::mail::About;
use super::record::{Event, Record};
use super::state::{Cx, Fleet};
use super::team::Address;
use super::time::Time;
use super::turn::{Outcome, Turn};
use super::worker::Worker;

/// What is known of a turn that ended while its worker was still at it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Late {
    /// Who gets a reply that still comes.
    pub to: Sender,
    /// The run that sent it, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When the turn was accepted.
    pub accepted: Time,
    /// How it ended, for people.
    pub ended: String,
}

impl Fleet {
    /// Returns for whom a reply is held that comes after this end: it was too slow, or its run ended over it. Who takes
    /// back a turn, or has another reply already, does not want it any more.
    pub(super) fn late_for(&self, turn: &Turn, finish: &Finish) -> Option<Box<Late>> {
        let run = match turn.sender {
            Sender::Run(run) => self.runs.get(&run),
            Sender::Leader | Sender::Operator => None,
            Sender::Fleetd => return None,
        };
        let wanted = match finish.outcome {
            Outcome::TimedOut => true,
            Outcome::Cancelled => run.is_some_and(|run| run.outcome.is_some()),
            _ => false,
        };
        let why = finish.why.as_deref().unwrap_or("it ended");
        wanted.then(|| {
            Box::new(Late {
                to: run.map_or(turn.sender, |run| run.owner),
                run: run.map(|run| run.id),
                accepted: turn.accepted,
                ended: format!("{}: {why}", finish.outcome.word()),
            })
        })
    }

    /// Holds a reply that came after the end of its turn; returns whether it did.
    pub(super) fn hold_late(&mut self, cx: &mut Cx, name: &WorkerName, id: TurnId, finish: &Finish) -> bool {
        let Some(worker) = self.workers.get(name).cloned() else { return false };
        let Some(late) = worker.late.clone().filter(|_| finish.outcome == Outcome::Replied) else { return false };
        self.put_worker(cx, Worker { late: None, ..(*worker).clone() });
        let mut turn = Turn::accepted(id, late.to, Address::Worker(name.clone()), late.accepted, self.generation());
        turn.worker = Some(name.clone());
        let ended = Some(late.ended.clone());
        let message = self.post(cx, late.to, About::Late(id));
        turn.message = Some(message);
        let envelope = Envelope { late: ended, ..self.envelope(&turn, finish.clone(), cx) };
        cx.record(Record::Late(id, Some(Arc::new(envelope))));
        let what = format!("a late reply is held for the {}", late.to);
        cx.event(Event { at: cx.now, turn: Some(id), run: late.run, worker: Some(name.clone()), what });
        true
    }
}
