//! The tools that begin or end something, and those that wait for it: sends, runs, workers, mail.
//! A wait that is over or cut off ends nothing: what was begun goes on.

use rmcp::model::CallToolResult;

use super::super::super::audit::About;
use super::super::{args, shapes};
use super::{Call, given};
use crate::engine::requests::{
    Pending, PendingKind, ReplyRequest, RunRequest, RunWaited, SendRequest, SpawnRequest, Waited,
};
use crate::fleet::caller::Caller;
use crate::fleet::ids::{RunId, TurnId};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::time::Span;

/// Messages of a poll unless told otherwise.
const SOME: usize = 20;

type Given = Result<CallToolResult, Refusal>;

impl Call<'_> {
    pub(super) async fn send(&self, request: SendRequest) -> Given {
        let wait = request.wait;
        let origin = self.request.origin(wait.is_some());
        // Boxed, so that a call that waits for the reply holds no room for what is over.
        let accepted = Box::pin(self.door.engine.send(&self.caller, request, &origin)).await?;
        self.noted.add(About::default().id(accepted.turn.id));
        let Some(wait) = wait else {
            return Ok(given(&shapes::Sent::Pending(Pending {
                pending: PendingKind::Accepted,
                turn: Some(accepted.turn.id),
                run: None,
                state: accepted.turn.state.word().into(),
                waits: accepted.waits,
                ahead: accepted.ahead,
                questions: Vec::new(),
            })));
        };
        self.turn(accepted.turn.id, wait).await.map(|sent| given(&sent))
    }

    pub(super) async fn run(&self, request: RunRequest) -> Given {
        let wait = request.wait;
        let origin = self.request.origin(wait.is_some());
        let started = Box::pin(self.door.engine.start_run(&self.caller, request, &origin)).await?;
        self.noted.add(About::default().id(started.id));
        let Some(wait) = wait else {
            return Ok(given(&shapes::Ran::Pending(Pending {
                pending: PendingKind::Accepted,
                turn: None,
                run: Some(started.id),
                state: "running".into(),
                waits: None,
                ahead: None,
                questions: Vec::new(),
            })));
        };
        self.whole_run(started.id, wait).await.map(|ran| given(&ran))
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self, turn: TurnId, wait: Span) -> Result<shapes::Sent, Refusal> {
        let engine = &self.door.engine;
        let why = || {
            let fleet = engine.fleet();
            let row = fleet.turn(turn);
            row.map_or_else(
                || format!("{turn} has ended"),
                |row| match fleet.why_it_waits(row, engine.now()) {
                    Some(waits) => format!("{turn} {}: {waits}", row.state.word()),
                    None => format!("{turn} {}", row.state.word()),
                },
            )
        };
        let waited = Box::pin(engine.wait_turn(&self.caller, turn, wait));
        let stands = || engine.wait_turn(&self.caller, turn, Span(0));
        Ok(match self.wait(why, waited, stands).await? {
            Waited::Settled(envelope) => shapes::Sent::Reply(envelope),
            Waited::Open(pending) => shapes::Sent::Pending(pending),
        })
    }

    /// Waits for a run.
    pub(super) async fn whole_run(&self, run: RunId, wait: Span) -> Result<shapes::Ran, Refusal> {
        let engine = &self.door.engine;
        let why = || match engine.fleet().run(run) {
            Some(row) => {
                let progress = row.progress.as_deref().map(|line| format!(": {line}")).unwrap_or_default();
                format!("{run}: {} of {} turns settled{progress}", row.settled, row.sent)
            }
            None => format!("{run} has ended"),
        };
        let waited = Box::pin(engine.wait_run(&self.caller, run, wait));
        let stands = || engine.wait_run(&self.caller, run, Span(0));
        Ok(match self.wait(why, waited, stands).await? {
            RunWaited::Ended(result) => shapes::Ran::Ended(result),
            RunWaited::Open(pending) => shapes::Ran::Pending(pending),
        })
    }

    pub(super) async fn poll(&self, args: args::Poll) -> Given {
        let engine = &self.door.engine;
        let limit = args.limit.unwrap_or(SOME);
        let mail = Box::pin(engine.poll(&self.caller, args.after, limit, args.wait));
        let stands = || engine.poll(&self.caller, args.after, limit, None);
        let mail = self.wait(|| "nothing has come yet".into(), mail, stands).await?;
        Ok(given(&mail))
    }

    pub(super) async fn ack(&self, args: args::Ack) -> Given {
        Ok(given(&self.door.engine.ack(&self.caller, args.messages).await?))
    }

    pub(super) async fn reply(&self, args: args::Reply) -> Given {
        let engine = &self.door.engine;
        if let Caller::Worker { .. } = self.caller {
            if args.question.is_some() {
                return Err(Refusal::invalid("a worker answers no question")
                    .hint("leave 'question' out to reply to your turn, or ask with fleet_ask"));
            }
            let noted = engine.reply(&self.caller, args.turn, args.text).await?;
            return Ok(given(&shapes::Replied::Noted(noted)));
        }
        let answer = ReplyRequest { question: args.question, turn: args.turn, text: args.text };
        let question = engine.answer(&self.caller, answer).await?;
        Ok(given(&shapes::Replied::Answered { question: question.id, answered: true }))
    }

    pub(super) async fn cancel(&self, args: args::Cancel) -> Given {
        let engine = &self.door.engine;
        match (args.turn, args.run) {
            (Some(turn), None) => Ok(given(&shapes::Cancelled::Turn(engine.cancel_turn(&self.caller, turn).await?))),
            (None, Some(run)) => {
                Ok(given(&shapes::Cancelled::Run(Box::new(engine.cancel_run(&self.caller, run).await?))))
            }
            _ => Err(Refusal::invalid("give exactly one of 'turn' and 'run'")),
        }
    }

    pub(super) async fn spawn(&self, request: SpawnRequest) -> Given {
        let role = request.role.clone();
        let origin = self.request.origin(true);
        let worker = Box::pin(self.door.engine.spawn(&self.caller, request, &origin));
        let stands = || {
            std::future::ready(Err(Refusal::new(
                RefusalKind::Unavailable,
                "fleetd is shutting down; the worker goes on coming up",
            )))
        };
        Ok(given(&self.wait(|| format!("a worker of {role} is starting"), worker, stands).await?))
    }

    pub(super) async fn stop(&self, args: args::Stop) -> Given {
        Ok(given(&self.door.engine.stop(&self.caller, &args.worker, args.kill).await?))
    }
}
