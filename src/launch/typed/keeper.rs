//! The keeper of one session, from its start or adoption to its end: takes the orders for it, looks at its pane when
//! there is reason to, and reports what it saw.
//!
//! How a session is started is in `start`, what happens with a turn in `work`.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver};
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
use super::look::Look;
use super::sessions::Placed;
use super::stop::Stopped;
use super::work::Doing;
use crate::engine::panes::{Pane, PaneError, Screen};
use crate::fleet::input::Sighting;
use crate::fleet::plan::Plan;
use crate::fleet::typing::Typing;
use crate::fleet::worker::{Worker, WorkerState};
use crate::process::ProcessId;

/// How often something in the way of the next text is looked at again.
const BARRED: Duration = Duration::from_secs(1);
/// How often the guarded settings are looked at while there is something to look at.
const SETTINGS: Duration = Duration::from_secs(1);
/// How soon after a change the screen is looked at; a screen that never rests is not looked at more often.
const SETTLE: Duration = Duration::from_millis(50);
/// How long to wait before what cannot be read or reached now is tried again.
const REST: Duration = Duration::from_secs(1);

/// How a keeper is told things, and tells where its session is.
pub(super) struct Ways {
    pub orders: UnboundedReceiver<Order>,
    pub stop: CancellationToken,
    pub look: Arc<Notify>,
    pub placing: mpsc::Sender<Placed>,
}

/// The keeper of one session.
pub(super) struct Keeper {
    pub(super) desk: Arc<Desk>,
    pub(super) worker: Arc<Worker>,
    pub(super) dir: SessionDir,
    pub(super) stop: CancellationToken,
    pub(super) orders: UnboundedReceiver<Order>,
    look: Arc<Notify>,
    placing: mpsc::Sender<Placed>,
    pane: Option<Pane>,
    pub(super) doing: Doing,
    /// The text that it was stopped at last.
    pub(super) stopped: Option<Stopped>,
    pub(super) facts: Facts,
    /// Whether the program has listed the fleet's tools.
    pub(super) listed: bool,
    /// The text of the last reply, by which one that is told again is known.
    pub(super) last_reply: Option<Arc<str>>,
    /// When the guarded settings were last looked at.
    pub(super) settings_seen: Option<Instant>,
    /// Whether it was told that this session must end: then nothing is typed any more.
    pub(super) is_broken: bool,
    /// What was reported to be in the way of the next text.
    pub(super) barred: Option<String>,
    /// When the pane is looked at next without being told to.
    pub(super) next: Option<Instant>,
}

impl Keeper {
    pub(super) fn new(desk: Arc<Desk>, worker: Arc<Worker>, ways: Ways) -> Self {
        let dir = desk.common.dir_of(Kind::Typed, &worker);
        let Ways { orders, stop, look, placing } = ways;
        // What the fleet was told of an adopted session is not known: the first look is reported in any case.
        let barred = (worker.state != WorkerState::Starting).then(String::new);
        Self {
            desk,
            worker,
            dir,
            stop,
            orders,
            look,
            placing,
            pane: None,
            doing: Doing::Idle,
            stopped: None,
            facts: Facts::default(),
            listed: false,
            last_reply: None,
            settings_seen: None,
            is_broken: false,
            barred,
            next: None,
        }
    }

