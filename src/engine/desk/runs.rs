//! What a caller is shown of a run, how it is replayed without doing anything, and how one that failed goes on.
//! The rows of a run that ended lie in the store alone; nothing is decided here.

use std::sync::Arc;

use super::store;
use crate::engine::handle::Handle;
use crate::engine::requests::{Replayed, ResumeRequest, RunDetail, StepTurn, WhichCharter};
use crate::fleet::caller::Caller;
use crate::fleet::ids::{RunId, TurnId};
use crate::fleet::input::{Answer, Call};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::resume::Resumed;
use crate::fleet::rules::{self, Verb};
use crate::fleet::run::{Run, Step};
use crate::fleet::team::Generation;

/// Turns of one look at a run at most: each is read from the store.
const MOST_TURNS: usize = 200;

impl Handle {
    /// Returns everything known of a run, also a collected one.
    pub async fn run_detail(&self, caller: &Caller, id: RunId) -> Result<RunDetail, Refusal> {
        rules::check(caller, Verb::Status)?;
        let run = self.run_row(id).await?;
        let steps = self.journal().steps(id).await.map_err(store)?;
        let turns = self.turns_of(&steps).await?;
        let questions = self.fleet().questions_of_run(id);
        Ok(RunDetail { result: self.run_result(&run).await?, steps, turns, questions })
    }

    /// Goes through the journal of a run without doing anything.
    pub async fn replay_run(&self, caller: &Caller, id: RunId, which: WhichCharter) -> Result<Replayed, Refusal> {
        rules::check(caller, Verb::Status)?;
        let run = self.run_row(id).await?;
        self.policy().replay(run, which == WhichCharter::Current).await
    }

    /// Lets a run go on that failed.
    pub async fn resume_run(&self, caller: &Caller, id: RunId, request: ResumeRequest) -> Result<Arc<Run>, Refusal> {
        rules::check(caller, Verb::Run)?;
        let run = self.run_row(id).await?;
        let generation = match request.charter {
            WhichCharter::Begun => self.kept_charter(&run).await?,
            WhichCharter::Current => match self.fleet().team() {
                Some(team) => team.generation.clone(),
                None => return Err(self.no_charter()),
            },
        };
        let steps = self.journal().steps(id).await.map_err(store)?;
        match self.call(caller, Call::ResumeRun(Box::new(Resumed { run, steps, generation }))).await? {
            Answer::Started(run) => Ok(run),
            other => Err(super::unexpected(&other)),
        }
    }

    /// Returns the charter that a run began with, if it can still go on with that.
    async fn kept_charter(&self, run: &Run) -> Result<Generation, Refusal> {
        let begun = &run.generation;
        let in_force = self.fleet().team().is_some_and(|team| team.generation.hash == begun.hash);
        if !in_force && self.journal().sources(begun.hash.clone()).await.map_err(store)?.is_none() {
            let message = format!("the charter that {} began with is not kept any more", run.id);
            return Err(Refusal::new(RefusalKind::Unknown, message).hint("resume it with the one in force"));
        }
        Ok(begun.clone())
    }

    /// Returns the run that an answer says has ended. Of one that is collected, or is a step of another, the fleet knows
    /// nothing any more; its row is in the store.
    pub(super) async fn ended(&self, id: RunId, answer: Result<Answer, Refusal>) -> Result<Arc<Run>, Refusal> {
        match answer {
            Ok(Answer::Ended(run)) => Ok(run),
            Ok(other) => Err(super::unexpected(&other)),
            Err(refusal) if refusal.kind == RefusalKind::Unknown => {
                let row = self.journal().run(id).await.map_err(store)?;
                row.filter(|run| run.outcome.is_some()).map(Arc::new).ok_or(refusal)
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn run_row(&self, id: RunId) -> Result<Run, Refusal> {
        if let Some(run) = self.fleet().run(id) {
            return Ok((**run).clone());
        }
        let run = self.journal().run(id).await.map_err(store)?;
        run.ok_or_else(|| Refusal::new(RefusalKind::Unknown, format!("there is no run {id}")))
    }

    async fn turns_of(&self, steps: &[Step]) -> Result<Vec<StepTurn>, Refusal> {
        let last: Vec<TurnId> = steps.iter().rev().filter_map(|step| step.turn).take(MOST_TURNS).collect();
        let mut turns = Vec::with_capacity(last.len());
        for id in last.into_iter().rev() {
            turns.extend(self.step_turn(id).await?);
        }
        Ok(turns)
    }

    async fn step_turn(&self, id: TurnId) -> Result<Option<StepTurn>, Refusal> {
        let (fleet, now) = (self.fleet(), self.now());
        if let Some(turn) = fleet.turn(id) {
            return Ok(Some(StepTurn {
                turn: id,
                state: turn.state,
                outcome: turn.outcome,
                worker: turn.worker.clone(),
                age_ms: now.since(turn.since()).0,
                waits: fleet.why_it_waits(turn, now),
                usage: None,
            }));
        }
        let Some(turn) = self.journal().turn(id).await.map_err(store)? else { return Ok(None) };
        let usage = self.journal().envelope(id).await.map_err(store)?.and_then(|envelope| envelope.usage);
        Ok(Some(StepTurn {
            turn: id,
            state: turn.state,
            outcome: turn.outcome,
            worker: turn.worker.clone(),
            age_ms: turn.since().since(turn.accepted).0,
            waits: None,
            usage,
        }))
    }
}
