//! The bounds of a run on the stage: its deadline and its budget do to it what the fleet does. What turns use is in `used`.
//! All of it happens in virtual time, and a run that is cut short by it is replayed like any other.

use std::sync::Arc;

use serde_json::{Value, json};

use super::play::{Due, Play};
use crate::fleet::bounds::{Closing, grace, not_begun};
use crate::fleet::ids::{RunId, StepPath, TurnId};
use crate::fleet::run::{RunEnd, RunOutcome, Step};
use crate::fleet::time::Time;

impl Play<'_, '_> {
    /// Returns whether a run, or one above it, reached a bound.
    pub(super) fn is_over(&self, run: RunId) -> bool {
        let reached = |run: &RunId| self.playing.get(run).is_some_and(|playing| playing.closing.is_some());
        self.up_from(run).iter().any(reached)
    }

    /// Returns what a step is answered that would begin something where nothing is begun any more.
    pub(super) fn closed(&mut self, run: RunId) -> Option<Value> {
        for id in self.up_from(run) {
            let playing = self.playing.get(&id)?;
            let used_up =
                playing.played.run.budget.and_then(|budget| budget.used_up(playing.sent, playing.usage.as_ref()));
            if let (None, Some(why)) = (&playing.closing, used_up) {
                self.close(id, RunOutcome::Budget, why);
            }
            if let Some(closing) = self.playing.get(&id).and_then(|playing| playing.closing.as_ref()) {
                let why = if id == run { closing.why.clone() } else { format!("{} of {id}", closing.why) };
                return Some(not_begun(self.stage.now, closing.outcome.word(), &why));
            }
        }
        None
    }

    /// Counts a turn for a run and those above it.
    pub(super) fn count_turn(&mut self, run: RunId) {
        for id in self.up_from(run) {
            if let Some(playing) = self.playing.get_mut(&id) {
                playing.sent += 1;
            }
        }
    }

    /// A run reached a bound: its sleeps and its questions end at once, and those of the runs below it. With its deadline
    /// open turns end, too.
    fn close(&mut self, run: RunId, outcome: RunOutcome, why: String) {
        let until = self.stage.now + grace(self.below(run).len());
        let Some(playing) = self.playing.get_mut(&run) else { return };
        let why = match &playing.closing {
            None => why,
            // The deadline of a run that its budget has closed already.
            Some(closing) => format!("{}; {why}", closing.why),
        };
        self.stage.say(format!("{run} reached its bound: {why}"));
        playing.closing = Some(Closing { outcome, why, until });
        self.add(until, Due::Force(run));
        let (is_late, now) = (outcome == RunOutcome::TimedOut, self.stage.now);
        for (_, _, open) in self.open_below(run) {
            match open {
                Open::Step(key, step) => match step.verb.as_str() {
                    "sleep" | "ask_leader" => self.answer_now(key, |_| Value::Null),
                    "command" if is_late => self.answer_now(key, |value| too_late(value, now)),
                    _ => {}
                },
                Open::Turn(turn) if is_late => self.cut(turn, TOO_LATE),
                Open::Turn(_) => {}
            }
        }
    }

    /// Returns what is under way in a run and below it, in the order of the runs and of the paths in each.
    fn open_below(&self, run: RunId) -> Vec<(RunId, StepPath, Open)> {
        let steps = self.due.iter().filter_map(|(key, due)| match due {
            Due::Answer(step, _) => Some((step.clone(), Open::Step(*key, step.clone()))),
            _ => None,
        });
        let turns = self.turns.iter().map(|(id, turn)| (turn.step.clone(), Open::Turn(*id)));
        let ours = steps.chain(turns).filter(|(step, _)| self.up_from(step.run).contains(&run));
        let mut ours: Vec<_> = ours.map(|(step, open)| (step.run, step.path.clone(), open)).collect();
        ours.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        ours
    }

    fn answer_now(&mut self, key: (Time, u64), value: impl FnOnce(Value) -> Value) {
        if let Some(Due::Answer(step, had)) = self.due.remove(&key) {
            self.finish((*step).clone(), value(had));
        }
    }

    /// What is open in a run ends with its deadline, and its code goes on with that.
    pub(super) fn deadline(&mut self, run: RunId) {
        let Some(playing) = self.playing.get(&run) else { return };
        let span = playing.played.run.deadline.unwrap_or_default().since(playing.played.run.started);
        self.close(run, RunOutcome::TimedOut, format!("not ended within {span}"));
    }

    /// The grace of a run is over. While turns that its budget has paid for are open, it goes on.
    pub(super) fn forced(&mut self, run: RunId) -> Option<RunEnd> {
        let playing = self.playing.get(&run)?;
        let closing = playing.closing.clone().filter(|closing| closing.until <= self.stage.now)?;
        let open = self.open_below(run);
        let busy = open.iter().any(|(.., open)| match open {
            Open::Turn(_) => true,
            Open::Step(_, step) => step.verb == "command",
        });
        if closing.outcome == RunOutcome::Budget && busy {
            let until = self.stage.now + grace(self.below(run).len());
            if let Some(playing) = self.playing.get_mut(&run) {
                playing.closing = Some(Closing { until, ..closing });
            }
            self.add(until, Due::Force(run));
            return None;
        }
        let missing = open.iter().filter(|(of, ..)| *of == run).map(|(_, path, open)| match open {
            Open::Turn(turn) => json!({"step": path, "turn": turn}),
            Open::Step(_, step) => json!({"step": path, "what": step.what}),
        });
        let missing: Vec<Value> = missing.collect();
        let value = json!({"finished_steps": playing.played.journal.len(), "missing": missing});
        let why = Some("it did not come to its own end".to_owned());
        self.run_ended(run, RunEnd { outcome: closing.outcome, why, value }, false)
    }
}

/// What is under way for a step.
enum Open {
    /// The step's answer is still to come.
    Step((Time, u64), Arc<Step>),
    /// A turn.
    Turn(TurnId),
}

const TOO_LATE: &str = "the deadline of its run passed";

/// Returns an envelope that would have come after the deadline of its run as the one that comes with it.
fn too_late(mut envelope: Value, now: Time) -> Value {
    for (name, value) in [("ok", json!(false)), ("outcome", json!("timed_out")), ("error", json!("timed_out"))] {
        envelope[name] = value;
    }
    (envelope["why"], envelope["text"]) = (json!(TOO_LATE), json!(""));
    envelope["times"]["settled"] = json!(now);
    envelope
}
