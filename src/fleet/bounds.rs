//! The bounds of a run: its deadline, and its budget of turns, tokens and money.
//!
//! A run that reaches one is not cut off at once. It begins nothing more, is told so at each step, and so comes to its own
//! end with what it has; only if it does not, it is ended by force, with a list of what is missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::envelope::{Finish, Usage};
use super::ids::{RunId, StepPath, TurnId, WorkerName};
use super::record::Event;
use super::run::{Run, RunEnd, RunOutcome};
use super::state::{Cx, Fleet};
use super::time::{Span, Time};
use super::timers::Timer;
use super::turn::Outcome;

/// How long a run that reached a bound may take to come to its own end.
const GRACE: Span = Span::seconds(10);
/// How much longer for each run below it, which must come to its end first.
const GRACE_BELOW: Span = Span::seconds(2);
/// How many missing steps are listed of a run that was ended by force.
const MOST_MISSING: usize = 1_000;

/// What a run and the runs below it may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBudget {
    /// Turns, each try counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Tokens read, written, and written to a cache; not those read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, as far as agents tell them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl RunBudget {
    /// Says which part of it is used up, if one is.
    pub fn used_up(&self, sent: u64, usage: Option<&Usage>) -> Option<String> {
        let tokens = usage.map_or(0, Usage::tokens);
        let cost = usage.and_then(|usage| usage.cost).unwrap_or_default();
        match (self.turns, self.tokens, self.cost) {
            (Some(most), _, _) if sent >= most => Some(format!("{sent} of {most} turns are used")),
            (_, Some(most), _) if tokens >= most => Some(format!("{tokens} of {most} tokens are used")),
            (_, _, Some(most)) if cost >= most => Some(format!("{cost:.2} of {most:.2} US dollars are used")),
            _ => None,
        }
    }
}

/// A run that reached a bound and is on its way to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Closing {
    /// How it will end.
    pub outcome: RunOutcome,
    /// Why.
    pub why: String,
    /// When it is ended by force.
    pub until: Time,
}

impl Fleet {
    /// Returns what a step is answered that would begin something where nothing is begun any more: in a run that reached
    /// a bound, or below one. A budget is judged here, before each turn.
    pub(super) fn closed(&mut self, cx: &mut Cx, run: RunId) -> Option<Value> {
        for id in self.up_from(run) {
            let row = self.runs.get(&id)?.clone();
            if row.closing.is_none()
                && let Some(why) = row.budget.and_then(|budget| budget.used_up(row.sent, row.usage.as_ref()))
            {
                self.close(cx, id, RunOutcome::Budget, &why);
            }
            if let Some(closing) = self.runs.get(&id).and_then(|run| run.closing.clone()) {
                let why = match id == run {
                    true => closing.why,
                    false => format!("{} of {id}", closing.why),
                };
                return Some(not_begun(cx.now, closing.outcome.word(), &why));
            }
        }
        None
    }

    /// A run reached a bound: its sleeps and its questions end at once, and those of the runs below it. With its deadline
    /// open turns end, too; those that a budget has paid for go on.
    pub(super) fn close(&mut self, cx: &mut Cx, id: RunId, outcome: RunOutcome, why: &str) {
        let Some(run) = self.runs.get(&id).filter(|run| run.outcome.is_none()).cloned() else { return };
        let why = match &run.closing {
            None => why.to_string(),
            // The deadline of a run that its budget has closed already: what that has paid for is over, too.
            Some(closing) if closing.outcome == RunOutcome::Budget && outcome == RunOutcome::TimedOut => {
                format!("{}; {why}", closing.why)
            }
            Some(_) => return,
        };
        let below = self.below(id);
        let until = cx.now + grace(below.len());
        let what = format!("run reached its bound: {why}");
        self.put_run(cx, Run { closing: Some(Closing { outcome, why, until }), ..(*run).clone() });
        self.at(until, Timer::RunGrace(id));
        cx.event(Event { at: cx.now, turn: None, run: Some(id), worker: None, what });
        for run in [id].into_iter().chain(below) {
            let open: Vec<StepPath> = self.open_steps(run).map(|step| step.path.clone()).collect();
            for path in open {
                self.end_step_in_time(cx, run, &path, outcome);
            }
        }
    }

    fn end_step_in_time(&mut self, cx: &mut Cx, run: RunId, path: &StepPath, outcome: RunOutcome) {
        let step = self.steps.get(&(run, path.clone())).filter(|step| step.seq.is_none()).cloned();
        let Some(step) = step else { return };
        let is_late = outcome == RunOutcome::TimedOut;
        let why = if is_late { "the deadline of its run passed" } else { "the budget of its run is used up" };
        match step.turn {
            Some(turn) if is_late => return self.end_turn(cx, turn, Finish::without_reply(Outcome::TimedOut, why)),
            Some(_) => return,
            None => {}
        }
        // It needs the same time to come to its end.
        if step.child.is_some() {
            return;
        }
        if let Some(question) = step.question {
            self.withdraw_question(cx, question, why);
        }
        self.finish_step(cx, run, path, Value::Null);
    }

