//! A worker's own reply to the turn that it has: kept until the turn ends by its proof, and then the reply's text.
//! A worker cannot end its turn by replying: what else it still does belongs to the turn.

use std::sync::Arc;

use super::calls::event_of;
use super::envelope::Finish;
use super::ids::{TurnId, WorkerName};
use super::input::{Answer, Effect, WorkEffect};
use super::record::Record;
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::turn::{Turn, TurnState};

impl Fleet {
    /// Keeps a worker's reply; a later one replaces it until the turn has ended.
    pub(super) fn reply(
        &mut self,
        cx: &mut Cx,
        name: &WorkerName,
        turn: Option<TurnId>,
        text: Arc<str>,
    ) -> Result<Answer, Refusal> {
        self.check_text("reply", &text)?;
        let turn = self.turn_of_worker(name, turn)?;
        // Who replies has the text: that is a proof as good as the launcher's.
        self.seen_taken(cx, name, turn.id, None);
        let replaced = self.drafts.insert(turn.id, text.clone()).is_some();
        cx.record(Record::Draft(turn.id, Some(text)));
        let turn = self.turns.get(&turn.id).cloned().unwrap_or(turn);
        if let Some(worker) = self.workers.get(name).filter(|worker| worker.profile.has_session()).cloned() {
            cx.effect(Effect::Work(WorkEffect::Replied(worker, turn.id)));
        }
        let what = if replaced { "the worker replied anew" } else { "the worker replied" };
        cx.event(event_of(&turn, cx.now, what.into()));
        Ok(Answer::Noted { turn, replaced })
    }

    /// Puts the worker's own reply, if there was one, where the launcher's text stands.
    pub(super) fn with_draft(&mut self, cx: &mut Cx, turn: TurnId, finish: Finish) -> Finish {
        let Some(text) = self.drafts.remove(&turn) else { return finish };
        cx.record(Record::Draft(turn, None));
        // That its pane is quiet still shows the end; the text is no longer what stands there.
        let proof = finish.proof.map(|proof| if proof == "screen" { "quiet_pane".into() } else { proof });
        Finish { text, truncated: None, data: None, complaint: None, proof, ..finish }
    }

    fn lives_between_turns(&self, name: &WorkerName) -> bool {
        self.workers.get(name).is_some_and(|worker| worker.profile.has_session())
    }

    /// Returns the turn that a worker has under way, which must be the named one if one is named.
    pub(super) fn turn_of_worker(&self, name: &WorkerName, wanted: Option<TurnId>) -> Result<Arc<Turn>, Refusal> {
        let has = self.workers.get(name).and_then(|worker| worker.turn).and_then(|turn| self.turns.get(&turn));
        let has = has.filter(|turn| turn.state.is_in_flight());
        match (wanted, has) {
            (Some(id), Some(turn)) if turn.id == id => Ok(turn.clone()),
            // A session may still speak of the turn before: as long as the text is on its way, it must name the new one.
            (None, Some(turn)) if turn.state == TurnState::Handed && self.lives_between_turns(name) => {
                let why = format!("turn {} is on its way to worker {name}, and nothing shows that it has it", turn.id);
                Err(Refusal::new(RefusalKind::Conflict, why).hint("name the turn that is meant as 'turn'"))
            }
            (None, Some(turn)) => Ok(turn.clone()),
            (Some(id), has) => {
                let over = self.turns.get(&id).is_some_and(|turn| turn.state.is_settled());
                let why = match over && self.turns[&id].worker.as_ref() == Some(name) {
                    true => format!("turn {id} has ended already"),
                    false => format!("worker {name} has no turn {id} under way"),
                };
                let is_others = self.turns.get(&id).is_some_and(|turn| turn.worker.as_ref() != Some(name));
                let kind = if is_others { RefusalKind::NotAllowed } else { RefusalKind::Conflict };
                let refusal = Refusal::new(kind, why);
                Err(match has {
                    Some(turn) => refusal.hint(format!("it has {}; leave 'turn' out to mean that", turn.id)),
                    None => refusal.hint("it has none at all"),
                })
            }
            (None, None) => Err(Refusal::new(RefusalKind::Conflict, format!("worker {name} has no turn under way"))),
        }
    }
}
