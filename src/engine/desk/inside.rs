//! What a worker asks for inside its own turn, and what a client of a session gets that was cut off.
//! Nobody names a turn of somebody else here: the fleet looks for the worker's own.

use std::sync::Arc;

use super::unexpected;
use crate::engine::handle::Handle;
use crate::engine::requests::{AskRequest, Asked, Noted, Origin, Resumed};
use crate::fleet::caller::Caller;
use crate::fleet::ids::{Key, TurnId};
use crate::fleet::input::{Answer, Call};
use crate::fleet::mail::{Asker, Question};
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;

impl Handle {
    /// Keeps a worker's reply for the end of its turn.
    pub async fn reply(&self, caller: &Caller, turn: Option<TurnId>, text: String) -> Result<Noted, Refusal> {
        let bytes = text.len();
        match self.call(caller, Call::Reply { turn, text: text.into() }).await? {
            Answer::Noted { turn, replaced } => Ok(Noted { turn: turn.id, bytes, replaced }),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks inside a worker's turn and waits for the answer.
    pub async fn ask(
        &self,
        caller: &Caller,
        request: AskRequest,
        origin: &Origin,
        wait: Span,
    ) -> Result<Asked, Refusal> {
        let until = self.until(wait);
        let (turn, text, request) = (request.turn, request.text.into(), origin.request.clone());
        match self.call(caller, Call::Ask { turn, text, until, request }).await? {
            Answer::Answered(question) | Answer::Unanswered(question) => Ok(asked(&question)),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits on for what a request of a session began.
    pub async fn resume(&self, caller: &Caller, request: Key, wait: Span) -> Result<Resumed, Refusal> {
        let until = self.until(wait);
        Ok(match self.call(caller, Call::Resume { request, until }).await? {
            Answer::Settled(turn, envelope) => Resumed::Settled(self.envelope_of(&turn, envelope).await?),
            Answer::Open(turn, questions) => Resumed::Open(self.pending_turn(&turn, &questions)),
            Answer::Ended(run) => Resumed::Ended(Box::new(self.run_result(&run).await?)),
            Answer::RunOpen(run, questions) => Resumed::Open(self.pending_run(&run, &questions)),
            Answer::Worker(worker) => Resumed::Worker(Box::new(self.fleet().view_worker(&worker, self.now()))),
            Answer::Answered(question) | Answer::Unanswered(question) => Resumed::Asked(asked(&question)),
            other => return Err(unexpected(&other)),
        })
    }
}

fn asked(question: &Arc<Question>) -> Asked {
    let turn = match question.asker {
        Asker::Turn(turn) => Some(turn),
        Asker::Step { .. } => None,
    };
    Asked { question: question.id, turn, answer: question.answer.clone() }
}
