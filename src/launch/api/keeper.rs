//! The keeper of one session, from its start or adoption to its end: takes the orders for it, hears its events, asks its
//! program, and reports what that means.
//!
//! How a session is started is in `start`, how a text gets into it in `hand`, how a turn ends in `settle`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::ended::gone;
use super::super::ending;
use super::super::fill::Fill;
use super::super::session::begin::begin;
use super::super::session::dir::{Facts, SessionDir, said};
use super::super::session::front::Order;
use super::super::session::gone::how_it_ended;
use super::super::session::pane;
use super::super::session::place::Site;
use super::super::session::sweep::Kind;
use super::super::session::tree::Tree;
use super::Desk;
use super::attach::Hold;
use super::events::Events;
use super::hand::At;
use super::http::{Address, HttpError};
use super::stop::Stopping;
use crate::engine::panes::Pane;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::{Api, Call, Plan};
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::signs::Sign;
use crate::fleet::worker::{Worker, WorkerState};
use crate::process::ProcessId;

/// How often a program that has nothing to do is asked whether it is still there.
const AT_REST: Duration = Duration::from_secs(10);
/// How long a program may take to answer what it only has to look up.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// The longest record that is read.
const RECORD: usize = 64 * 1024 * 1024;

/// What a session is at.
pub(super) enum Doing {
    /// Nothing: it waits for a text.
    Idle,
    /// It has a turn.
    At(Box<At>),
    /// It was told to stop a turn that is over for the fleet.
    Stopping(Stopping),
}

/// The keeper of one session.
pub(super) struct Keeper {
    pub(super) desk: Arc<Desk>,
    pub(super) worker: Arc<Worker>,
    pub(super) dir: SessionDir,
    pub(super) stop: CancellationToken,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) doing: Doing,
    pub(super) facts: Facts,
    pub(super) pane: Option<Pane>,
    /// Its events, while their stream lives.
    pub(super) events: Option<Events>,
    /// When the stream is opened anew at the earliest, and how long it was waited for that the last time.
    pub(super) reopen: Instant,
    pub(super) reopen_after: Duration,
    /// How often in a row a text was not given, and until when none is tried again.
    pub(super) refusals: u32,
    pub(super) retry: Instant,
    /// What its events mean, for the turn that it is at.
    pub(super) signs: Arc<[Sign]>,
    /// The turn whose end was last told.
    pub(super) ended: Option<TurnId>,
    /// Whether the program has listed the fleet's tools.
    pub(super) listed: bool,
    /// How often its conversation is still to be shown in its pane.
    pub(super) shows: u32,
    /// Since when it does not answer.
    pub(super) silent: Option<Instant>,
    /// What was reported to be in its way.
    pub(super) barred: Option<String>,
    /// When it is asked next without a reason.
    pub(super) next: Instant,
    /// Keeps the program of somebody else for this worker.
    pub(super) hold: Option<Hold>,
}

impl Keeper {
    pub(super) fn new(
        desk: Arc<Desk>,
        worker: Arc<Worker>,
        orders: UnboundedReceiver<Order>,
        stop: CancellationToken,
    ) -> Self {
        let dir = desk.common.dir_of(Kind::Api, &worker);
        // What the fleet was told of an adopted session is not known: the first look is reported in any case.
        let barred = (worker.state != WorkerState::Starting).then(String::new);
        let now = Instant::now();
        Self {
            desk,
            worker,
            dir,
            stop,
            orders,
            doing: Doing::Idle,
            facts: Facts::default(),
            pane: None,
            events: None,
            reopen: now,
            reopen_after: Duration::ZERO,
            refusals: 0,
            retry: now,
            signs: Arc::new([]),
            ended: None,
            listed: false,
            shows: 0,
            silent: None,
            barred,
            next: now,
            hold: None,
        }
    }

