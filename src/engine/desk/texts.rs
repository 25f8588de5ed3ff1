//! What a caller is shown of rows, with their texts read back from the store: envelopes, run values, mail.
//! The fleet holds no texts, so each look reads them anew. Nothing is decided or changed here.

use std::sync::Arc;

use serde_json::Value;

use super::store;
use crate::engine::handle::Handle;
use crate::engine::requests::{MailItem, Pending, PendingKind, RunResult};
use crate::fleet::envelope::Envelope;
use crate::fleet::mail::{About, Message, Question};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::run::Run;
use crate::fleet::turn::Turn;

impl Handle {
    pub(super) async fn envelope_of(
        &self,
        turn: &Turn,
        at_hand: Option<Arc<Envelope>>,
    ) -> Result<Arc<Envelope>, Refusal> {
        match at_hand {
            Some(envelope) => Ok(envelope),
            None => self.journal().envelope(turn.id).await.map_err(store)?.ok_or_else(|| {
                Refusal::new(
                    RefusalKind::Internal,
                    format!("turn {} is settled but its envelope is not stored", turn.id),
                )
            }),
        }
    }

    pub(super) async fn run_result(&self, run: &Run) -> Result<RunResult, Refusal> {
        let value = match run.outcome {
            Some(_) => self.journal().run_value(run.id).await.map_err(store)?.unwrap_or_default(),
            None => Arc::new(Value::Null),
        };
        Ok(RunResult { run: run.clone(), value })
    }

    pub(super) async fn mail_item(&self, message: &Message) -> Result<Option<MailItem>, Refusal> {
        let fleet = self.fleet();
        let mut item = MailItem {
            message: message.id,
            at: message.at,
            shown: message.shown,
            reply: None,
            question: None,
            run: None,
            notice: None,
        };
        match &message.about {
            About::Reply(turn) => item.reply = self.journal().envelope(*turn).await.map_err(store)?,
            About::Late(turn) => item.reply = self.journal().late(*turn).await.map_err(store)?,
            About::Question(id) => item.question = fleet.question(*id).map(|question| fleet.view_question(question)),
            About::Run(id) => {
                let run = match fleet.run(*id) {
                    Some(run) => Some((**run).clone()),
                    None => self.journal().run(*id).await.map_err(store)?,
                };
                item.run = match run {
                    Some(run) => Some(self.run_result(&run).await?),
                    None => None,
                };
            }
            About::Notice(text) => item.notice = Some(text.clone()),
        }
        // A message that was collected while its text was read is no longer there to be shown.
        let there = item.reply.is_some() || item.question.is_some() || item.run.is_some() || item.notice.is_some();
        Ok(there.then_some(item))
    }

    pub(super) fn pending_turn(&self, turn: &Turn, questions: &[Arc<Question>]) -> Pending {
        let fleet = self.fleet();
        Pending {
            pending: pending_kind(questions),
            turn: Some(turn.id),
            run: None,
            state: turn.state.word().into(),
            waits: fleet.why_it_waits(turn, self.now()),
            ahead: fleet.ahead(turn),
            questions: questions.iter().map(|question| fleet.view_question(question)).collect(),
        }
    }

    pub(super) fn pending_run(&self, run: &Run, questions: &[Arc<Question>]) -> Pending {
        let fleet = self.fleet();
        Pending {
            pending: pending_kind(questions),
            turn: None,
            run: Some(run.id),
            state: "running".into(),
            waits: Some(format!("{} of {} turns settled", run.settled, run.sent)),
            ahead: None,
            questions: questions.iter().map(|question| fleet.view_question(question)).collect(),
        }
    }
}

fn pending_kind(questions: &[Arc<Question>]) -> PendingKind {
    match questions {
        [] => PendingKind::WaitOver,
        _ => PendingKind::Question,
    }
}
