//! The callers of a simulated fleet and what they remember: whom a ticket belongs to, and what a key once made.
//! What they remember comes from answers alone; the fleet's own rows are read only to choose ids worth naming.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleetd::fleet::Fleet;
use fleetd::fleet::acts::Action;
use fleetd::fleet::caller::{Caller, Sender};
use fleetd::fleet::ids::{Key, Ticket, TurnId, WorkerName};
use fleetd::fleet::input::{Answer, Asked, Call, Keyed, RunCall, SendCall};
use fleetd::fleet::refusal::Refusal;
use fleetd::fleet::seat::Sitter;
use fleetd::fleet::shape::Shape;
use fleetd::fleet::team::Address;
use fleetd::fleet::time::{Span, Time};
use fleetd::fleet::turn::{Priority, Turn, TurnState};
use fleetd::fleet::worker::Process;

use super::journal::Journal;
use super::schedule::{By, Op};

/// One call that is not answered yet.
#[derive(Clone, Debug)]
pub struct Open {
    pub caller: Caller,
    pub call: Call,
}

impl Open {
    /// Returns until when the caller may be kept waiting; `None` = it is answered at once.
    pub fn until(&self) -> Option<Time> {
        match &self.call {
            Call::WaitTurn { until, .. } | Call::WaitRun { until, .. } | Call::Ask { until, .. } => Some(*until),
            Call::Poll { until, .. } => *until,
            Call::Spawn { .. } => Some(Time(u64::MAX)), // until the worker is up or is not
            _ => None,
        }
    }
}

/// All callers.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    pub open: BTreeMap<Ticket, Open>,
    made: BTreeMap<(Sender, Key), (String, TurnId, Time)>,
    left: BTreeSet<Ticket>,
    next: u64,
}

impl Callers {
    /// Takes a ticket for a call.
    pub fn ticket(&mut self, caller: Caller, call: Call) -> Ticket {
        self.next += 1;
        let ticket = Ticket(self.next);
        self.open.insert(ticket, Open { caller, call });
        ticket
    }

    /// A caller went away; what it is still answered is dropped.
    pub fn leave(&mut self, ticket: Ticket) {
        self.open.remove(&ticket);
        self.left.insert(ticket);
    }