    /// Returns the launch plan; a worker of an older version has none.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.worker.profile.plan.as_deref()
    }

    /// Returns where the session is made.
    pub(super) fn site(&self) -> Site<'_> {
        self.desk.common.site(&self.worker, &self.dir)
    }

    /// Takes up what an earlier daemon wrote down of the session.
    pub(super) fn recall(&mut self) {
        let mut facts = std::mem::take(&mut self.facts);
        self.site().recall(&mut facts);
        self.facts = facts;
        self.listed |= self.facts.listed;
    }

    /// Returns what the markers of its plan stand for.
    pub(super) fn fill(&self) -> Fill {
        let at = match &self.doing {
            Doing::Working(working) => Some((working.turn, working.text.as_str())),
            _ => None,
        };
        self.site().fill(&self.facts, at)
    }

    /// Returns its worktree, which there may be.
    pub(super) fn tree(&self) -> Tree<'_> {
        let is_handed_on = self.desk.handed_on.has(&self.worker);
        self.desk.common.tree(&self.worker, &self.dir, &self.stop, is_handed_on)
    }

    pub(super) fn typing(&self) -> Typing {
        self.worker.profile.typing()
    }

    /// Keeps the session to its end and reports it.
    pub(super) async fn run(mut self, may_start: bool) {
        let Some(root) = begin(&mut self, may_start).await else { return };
        // What stands on the screen of an adopted session is not known yet.
        self.next = Some(Instant::now());
        loop {
            let next = self.next;
            let due = async move {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.end(root, "it was stopped").await,
                () = gone(root) => return self.report_gone().await,
                order = self.orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                () = self.look.notified() => self.soon(SETTLE),
                () = due => {
                    self.next = None;
                    self.look_around().await;
                }
            }
        }
    }

    /// Looks at the pane after this time at the latest.
    pub(super) fn soon(&mut self, after: Duration) {
        let at = Instant::now() + after;
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// Looks at the pane and does what follows.
    async fn look_around(&mut self) {
        if self.plan().is_some_and(|plan| plan.guard.is_some())
            && (self.is_before_paste() || self.settings_seen.is_none_or(|at| at.elapsed() >= SETTINGS))
        {
            self.look_at_settings().await;
        }
        if self.is_broken {
            return self.give_back("the worker is being stopped").await;
        }
        if let Some(why) = self.site().astray(&self.facts)
            && (matches!(self.doing, Doing::Idle) || self.is_before_paste())
        {
            self.give_back(&why).await;
            return self.bar(Some(Sighting::Unreachable { worker: self.worker.name.clone(), why })).await;
        }
        match self.screen().await {
            Ok(screen) => {
                let look = Look::of(&screen, &self.typing());
                self.step(&screen, &look).await;
            }
            Err(why) => {
                self.bar(Some(Sighting::Unreachable { worker: self.worker.name.clone(), why })).await;
                self.soon(REST);
            }
        }
    }

    /// Returns what the pane shows; if the pane is not where it was, it is looked for by its process.
    pub(super) async fn screen(&mut self) -> Result<Screen, String> {
        let host = self.desk.host.clone();
        if let Some(pane) = self.pane.clone() {
            match host.screen(pane).await {
                Err(PaneError::Gone(_)) => self.pane = None,
                other => return other.map_err(|error| error.to_string()),
            }
        }
        let pane = pane::find(&*host, &self.dir).await?;
        self.place(pane.clone()).await;
        host.screen(pane).await.map_err(|error| error.to_string())
    }

    /// The session is in this pane now.
    pub(super) async fn place(&mut self, pane: Pane) {
        let (worker, session) = (self.worker.name.clone(), self.worker.session);
        // Nobody listens any more only when the daemon is going down.
        let _ = self.placing.send(Placed { worker, session, pane: pane.id.clone() }).await;
        self.pane = Some(pane);
    }

    /// Returns the pane in which the session was last seen.
    pub(super) fn pane(&self) -> Option<Pane> {
        self.pane.clone()
    }

    /// Reports what is in the way of the next text, if that is news, and looks again as long as something is.
    pub(super) async fn bar(&mut self, what: Option<Sighting>) {
        let why = what.as_ref().map(|sighting| match sighting {
            Sighting::Blocked { why, .. } | Sighting::Unreachable { why, .. } => why.clone(),
            _ => String::new(),
        });
        if why.is_some() {
            self.soon(BARRED);
        }
        if self.barred != why {
            self.barred = why;
            let clear = || Sighting::Clear { worker: self.worker.name.clone() };
            self.desk.common.tell(what.unwrap_or_else(clear)).await;
        }
    }

    /// Ends everything of the session and reports it.
    pub(super) async fn end(&mut self, root: ProcessId, why: &str) {
        if self.pane.is_none() {
            // One that was never looked at since a restart: its pane is found by its process, and only while that lives.
            self.pane = self.desk.host().pane_of(vec![root.into()]).await.unwrap_or_default();
        }
        ending::end(root).await;
        let kept = self.clear_away().await;
        let (worker, session) = (self.worker.name.clone(), self.worker.session);
        self.desk.common.tell(Sighting::Gone { worker, session, why: format!("{why}{kept}") }).await;
    }

    /// Its pane-exec is gone by itself.
    pub(super) async fn report_gone(&mut self) {
        let record = how_it_ended(&self.dir, &self.worker.name, &self.stop).await;
        self.tell_traces().await;
        let kept = self.clear_away().await;
        let why = said(record.as_deref()) + &kept;
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
