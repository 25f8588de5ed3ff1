//! What a run began and nobody waits for any more: the rest of a race, of a vote, of parts of which one failed, and what
//! a function did for a question that is over. It is ended in the step that decides so, and nothing is begun there again.

use std::sync::Arc;

use super::asked::{ASKED, over_path};
use super::envelope::Finish;
use super::ids::{RunId, StepPath};
use super::run::Step;
use super::state::{Cx, Fleet};
use super::turn::Outcome;

impl Fleet {
    /// Ends what is open of parts; their step is the mark by which nothing is begun there again.
    pub(super) fn give_up_parts(&mut self, cx: &mut Cx, parts: Step, why: &str) {
        let (run, path) = (parts.run, parts.path.clone());
        self.put_step(cx, parts);
        self.finish_step(cx, run, &path, serde_json::Value::Null);
        self.give_up_below(cx, run, &format!("{path}["), why);
    }

    /// Ends everything that is open below a step: turns are cancelled, questions withdrawn, sleeps over.
    pub(super) fn give_up_below(&mut self, cx: &mut Cx, run: RunId, prefix: &str, why: &str) {
        for step in self.steps_below(run, prefix) {
            let open = self.steps.get(&(run, step.path.clone())).is_some_and(|step| step.seq.is_none());
            if open {
                self.give_up_step(cx, &step, why);
            }
        }
    }

    fn give_up_step(&mut self, cx: &mut Cx, step: &Step, why: &str) {
        if let Some(turn) = step.turn {
            // Its end answers the step.
            return self.end_turn(cx, turn, Finish::without_reply(Outcome::Cancelled, why));
        }
        if let Some(child) = step.child {
            return self.cancel_child(cx, child, why);
        }
        if let Some(question) = step.question {
            self.withdraw_question(cx, question, why);
        }
        self.finish_step(cx, step.run, &step.path, serde_json::Value::Null);
    }

    /// Returns whether a step was reached where nobody waits any more: its coroutine was given up, or will be.
    pub(super) fn is_given_up(&self, run: RunId, path: &StepPath) -> bool {
        let path = path.as_str();
        let has = |path: StepPath| self.steps.contains_key(&(run, path));
        let mark = format!(".{ASKED}#");
        let question_is_over = path.match_indices(&mark).any(|(at, _)| {
            let number = at + mark.len();
            let end = path[number..].find('.').map(|end| number + end);
            end.is_some_and(|end| has(over_path(&path[..end].into())))
        });
        // The step of a race, a vote or an each is only there once it gave up its parts.
        question_is_over || path.match_indices('[').any(|(at, _)| has(path[..at].into()))
    }

    pub(super) fn steps_below(&self, run: RunId, prefix: &str) -> Vec<Arc<Step>> {
        let from = self.steps.range((run, StepPath::from(prefix))..);
        let below = from.take_while(|((of, path), _)| *of == run && path.as_str().starts_with(prefix));
        below.map(|(_, step)| step.clone()).collect()
    }
}
