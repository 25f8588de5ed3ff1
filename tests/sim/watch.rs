//! What must always hold, checked on every committed step and on everything that is released after it.
//! The rules stand here a second time, in the design's words; the fleet is only looked at, through rows and records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleetd::fleet::caller::Sender;
use fleetd::fleet::ids::{MessageId, RoleName, TurnId, WorkerName};
use fleetd::fleet::input::{Answer, Call, Effect, Input, Step, WorkEffect};
use fleetd::fleet::mail::{About, Question};
use fleetd::fleet::record::Record;
use fleetd::fleet::run::{RunEffect, RunOutcome};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Outcome, Priority, Turn, TurnState};
use fleetd::fleet::worker::Worker;
use fleetd::fleet::{Fleet, Limits};

use super::callers::Callers;
use super::host::Host;
use super::journal::Journal;

/// A rule that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub rule: &'static str,
    pub how: String,
}

type Checked = Result<(), Broken>;

fn broken(rule: &'static str, how: impl Into<String>) -> Checked {
    Err(Broken { rule, how: how.into() })
}

/// What is remembered from step to step.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    shown: BTreeMap<MessageId, Time>,
    acked: BTreeSet<(Sender, MessageId)>,
    /// How many turns of a sender were handed by a role while this turn was another sender's next one for it.
    overtaken: BTreeMap<(RoleName, TurnId, Sender), u32>,
    /// What the workers themselves replied to turns that have ended.
    drafted: BTreeMap<TurnId, std::sync::Arc<str>>,
    came_back: Option<Time>,
}

impl Watch {
    /// Checks one committed step and writes its records.
    #[expect(clippy::too_many_arguments, reason = "one step with everything that it is judged by")]
    pub fn committed(
        &mut self,
        input: &Input,
        step: &Step,
        fleet: &Fleet,
        journal: &mut Journal,
        host: &Host,
        callers: &mut Callers,
        limits: &Limits,
        now: Time,
        keep: impl Fn(&Record) -> bool,
    ) -> Checked {
        self.acked.clear();
        if let Input::Call { caller, call: Call::Ack(ids), .. } = input
            && let Some(sender) = caller.sender()
        {
            self.acked.extend(ids.iter().map(|id| (sender, *id)));
        }
        for record in &step.records {
            self.record(record, step, journal, host, callers, limits, now)?;
            if keep(record)
                && let Err(how) = journal.write(record)
            {
                return broken("written once", how);
            }
        }
        self.order(step, fleet)?;
        if let Some(id) = journal.drafts.keys().find(|id| fleet.turn(**id).is_none_or(|turn| turn.state.is_settled())) {
            return broken("the worker's own reply counts", format!("{id} ended without it"));
        }
        in_flight(fleet)?;
        caps(step, fleet, limits)?;
        due(fleet, journal, limits, now, self.came_back)
    }