    /// Keeps the session to its end and reports it.
    pub(super) async fn run(mut self, may_start: bool) {
        let root = match self.is_attached() {
            true if self.attach(may_start).await => None,
            true => return,
            false => match begin(&mut self, may_start).await {
                Some(root) => Some(root),
                None => return,
            },
        };
        let gone = async move {
            match root {
                Some(root) => gone(root).await,
                // What somebody else has started may come back.
                None => std::future::pending().await,
            }
        };
        tokio::pin!(gone);
        self.next = Instant::now();
        loop {
            let next = self.next;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.end(root, "it was stopped").await,
                () = &mut gone => return self.report_gone().await,
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                // Before the events, which are hints and may never stop coming.
                () = tokio::time::sleep_until(next) => {
                    self.next = Instant::now() + AT_REST;
                    self.look().await;
                }
                event = next_of(&mut self.events) => self.heard(event).await,
            }
        }
    }

    /// Asks its program after this time at the latest.
    pub(super) fn soon(&mut self, after: Duration) {
        self.next = self.next.min(Instant::now() + after);
    }

    /// Takes an order.
    pub(super) async fn take(&mut self, order: Order) {
        match order {
            Order::Hand(turn, note) => self.take_turn(turn, note).await,
            Order::Interrupt(turn) => self.interrupt(turn).await,
            Order::Forget(turn) => self.forget(turn).await,
            Order::Report(_, reply) => {
                let launcher = &self.worker.profile.launcher;
                let message = format!(
                    "worker {} is called by fleetd, and its launcher '{launcher}' takes no hooks",
                    self.worker.name
                );
                // Who reported may have given up waiting.
                let _ = reply.send(Err(Refusal::new(RefusalKind::Conflict, message).hint("report nothing")));
            }
            Order::Listed(source) if !self.listed && self.dir.is_program(source) => {
                self.listed = true;
                self.facts.listed = true;
                self.keep_facts().await;
            }
            // What its record says of the end counts.
            Order::Replied(_) | Order::Listed(_) => {}
        }
    }

    /// Returns the launch plan, without which no worker is kept here.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.worker.profile.plan.as_deref()
    }

    /// Returns how its program is called.
    pub(super) fn api(&self) -> Option<Api> {
        self.plan().and_then(|plan| plan.api.as_deref()).cloned()
    }

    /// Returns where the session is made.
    pub(super) fn site(&self) -> Site<'_> {
        self.desk.common.site(&self.worker, &self.dir)
    }

    /// Returns its worktree, which there may be.
    pub(super) fn tree(&self) -> Tree<'_> {
        let is_handed_on = self.desk.handed_on.has(&self.worker);
        self.desk.common.tree(&self.worker, &self.dir, &self.stop, is_handed_on)
    }

    /// Takes up what an earlier daemon wrote down of the session.
    pub(super) fn recall(&mut self) {
        let mut facts = std::mem::take(&mut self.facts);
        self.site().recall(&mut facts);
        self.facts = facts;
        self.listed |= self.facts.listed;
        self.learn_signs();
    }

    /// Writes down what is known of it, for a daemon that takes it over.
    pub(super) async fn keep_facts(&self) {
        super::super::session::hear::keep(&self.worker, &self.facts, &self.dir).await;
    }

    /// Returns what the markers of its plan stand for.
    pub(super) fn fill(&self) -> Fill {
        let at = match &self.doing {
            Doing::At(at) => Some((at.turn, at.text.as_str())),
            _ => None,
        };
        self.site().fill(&self.facts, at)
    }

    /// Returns a part of the plan with its markers filled in.
    pub(super) fn filled<T: Serialize + DeserializeOwned>(&self, part: &T, fill: Fill) -> Result<T, String> {
        let part = serde_json::to_value(part).map_err(|error| error.to_string())?;
        let part = fill.json(&part).map_err(|error| format!("its launch plan: {error}"))?;
        serde_json::from_value(part).map_err(|error| error.to_string())
    }

    /// Makes its events known by the turn that it is at.
    pub(super) fn learn_signs(&mut self) {
        let signs = self.plan().map(|plan| plan.signs.clone()).unwrap_or_default();
        match self.filled(&signs, self.fill()) {
            Ok(signs) => self.signs = signs.into(),
            Err(why) => tracing::warn!(worker = %self.worker.name, why, "its events are not understood"),
        }
    }

    /// Returns where its program is called.
    pub(super) fn address(&self) -> Address {
        if self.is_attached() {
            return self.address_of_others().unwrap_or_else(|_| Address::new(String::new(), String::new(), None));
        }
        let authority = format!("127.0.0.1:{}", self.facts.port.unwrap_or_default());
        let user = self.plan().and_then(|plan| plan.api.as_ref()?.user.as_deref());
        Address::new(authority, String::new(), user.map(|user| (user, self.facts.password.as_str())))
    }

    /// Asks its program for something that it only has to look up.
    pub(super) async fn ask(&self, call: &Call) -> Result<Value, HttpError> {
        self.ask_for(call, self.fill(), ANSWER).await
    }

    /// As [`Keeper::ask`], with these markers, and no longer than this.
    pub(super) async fn ask_for(&self, call: &Call, fill: Fill, limit: Duration) -> Result<Value, HttpError> {
        let address = self.address();
        let unfit = |why: String| HttpError::Unheard(address.authority.clone(), why);
        let call = self.filled(call, fill).map_err(unfit)?;
        tokio::select! {
            answer = address.ask(call.post, &call.path, call.body.as_ref(), limit) => answer,
            () = self.stop.cancelled() => Err(HttpError::Broken("the worker is being stopped".into())),
        }
    }

    /// Asks for the program's own record and returns what it says, as it came.
    pub(super) async fn ask_record(&self, call: &Call) -> Result<String, HttpError> {
        let address = self.address();
        tokio::select! {
            answer = address.ask_text(call.post, &call.path, call.body.as_ref(), (ANSWER, RECORD)) => answer,
            () = self.stop.cancelled() => Err(HttpError::Broken("the worker is being stopped".into())),
        }
    }

    /// Asks for something and returns whether the answer shows what the plan says it must.
    pub(super) async fn shows(&self, call: &Call) -> Result<bool, HttpError> {
        let shown = self.filled(call, self.fill()).unwrap_or_default();
        self.ask(call).await.map(|answer| shown.is_shown(&answer))
    }

    /// Reports what is in the way of the worker, or that nothing is, if that is news.
    pub(super) async fn bar_by(&mut self, why: Option<String>) {
        let worker = self.worker.name.clone();
        let clear = Sighting::Clear { worker: worker.clone() };
        let sighting = why.clone().map_or(clear, |why| Sighting::Blocked { worker, why });
        self.bar(why, sighting).await;
    }

    /// As [`Keeper::bar_by`], by this sighting.
    pub(super) async fn bar(&mut self, why: Option<String>, sighting: Sighting) {
        if self.barred != why {
            self.barred = why;
            self.desk.common.tell(sighting).await;
        }
    }

    /// Ends everything of the session and reports it.
    pub(super) async fn end(&mut self, root: Option<ProcessId>, why: &str) {
        if let Some(root) = root {
            if self.pane.is_none() {
                // One that was never looked for since a restart: its pane is found by its process, and only while that
                // lives.
                self.pane = pane::find(self.desk.host(), &self.dir).await.ok();
            }
            ending::end(root).await;
        }
        let kept = self.clear_away().await;
        let (worker, session) = (self.worker.name.clone(), self.worker.session);
        self.desk.common.tell(Sighting::Gone { worker, session, why: format!("{why}{kept}") }).await;
    }

    /// Its pane-exec is gone by itself, and its record with it.
    pub(super) async fn report_gone(&mut self) {
        let record = how_it_ended(&self.dir, &self.worker.name, &self.stop).await;
        let why = said(record.as_deref()) + &self.clear_away().await;
        self.desk
            .common
            .tell(Sighting::Gone { worker: self.worker.name.clone(), session: self.worker.session, why })
            .await;
    }

    /// Closes the pane of a session of which nothing runs any more, puts its worktree away, and removes its files.
    /// Returns what is to be said of what is kept.
    pub(super) async fn clear_away(&mut self) -> String {
        pane::close(self.desk.host(), self.pane.take(), &self.worker).await;
        // The files go last: as long as they are there, a daemon that comes back does all of this again.
        let kept = self.tree().put_away().await;
        if let Err(error) = self.dir.on_disk(SessionDir::remove).await {
            tracing::warn!(worker = %self.worker.name, %error, "the files of a session that ended stay");
        }
        kept.map(|kept| format!("; its worktree {kept}")).unwrap_or_default()
    }
}

/// Returns the next event; nothing at the end of a stream, and never where there is none.
async fn next_of(events: &mut Option<Events>) -> Option<Value> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}
