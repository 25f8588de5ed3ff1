//! The keeper of one session, from its start or adoption to its end: takes the orders for it, reads what its program
//! writes, and reports what that means.
//!
//! How a session is started is in `start`, what happens with a turn in `work`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Child;
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
use super::super::session::hear;
use super::super::session::place::Site;
use super::super::session::sweep::Kind;
use super::super::session::tree::Tree;
use super::Desk;
use super::output::Output;
use super::pipe::Pipe;
use super::work::Doing;
use crate::engine::ports::Report;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::refusal::Refusal;
use crate::fleet::signs::{self, Meaning};
use crate::fleet::worker::{Worker, WorkerState};
use crate::process::ProcessId;

/// How often it is looked while something is expected: a file that grows tells nobody.
const AT_WORK: Duration = Duration::from_millis(20);
/// How often it is looked while nothing is.
const AT_REST: Duration = Duration::from_secs(1);
/// How often the guarded settings are looked at.
const SETTINGS: Duration = Duration::from_secs(1);
/// How long to wait before what cannot be read now is tried again.
const REST: Duration = Duration::from_secs(1);
/// How long the order for a turn may take that an adopted session is known to have.
const TO_BE_ORDERED: Duration = Duration::from_secs(2);
/// How many lines of stderr are told of a session that ended.
const LAST_LINES: usize = 6;

/// The keeper of one session.
pub(super) struct Keeper {
    pub(super) desk: Arc<Desk>,
    pub(super) worker: Arc<Worker>,
    pub(super) dir: SessionDir,
    pub(super) stop: CancellationToken,
    pub(super) orders: UnboundedReceiver<Order>,
    pub(super) doing: Doing,
    pub(super) facts: Facts,
    pub(super) output: Output,
    pub(super) pipe: Pipe,
    /// What the session has cost by the lines that were read.
    pub(super) cost: f64,
    /// The turn whose end was last told.
    pub(super) ended: Option<TurnId>,
    /// Whether the program has listed the fleet's tools.
    pub(super) listed: bool,
    /// Whether it was told that this session must end: then nothing is written any more.
    pub(super) is_broken: bool,
    /// Whether its program is gone, and what it wrote is all there will be.
    pub(super) is_gone: bool,
    /// What was reported to be in its way.
    pub(super) barred: Option<String>,
    /// The pane-exec that this very daemon started, which is waited for.
    pub(super) child: Option<Child>,
    settings_seen: Option<Instant>,
}

impl Keeper {
    pub(super) fn new(
        desk: Arc<Desk>,
        worker: Arc<Worker>,
        orders: UnboundedReceiver<Order>,
        stop: CancellationToken,
    ) -> Self {
        let dir = desk.common.dir_of(Kind::Lines, &worker);
        // What the fleet was told of an adopted session is not known: the first look is reported in any case.
        let barred = (worker.state != WorkerState::Starting).then(String::new);
        Self {
            desk,
            worker,
            dir,
            stop,
            orders,
            doing: Doing::Idle,
            facts: Facts::default(),
            output: Output::default(),
            pipe: Pipe::default(),
            cost: 0.0,
            ended: None,
            listed: false,
            is_broken: false,
            is_gone: false,
            barred,
            child: None,
            settings_seen: None,
        }
    }

