//! The bounds of a run on the stage: its deadline and its budget do to it what the fleet does. What turns use is in `used`.
//! All of it happens in virtual time, and a run that is cut short by it is replayed like any other.

use serde_json::{Value, json};

use super::play::{Due, Play};
use crate::charter::error::CharterError;
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

    /// A run reached a bound: its sleeps and its questions end at once, and those of the runs below it.
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
        let ends = |of: RunId, verb: &str| matches!(verb, "sleep" | "ask_leader") && self.up_from(of).contains(&run);
        let mut open: Vec<(RunId, StepPath, (Time, u64))> = (self.due.iter())
            .filter_map(|(key, due)| match due {
                Due::Answer(step, _) if ends(step.run, &step.verb) => Some((step.run, step.path.clone(), *key)),
                _ => None,
            })
            .collect();
        open.sort_unstable();
        for (_, _, key) in open {
            if let Some(Due::Answer(step, _)) = self.due.remove(&key) {
                self.finish((*step).clone(), Value::Null);
            }
        }
    }

    /// What is open in a run ends with its deadline, and its code goes on with that.
    pub(super) fn deadline(&mut self, run: RunId) -> Result<(), CharterError> {
        let Some(playing) = self.playing.get(&run) else { return Ok(()) };
        let span = playing.played.run.deadline.unwrap_or_default().since(playing.played.run.started);
        self.close(run, RunOutcome::TimedOut, format!("not ended within {span}"));
        let of_run = |due: &Due| matches!(due, Due::Answer(step, _) if step.run == run);
        let keys: Vec<(Time, u64)> = self.due.iter().filter(|(_, due)| of_run(due)).map(|(key, _)| *key).collect();
        for key in keys {
            let Some(Due::Answer(step, value)) = self.due.remove(&key) else { continue };
            let value = match step.verb.as_str() {
                "send" | "command" => too_late(value, self.stage.now),
                _ => value,
            };
            self.finish((*step).clone(), value);
        }
        let open: Vec<TurnId> =
            self.turns.iter().filter(|(_, turn)| turn.step().run == run).map(|(turn, _)| *turn).collect();
        for turn in open {
            self.times_out(turn, TOO_LATE)?;
        }
        Ok(())
    }

    /// The grace of a run is over. While turns that its budget has paid for are open, it goes on.
    pub(super) fn forced(&mut self, run: RunId) -> Option<RunEnd> {
        let playing = self.playing.get(&run)?;
        let closing = playing.closing.clone().filter(|closing| closing.until <= self.stage.now)?;
        let ours = |of: RunId| self.up_from(of).contains(&run);
        let busy = self.turns.values().any(|turn| ours(turn.step().run))
            || self.due.values().any(|due| matches!(due, Due::Answer(step, _) if is_turn(step) && ours(step.run)));
        if closing.outcome == RunOutcome::Budget && busy {
            let until = self.stage.now + grace(self.below(run).len());
            if let Some(playing) = self.playing.get_mut(&run) {
                playing.closing = Some(Closing { until, ..closing });
            }
            self.add(until, Due::Force(run));
            return None;
        }
        let missing: Vec<Value> = (self.due.values())
            .filter_map(|due| match due {
                Due::Answer(step, _) if step.run == run => Some(json!({"step": step.path, "what": step.what})),
                _ => None,
            })
            .collect();
        let value = json!({"finished_steps": playing.played.journal.len(), "missing": missing});
        let why = Some("it did not come to its own end".to_owned());
        self.run_ended(run, RunEnd { outcome: closing.outcome, why, value }, false)
    }
}

/// Returns whether a step is a turn, which goes on where the budget of its run is used up.
fn is_turn(step: &Step) -> bool {
    matches!(step.verb.as_str(), "send" | "command")
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