    #[expect(clippy::too_many_arguments, reason = "one record with everything that it is judged by")]
    fn record(
        &mut self,
        record: &Record,
        step: &Step,
        journal: &Journal,
        host: &Host,
        callers: &mut Callers,
        limits: &Limits,
        now: Time,
    ) -> Checked {
        match record {
            Record::Turn(turn) => turn_goes_on(journal.turns.get(&turn.id).map(|turn| &**turn), turn),
            Record::Question(question) => question_goes_on(journal.questions.get(&question.id), question),
            Record::Message(message) if matches!(message.to, Sender::Run(_)) => {
                broken("a run has no mailbox", format!("{message:?}"))
            }
            Record::Envelope(envelope) => {
                let id = envelope.turn;
                let died = envelope.from.worker.as_ref().is_some_and(|name| host.deaths.contains(name));
                if !journal.turns.contains_key(&id) {
                    return broken("no message is made up", format!("an envelope for {id}, which nobody sent"));
                }
                let own = self.drafted.remove(&id);
                if own.as_ref().is_some_and(|own| *own != envelope.text) {
                    return broken(
                        "the worker's own reply counts",
                        format!("{id} got '{}', not {own:?}", envelope.text),
                    );
                }
                if envelope.ok && own.is_none() && *envelope.text != *format!("the reply to {id}") {
                    return broken("no message is made up", format!("{id} got the reply '{}'", envelope.text));
                }
                // A worker that speaks of a turn it was not told of is the one other way.
                let spoke = envelope.why.as_ref().is_some_and(|why| why.starts_with("the worker spoke in it"));
                if envelope.outcome == Outcome::Unknown && !died && !spoke {
                    return broken("unknown only where a host died", format!("{id}: {:?}", envelope.why));
                }
                Ok(())
            }
            Record::Late(id, Some(late)) => {
                let ended = journal.envelopes.get(id).is_some_and(|end| {
                    matches!(end.outcome, Outcome::TimedOut | Outcome::Cancelled) && end.outcome != late.outcome
                });
                let said = late.ok && late.late.is_some() && *late.text == *format!("the reply to {id}");
                let mail = step
                    .records
                    .iter()
                    .any(|record| matches!(record, Record::Message(message) if message.about == About::Late(*id)));
                match ended && said && mail {
                    true => Ok(()),
                    false => broken("a late reply is held and marked", format!("{id}: {late:?}")),
                }
            }
            Record::Draft(id, None) => {
                self.drafted.extend(journal.drafts.get(id).map(|text| (*id, text.clone())));
                Ok(())
            }
            Record::Message(message) => {
                let was = journal.messages.get(&message.id);
                if message.shown && !was.is_some_and(|was| was.shown) {
                    self.shown.insert(message.id, now);
                    let told = step.answers.iter().any(|(ticket, answer)| {
                        let about = match answer {
                            Ok(Answer::Settled(turn, _)) => About::Reply(turn.id),
                            Ok(Answer::Ended(run)) => About::Run(run.id),
                            _ => return false,
                        };
                        let caller = callers.open.get(ticket).and_then(|open| open.caller.sender());
                        about == message.about && caller == Some(message.to)
                    });
                    if !told {
                        return broken("shown is what its owner was told", format!("{} of {}", message.id, message.to));
                    }
                }
                Ok(())
            }
            Record::MessageGone(id) => {
                let Some(message) = journal.messages.get(id) else { return Ok(()) };
                let acked = self.acked.contains(&(message.to, *id));
                let old = self.shown.get(id).is_some_and(|at| *at + limits.key_ttl <= now);
                // Nobody depends on a notice, so it goes by itself after the same time.
                let notice = matches!(message.about, About::Notice(_)) && message.at + limits.key_ttl <= now;
                if acked || old || notice || matches!(message.about, About::Question(_)) {
                    return Ok(());
                }
                broken("a reply waits until its ack", format!("{id} of {} about {:?}", message.to, message.about))
            }
            Record::Key(used) => match journal.keys.get(&(used.sender, used.key.clone())) {
                Some(old) => {
                    broken("one key, one thing", format!("{} made {:?} and {:?}", used.key, old.made, used.made))
                }
                None => Ok(()),
            },
            Record::KeyGone(sender, key) => {
                let young =
                    journal.keys.get(&(*sender, key.clone())).is_some_and(|used| used.at + limits.key_ttl > now);
                callers.key_gone(*sender, key);
                if young { broken("keys live for their time", format!("{key} of {sender}")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// First in first out per sender and address, urgent ones first; and fair between senders.
    fn order(&mut self, step: &Step, fleet: &Fleet) -> Checked {
        for record in &step.records {
            let Record::Turn(turn) = record else { continue };
            if turn.state == TurnState::Queued && turn.hands() > 0 {
                // It was not served after all.
                let of_sender = self.overtaken.iter_mut().filter(|((_, _, sender), _)| *sender == turn.sender);
                of_sender.for_each(|(_, n)| *n = n.saturating_sub(1));
            }
        }
        for effect in &step.effects {
            let Effect::Work(WorkEffect::Hand(worker, turn)) = effect else { continue };
            let urgent = turn.priority == Priority::Now;
            for other in fleet.turns().filter(|other| other.state == TurnState::Queued && other.to == turn.to) {
                let first = other.priority == turn.priority && other.sender == turn.sender && other.id < turn.id;
                if first || (!urgent && other.priority == Priority::Now) {
                    return broken("order is kept", format!("{} was handed before {}", turn.id, other.id));
                }
            }
            if urgent {
                continue;
            }
            let role = &worker.role;
            for (sender, next) in waiting(fleet, role) {
                if sender == turn.sender {
                    self.overtaken.retain(|(_, waits, _), _| *waits != next);
                    continue;
                }
                let n = self.overtaken.entry((role.clone(), next, turn.sender)).or_default();
                *n += 1;
                if *n > 1 {
                    let how = format!("{} was handed, the second of {} while {next} waits", turn.id, turn.sender);
                    return broken("a fan-out costs others one turn", how);
                }
            }
        }
        Ok(())
    }

    /// After a restart the senders take turns anew.
    pub fn daemon_died(&mut self, back: Time) {
        self.came_back = Some(back);
        self.overtaken.clear();
    }
}

/// Returns for each sender of which normal turns wait for any worker of a role the next one.
fn waiting(fleet: &Fleet, role: &RoleName) -> BTreeMap<Sender, TurnId> {
    let waits = |turn: &&std::sync::Arc<Turn>| {
        let here = matches!(&turn.to, Address::Role(to) if to == role);
        turn.state == TurnState::Queued && turn.priority == Priority::Normal && here
    };
    let mut next = BTreeMap::new();
    for turn in fleet.turns().filter(waits) {
        next.entry(turn.sender).or_insert(turn.id);
    }
    next
}

/// A turn only goes on, but for an answered question, and for one that was handed and not typed.
fn turn_goes_on(before: Option<&Turn>, turn: &Turn) -> Checked {
    let back = before.is_some_and(|before| {
        let answered = before.state == TurnState::Asking && turn.state == TurnState::Working;
        // The host keeps that nothing was typed: it faults when a turn is run twice.
        let held = before.state == TurnState::Handed && turn.state == TurnState::Queued;
        (turn.state < before.state && !answered && !held)
            || before.outcome.is_some_and(|outcome| turn.outcome != Some(outcome))
    });
    let new_one_ended = before.is_none() && turn.state.is_settled();
    if back || new_one_ended {
        return broken("a turn only goes on", format!("{} from {before:?} to {turn:?}", turn.id));
    }
    Ok(())
}

/// A question is answered once, and goes from its run to the owner only.
fn question_goes_on(before: Option<&std::sync::Arc<Question>>, question: &Question) -> Checked {
    let Some(before) = before else { return Ok(()) };
    let other = before.answer.is_some() && before.answer != question.answer;
    let back = before.to != question.to && (question.is_with_a_run() || before.answer.is_some());
    if other || back || before.text != question.text {
        return broken("one answer to a question", format!("{before:?} became {question:?}"));
    }
    Ok(())
}

/// Never two turns in flight on a worker.
fn in_flight(fleet: &Fleet) -> Checked {
    let mut has: BTreeMap<&WorkerName, TurnId> = BTreeMap::new();
    for turn in fleet.turns().filter(|turn| turn.state.is_in_flight()) {
        let Some(name) = &turn.worker else { return broken("one turn a worker", format!("{} has no worker", turn.id)) };
        if fleet.worker(name).and_then(|worker| worker.turn) != Some(turn.id) {
            return broken("one turn a worker", format!("{name} does not know of {}", turn.id));
        }
        if let Some(other) = has.insert(name, turn.id) {
            return broken("one turn a worker", format!("{name} has {other} and {}", turn.id));
        }
    }
    Ok(())
}

/// A role or an endpoint whose cap is reached hands out nothing more.
fn caps(step: &Step, fleet: &Fleet, limits: &Limits) -> Checked {
    for effect in &step.effects {
        let Effect::Work(WorkEffect::Hand(worker, turn)) = effect else { continue };
        if fleet.paused().is_some() {
            return broken("nothing is handed out in a pause", format!("{} to {}", turn.id, worker.name));
        }
        // A command of a run is in no role.
        if worker.is_command() {
            continue;
        }
        let role = fleet.team().and_then(|team| team.roles.get(&worker.role));
        let busy = fleet.workers().filter(|other| other.role == worker.role && other.is_occupied()).count();
        if role.is_none_or(|role| busy > role.max_busy as usize) {
            return broken(
                "caps are never passed",
                format!("{} was handed as number {busy} of {}", turn.id, worker.role),
            );
        }
        let Some(endpoint) = &worker.profile.endpoint else { continue };
        let on_it = |other: &&Arc<Worker>| other.is_occupied() && other.profile.endpoint.as_ref() == Some(endpoint);
        let busy = fleet.workers().filter(on_it).count();
        let cap = limits.endpoints.get(endpoint).copied().flatten();
        if cap.is_some_and(|cap| busy > cap as usize) {
            return broken("caps are never passed", format!("{} was handed as number {busy} on {endpoint}", turn.id));
        }
    }
    Ok(())
}

/// What is due is done.
fn due(fleet: &Fleet, journal: &Journal, limits: &Limits, now: Time, came_back: Option<Time>) -> Checked {
    let late = |at: Option<Time>| at.is_some_and(|at| at <= now);
    // After a restart what is under way gets a little longer, for the evidence of what happened meanwhile.
    let patient = came_back.is_some_and(|at| now <= at + limits.evidence);
    let later = |at: Option<Time>| late(at) && !patient;
    let overdue = |turn: &&std::sync::Arc<fleetd::fleet::turn::Turn>| match turn.state.is_in_flight() {
        true => later(turn.deadline) || later(turn.timeout),
        false => !turn.state.is_settled() && late(turn.deadline),
    };
    if let Some(turn) = fleet.turns().find(overdue) {
        // A turn accepted or taken in this very step is ended by the next one.
        if turn.since() < now {
            return broken("deadlines are kept", format!("{} is {:?}", turn.id, turn.state));
        }
    }
    // One that reached its deadline comes to its own end, for which it has a while.
    let end = |run: &fleetd::fleet::run::Run| match &run.closing {
        // It waits for the turns that its budget has paid for.
        Some(closing) if closing.outcome == RunOutcome::Budget => None,
        Some(closing) => Some(closing.until),
        None => run.deadline,
    };
    if let Some(run) = fleet.runs().find(|run| run.outcome.is_none() && later(end(run))) {
        return broken("deadlines are kept", format!("{} goes on", run.id));
    }
    if let Some(run) = fleet.runs().find(|run| {
        run.outcome.is_none()
            && run.parent.as_ref().is_some_and(|at| fleet.run(at.run).is_none_or(|parent| parent.outcome.is_some()))
    }) {
        return broken("a run ends with the one above it", format!("{} goes on", run.id));
    }
    let open = |step: &fleetd::fleet::run::Step| fleet.run(step.run).is_some_and(|run| run.outcome.is_none());
    let sleeps =
        |step: &&std::sync::Arc<fleetd::fleet::run::Step>| step.seq.is_none() && late(step.until) && open(step);
    if let Some(step) = journal.steps.values().find(|step| sleeps(step) && step.began < now) {
        return broken("sleeps end", format!("{} of {}", step.path, step.run));
    }
    if let Some(used) = journal.keys.values().find(|used| used.at + limits.key_ttl <= now) {
        return broken("keys go after their time", used.key.to_string());
    }
    Ok(())
}

/// Nothing is released before its records are stored.
pub fn released(effect: &Effect, journal: &Journal) -> Checked {
    let stored = match effect {
        Effect::Work(WorkEffect::Hand(_, turn)) => {
            let row = journal.turns.get(&turn.id);
            row.is_some_and(|row| row.at(TurnState::Handed).is_some()) && journal.prompts.contains(&turn.prompt_of)
        }
        Effect::Work(WorkEffect::Interrupt(_, id) | WorkEffect::Forget(id)) => {
            journal.turns.get(id).is_some_and(|turn| turn.state.is_settled()) && journal.envelopes.contains_key(id)
        }
        Effect::Work(WorkEffect::Start(worker)) => journal.workers.contains_key(&worker.name),
        Effect::Work(WorkEffect::Replied(_, id)) => journal.drafts.contains_key(id),
        Effect::Work(WorkEffect::Pause(on)) => journal.paused.is_some() == *on,
        Effect::Work(WorkEffect::Stop(_) | WorkEffect::Watch(_) | WorkEffect::Nudge(..) | WorkEffect::Memory) => true,
        Effect::Run(RunEffect::Start { run }) => {
            journal.runs.contains_key(&run.id) && journal.jobs.contains_key(&run.id)
        }
        Effect::Run(RunEffect::Answer(run, finished)) => {
            journal.step_values.contains_key(&(*run, finished.step.path.clone()))
        }
        Effect::Run(RunEffect::Refuse { .. } | RunEffect::Drop(_)) | Effect::Event(_) => true,
    };
    match stored {
        true => Ok(()),
        false => broken("nothing is released before it is stored", format!("{effect:?}")),
    }
}