    /// Hears an answer; the error says what is wrong with it.
    pub fn hear(
        &mut self,
        ticket: Ticket,
        answer: &Result<Answer, Refusal>,
        journal: &Journal,
        now: Time,
        ttl: Span,
    ) -> Result<(), String> {
        if self.left.contains(&ticket) {
            return Ok(());
        }
        let open =
            self.open.remove(&ticket).ok_or_else(|| format!("ticket {ticket} was answered and does not wait"))?;
        match (answer, &open.call) {
            (Ok(Answer::Accepted(turn)), Call::Send(send)) => {
                if !journal.turns.contains_key(&turn.id) || !journal.prompts.contains(&turn.prompt_of) {
                    return Err(format!("{} was accepted and is not stored", turn.id));
                }
                self.remember(&open, known_as(turn), send, now, ttl)?;
            }
            (Ok(Answer::Settled(turn, envelope)), _) => {
                let stored = journal.envelopes.get(&turn.id);
                if stored.is_none() || envelope.as_ref().is_some_and(|at_hand| Some(at_hand) != stored) {
                    return Err(format!("a caller was told the end of {} and it is not stored so", turn.id));
                }
            }
            (Ok(Answer::Answered(question)), _) if question.answer.is_none() => {
                return Err(format!("{} was answered with nothing", question.id));
            }
            (Ok(Answer::Ended(run)), _) if !journal.run_values.contains(&run.id) => {
                return Err(format!("a caller was told the end of {} and it is not stored", run.id));
            }
            (Ok(Answer::Mail { messages, .. }), Call::Poll { after, limit, .. }) => {
                let mine = messages.iter().all(|message| Some(message.to) == open.caller.sender());
                let sorted = messages.windows(2).all(|pair| pair[0].id < pair[1].id);
                let fresh = messages.first().is_none_or(|first| after.is_none_or(|after| first.id > after));
                if !mine || !sorted || !fresh || messages.len() > *limit {
                    return Err(format!("a poll after {after:?} up to {limit} got {messages:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The same key and body within its time make the same turn, under the id that its sender knows.
    fn remember(&mut self, open: &Open, turn: TurnId, send: &SendCall, now: Time, ttl: Span) -> Result<(), String> {
        let (Some(Keyed { key, body, .. }), Some(sender)) = (&send.key, open.caller.sender()) else { return Ok(()) };
        let slot = (sender, key.clone());
        if let Some((known, made, at)) = self.made.get(&slot)
            && *at + ttl > now
            && made != &turn
        {
            return Err(format!("key {key} of {sender} made {made} ({known}) and then {turn} ({body})"));
        }
        self.made.entry(slot).or_insert_with(|| (body.clone(), turn, now));
        Ok(())
    }

    /// A key was forgotten, as the journal says.
    pub fn key_gone(&mut self, sender: Sender, key: &Key) {
        self.made.remove(&(sender, key.clone()));
    }
}

impl By {
    /// Returns the caller as a door would name it.
    pub fn caller(self) -> Caller {
        match self {
            By::Leader => Caller::Leader,
            By::Operator => Caller::Operator,
        }
    }

    /// Returns the caller as a sender.
    pub fn sender(self) -> Sender {
        match self {
            By::Leader => Sender::Leader,
            By::Operator => Sender::Operator,
        }
    }
}

/// Returns what a handler of the charter asks for.
pub fn action_of(pick: u8, what: u8, fleet: &Fleet, journal: &Journal) -> Option<Action> {
    Some(match what {
        0 => Action::TellLeader { text: "look".to_string() },
        1 => Action::StopWorker { worker: nth(fleet.workers(), pick)?.name.clone(), now: pick % 2 == 1 },
        2 => Action::ParkRole { role: "w".into(), r#for: Span::seconds(u64::from(pick)) },
        _ => Action::RetryTurn { turn: nth(journal.turns.keys().copied(), pick)? },
    })
}

fn nth<T>(items: impl Iterator<Item = T>, pick: u8) -> Option<T> {
    let mut items: Vec<T> = items.collect();
    let at = usize::from(pick).checked_rem(items.len())?;
    Some(items.swap_remove(at))
}

/// Returns the call that an event stands for, if there is anything for it to be about.
pub fn call_of(op: Op, fleet: &Fleet, journal: &Journal, now: Time) -> Option<(Caller, Call)> {
    let until = |seconds: u8| now + Span::seconds(u64::from(seconds));
    // A cancelled or collected turn is asked about too, so the numbers run over all that ever were.
    let any_turn = |pick| nth(journal.turns.keys().copied(), pick);
    let any_run = |pick| nth(journal.runs.keys().copied(), pick);
    let keyed =
        |key: u8, body: String| (key > 0).then(|| Keyed { key: Key::from(format!("k{key}")), body, request: None });
    Some(match op {
        Op::Send { by, to, key, body, urgent, deadline } => {
            let worker = nth(fleet.workers(), to / 8).map(|worker| worker.name.clone());
            let (to, prompt) = match (to % 8, worker) {
                (0..4, _) => (Address::Role("w".into()), "do it"),
                (4 | 5, _) => (Address::Role("s".into()), "do it"),
                (6, Some(name)) => (Address::Worker(name), "do it"),
                _ if to / 8 == 1 => (Address::Role("nobody".into()), "do it"),
                _ if to / 8 == 2 => (Address::Role("w".into()), "  "),
                _ => (Address::Role("w".into()), "do it"),
            };
            let key = keyed(key, format!("send {to} {body}"));
            let send = SendCall {
                to,
                because: None,
                routed: None,
                prompt: prompt.into(),
                kind: None,
                files: Vec::new(),
                priority: if urgent { Priority::Now } else { Priority::Normal },
                deadline: [None, Some(3), Some(30), Some(900)][usize::from(deadline)].map(Span::seconds),
                shape: (deadline == 1)
                    .then(|| Arc::new(Shape { schema: serde_json::Value::Bool(true), corrections: 1 })),
                key,
            };
            (by.caller(), Call::Send(send))
        }
        Op::WaitTurn { by, pick, seconds } => {
            (by.caller(), Call::WaitTurn { turn: any_turn(pick)?, until: until(seconds) })
        }
        Op::WaitRun { by, pick, seconds } => {
            (by.caller(), Call::WaitRun { run: any_run(pick)?, until: until(seconds) })
        }
        Op::Poll { by, after, limit, seconds } => {
            let mine = journal.messages.values().filter(|message| message.to == by.sender());
            let after = (after > 0).then(|| nth(mine, after)).flatten().map(|message| message.id);
            let until = (seconds > 20).then(|| until(seconds));
            (by.caller(), Call::Poll { after, limit: usize::from(limit), until })
        }
        Op::Ack { by, pick, many } => {
            let mut mine = journal.messages.values().filter(|m| m.to == by.sender()).map(|message| message.id);
            let ids = if many { mine.collect() } else { vec![mine.nth(usize::from(pick) % 4)?] };
            (by.caller(), Call::Ack(ids))
        }
        Op::Pause { by, on } => (by.caller(), if on { Call::Pause } else { Call::Unpause }),
        Op::CancelTurn { by, pick } => (by.caller(), Call::CancelTurn(any_turn(pick)?)),
        Op::CancelRun { by, pick } => (by.caller(), Call::CancelRun(any_run(pick)?)),
        Op::Answer { by, pick, by_turn } => {
            let question = nth(journal.questions.values(), pick)?;
            let asked = match &question.asker {
                fleetd::fleet::mail::Asker::Turn(turn) if by_turn => Asked::Turn(*turn),
                _ => Asked::Question(question.id),
            };
            let text = if pick.is_multiple_of(7) { "no" } else { "yes" };
            (by.caller(), Call::Answer { question: asked, text: text.into() })
        }
        Op::Spawn { by, session, second, key } => {
            let role = if session { "s" } else { "w" };
            let profile = second.then(|| format!("{role}.two").into());
            let key = keyed(key, format!("spawn {role} {second}"));
            (by.caller(), Call::Spawn { role: role.into(), profile, key })
        }
        Op::Stop { by, pick, kill } => {
            let worker: WorkerName = nth(fleet.workers(), pick)?.name.clone();
            (by.caller(), Call::Stop { worker, kill })
        }
        Op::StartRun { by, program, key, deadline } => {
            let run = RunCall {
                recipe: "program".into(),
                job: std::sync::Arc::new(u64::from(program).into()),
                deadline: deadline.then(|| Span::seconds(60)),
                key: keyed(key, format!("run {program}")),
            };
            (by.caller(), Call::StartRun(run))
        }
        Op::Ask { pick, text } => {
            let running = || fleet.turns().filter(|turn| turn.state.is_in_flight());
            // Most turns are sent by callers; those of runs ask more often, since there is more to go wrong.
            let of_runs = running().filter(|turn| turn.step.is_some() && !pick.is_multiple_of(3));
            let turn = nth(of_runs, pick).or_else(|| nth(running(), pick))?;
            // One whose text was not even given to it cannot ask; one that was not seen to take it can.
            let name = turn.worker.clone()?;
            let asked = ["which branch?", "may I?", "how long?"][usize::from(text)];
            let call = Call::Ask { turn: Some(turn.id), text: asked.into(), until: until(40), request: None };
            debug_assert!(turn.state != TurnState::Queued);
            (Caller::Worker { name, via_child: false }, call)
        }
        Op::Reply { pick, text } => {
            let turn = nth(fleet.turns().filter(|turn| turn.state.is_in_flight()), pick)?;
            let name = turn.worker.clone()?;
            let text = format!("what the worker itself says to {}, version {text}", turn.id).into();
            (Caller::Worker { name, via_child: false }, Call::Reply { turn: None, text })
        }
        Op::Seat { who, how } => {
            let sitter = match who {
                0 => Sitter::Token,
                pid => Sitter::Process(Process { pid: pid.into(), start: 1 }),
            };
            match how {
                0 => (Caller::Operator, Call::ReleaseSeat),
                _ => (Caller::Operator, Call::TakeSeat(sitter)),
            }
        }
        _ => return None,
    })
}

/// Returns the id under which its sender knows a turn.
fn known_as(turn: &Turn) -> TurnId {
    turn.amends.as_ref().map_or(turn.id, |amends| amends.first)
}