    /// Keeps the session to its end and reports it.
    pub(super) async fn run(mut self, may_start: bool) {
        let Some(root) = begin(&mut self, may_start).await else { return };
        let gone = gone(root);
        tokio::pin!(gone);
        let mut next = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.end(root, "it was stopped").await,
                () = &mut gone => return self.report_gone().await,
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                () = self.pipe.has_room() => self.write_on().await,
                () = tokio::time::sleep_until(next) => {
                    self.look_at_settings(SETTINGS).await;
                    self.read_on().await;
                    self.look_at_time().await;
                }
            }
            let is_idle = matches!(self.doing, Doing::Idle);
            next = Instant::now() + if is_idle { AT_REST } else { AT_WORK };
        }
    }

    /// Takes an order.
    pub(super) async fn take(&mut self, order: Order) {
        match order {
            Order::Hand(turn, note) => self.take_turn(turn, note).await,
            Order::Interrupt(turn) => self.interrupt(turn).await,
            Order::Forget(turn) => self.forget(turn).await,
            Order::Report(report, reply) => {
                let answer = self.hear(report).await;
                // Who reported may have given up waiting.
                let _ = reply.send(answer);
            }
            Order::Listed(source) if !self.listed && self.dir.is_program(source) => {
                self.listed = true;
                self.facts.listed = true;
                hear::keep(&self.worker, &self.facts, &self.dir).await;
            }
            // What its lines say of the end counts.
            Order::Replied(_) | Order::Listed(_) => {}
        }
    }

    /// Returns the launch plan, without which no worker is kept here.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.worker.profile.plan.as_deref()
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

    /// Returns what the markers of its plan stand for.
    pub(super) fn fill(&self) -> Fill {
        self.site().fill(&self.facts, self.doing.at())
    }

    /// Takes up what an earlier daemon wrote down of the session.
    pub(super) fn recall(&mut self) {
        let mut facts = std::mem::take(&mut self.facts);
        self.site().recall(&mut facts);
        self.facts = facts;
        self.listed |= self.facts.listed;
        self.cost = self.facts.cost;
        self.output = Output::from(self.dir.output(), self.facts.read);
    }

    /// Hears what the program reports by a hook. How a turn ends is said by its lines alone.
    async fn hear(&mut self, report: Report) -> Result<Option<Value>, Refusal> {
        let worker = self.worker.clone();
        let plan = hear::admitted(&worker, &self.facts, &report)?;
        let Some(read) = signs::read(&plan.signs, &report.payload) else { return Ok(None) };
        tracing::debug!(worker = %worker.name, meaning = read.sign.is.word(), "reported");
        let is_program = self.dir.is_program(report.source);
        if is_program {
            hear::keep_transcript(&worker, plan, &mut self.facts, &self.dir, &report.payload).await;
        }
        match read.sign.is {
            Meaning::Context | Meaning::Nothing => {}
            Meaning::Settings => self.look_at_settings(Duration::ZERO).await,
            _ if !is_program => return Err(hear::of_child(&worker)),
            Meaning::Taken => self.hear_taken(read.text.as_deref()).await,
            Meaning::Blocked => {
                let why = read
                    .why
                    .clone()
                    .map_or_else(|| "it asks a person".into(), |why| format!("it asks a person: {why}"));
                self.bar_by(Some(why)).await;
            }
            _ => {}
        }
        hear::answer(read.sign, &self.fill())
    }

    /// Sees whether settings that would move the model's address have been written since the start; then the worker is
    /// stopped.
    pub(super) async fn look_at_settings(&mut self, at_most: Duration) {
        if self.is_broken || self.settings_seen.is_some_and(|at| at.elapsed() < at_most) {
            return;
        }
        self.settings_seen = Some(Instant::now());
        let Some(plan) = self.plan() else { return };
        if let Some(name) = hear::moved(plan, self.fill(), &self.facts, &self.dir).await {
            let why = format!("settings that would move its model's address were written while it ran: {name}");
            self.break_off(why).await;
        }
    }

    /// This session must not go on.
    pub(super) async fn break_off(&mut self, why: String) {
        if !self.is_broken {
            self.is_broken = true;
            self.desk.common.tell(Sighting::Broke { worker: self.worker.name.clone(), why }).await;
        }
    }

    /// Reports what is in the way of the worker, or that nothing is, if that is news.
    pub(super) async fn bar_by(&mut self, why: Option<String>) {
        let worker = self.worker.name.clone();
        let sighting =
            why.clone().map_or(Sighting::Clear { worker: worker.clone() }, |why| Sighting::Blocked { worker, why });
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
    pub(super) async fn end(&mut self, root: ProcessId, why: &str) {
        ending::end(root).await;
        let kept = self.clear_away().await;
        let (worker, session) = (self.worker.name.clone(), self.worker.session);
        self.desk.common.tell(Sighting::Gone { worker, session, why: format!("{why}{kept}") }).await;
    }

    /// Its pane-exec is gone by itself.
    pub(super) async fn report_gone(&mut self) {
        let record = how_it_ended(&self.dir, &self.worker.name, &self.stop).await;
        self.is_gone = true;
        self.await_turn().await;
        self.read_to_now().await;
        let why = self.last_words(said(record.as_deref()));
        let why = why + &self.clear_away().await;
        self.desk
            .common
            .tell(Sighting::Gone { worker: self.worker.name.clone(), session: self.worker.session, why })
            .await;
    }

    /// A session that ended while no daemon was there may have ended its turn before: which one, the order says.
    async fn await_turn(&mut self) {
        let until = Instant::now() + TO_BE_ORDERED;
        while self.worker.turn.is_some() && matches!(self.doing, Doing::Idle) && self.ended.is_none() {
            match tokio::time::timeout_at(until, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                _ => return,
            }
        }
    }

    /// Returns how a session ended, with what its program complained of last.
    pub(super) fn last_words(&self, why: String) -> String {
        let stderr = self.dir.stderr_tail();
        let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        match lines[lines.len().saturating_sub(LAST_LINES)..].join("\n") {
            last if last.is_empty() => why,
            last => format!("{why}; its last words on stderr:\n{last}"),
        }
    }

    /// Puts the worktree of a session away of which nothing runs any more, and removes its files. Returns what is to be
    /// said of what is kept.
    pub(super) async fn clear_away(&mut self) -> String {
        if let Some(mut child) = self.child.take()
            && let Err(error) = child.wait().await
        {
            tracing::debug!(worker = %self.worker.name, %error, "a pane-exec was waited for by somebody else");
        }
        // The files go last: as long as they are there, a daemon that comes back does all of this again.
        let kept = self.tree().put_away().await;
        if let Err(error) = self.dir.on_disk(SessionDir::remove).await {
            tracing::warn!(worker = %self.worker.name, %error, "the files of a session that ended stay");
        }
        kept.map(|kept| format!("; its worktree {kept}")).unwrap_or_default()
    }

    pub(super) async fn rest(&self) {
        tokio::select! {
            () = tokio::time::sleep(REST) => {}
            () = self.stop.cancelled() => {}
        }
    }
}