    /// Returns whether a run, or one above it, reached a bound.
    pub(super) fn is_over(&self, run: RunId) -> bool {
        let reached = |run: &RunId| self.runs.get(run).is_some_and(|run| run.closing.is_some());
        self.up_from(run).iter().any(reached)
    }

    /// A turn of a run that has used up its budget ended: from here on its code has its grace.
    pub(super) fn grace_begins(&mut self, cx: &mut Cx, run: RunId) {
        for id in self.up_from(run) {
            let Some(row) = self.runs.get(&id).filter(|run| run.outcome.is_none()).cloned() else { continue };
            let Some(closing) = row.closing.clone().filter(|closing| closing.outcome == RunOutcome::Budget) else {
                continue;
            };
            let until = cx.now + grace(self.below(id).len());
            self.put_run(cx, Run { closing: Some(Closing { until, ..closing }), ..(*row).clone() });
            self.at(until, Timer::RunGrace(id));
        }
    }

    /// The grace of a run is over. While turns that its budget has paid for are open, it goes on: the end of each begins the
    /// grace anew, and until then nothing is timed.
    pub(super) fn grace_over(&mut self, cx: &mut Cx, id: RunId) {
        let Some(run) = self.runs.get(&id).filter(|run| run.outcome.is_none()) else { return };
        let Some(closing) = run.closing.as_ref().filter(|closing| closing.until <= cx.now) else { return };
        let busy = self.below(id).into_iter().chain([id]).any(|run| {
            let mut turns = self.open_steps(run).filter_map(|step| self.turns.get(&step.turn?));
            turns.any(|turn| !turn.state.is_settled())
        });
        if closing.outcome != RunOutcome::Budget || !busy {
            self.end_by_force(cx, id);
        }
    }

    fn end_by_force(&mut self, cx: &mut Cx, id: RunId) {
        let Some(run) = self.runs.get(&id).cloned() else { return };
        let Some(closing) = &run.closing else { return };
        let missing: Vec<Value> = self
            .open_steps(id)
            .take(MOST_MISSING)
            .map(|step| json!({"step": step.path, "what": step.what, "turn": step.turn, "at": step.at}))
            .collect();
        let why = Some(format!("{}; it did not come to its own end", closing.why));
        let value = json!({"finished_steps": run.finished_steps, "missing": missing});
        self.end_run(cx, id, RunEnd { outcome: closing.outcome, why, value }, true);
    }

    /// Returns the steps of a run that are not finished: what it has open is found by them, however much else is kept.
    pub(super) fn open_steps(&self, id: RunId) -> impl Iterator<Item = &std::sync::Arc<super::run::Step>> {
        let of_run = self.steps.range((id, StepPath::from(""))..).take_while(move |((run, _), _)| *run == id);
        of_run.map(|(_, step)| step).filter(|step| step.seq.is_none())
    }

    /// Counts what a turn took that was ended over its worker: it is spent all the same, and is told once that stops.
    pub(super) fn pay_late(&mut self, cx: &mut Cx, name: &WorkerName, usage: &Usage) {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.cut.is_some()).cloned() else { return };
        let mut worker = (*worker).clone();
        let pay = worker.cut.as_mut().map(|cut| std::mem::take(&mut cut.pay)).unwrap_or_default();
        self.put_worker(cx, worker);
        for id in pay {
            let Some(row) = self.runs.get(&id).cloned() else { continue };
            let usage = Usage::sum(row.usage.iter().chain([usage]));
            self.put_run(cx, Run { usage, ..(*row).clone() });
        }
    }

    /// Counts turns of a run that were sent and that ended, for it and for all runs above it.
    pub(super) fn count_turn(&mut self, cx: &mut Cx, run: RunId, sent: u64, settled: u64, usage: Option<&Usage>) {
        for id in self.up_from(run) {
            let Some(row) = self.runs.get(&id).cloned() else { continue };
            let usage = Usage::sum(row.usage.iter().chain(usage));
            let (sent, settled) = (row.sent + sent, row.settled + settled);
            self.put_run(cx, Run { sent, settled, usage, ..(*row).clone() });
        }
    }
}

/// Returns how long a run that reached a bound may take to come to its own end, with so many runs below it.
pub fn grace(below: usize) -> Span {
    Span(GRACE.0 + GRACE_BELOW.0 * below.min(8) as u64)
}

/// Returns how a run ends whose code has ended: a bound that it reached says how, the code says with what.
pub fn ended(closing: Option<&Closing>, end: RunEnd) -> RunEnd {
    let Some(closing) = closing else { return end };
    let why = match (end.outcome, end.why) {
        (RunOutcome::Done, _) | (_, None) => closing.why.clone(),
        (_, Some(why)) => format!("{}; {why}", closing.why),
    };
    RunEnd { outcome: closing.outcome, why: Some(why), value: end.value }
}

/// Returns what a step is answered that was not begun.
pub fn not_begun(now: Time, error: &str, why: &str) -> Value {
    json!({
        "ok": false, "outcome": "cancelled", "error": error, "why": why, "text": "", "from": {},
        "turn": Option::<TurnId>::None, "times": {"accepted": now, "settled": now},
    })
}
