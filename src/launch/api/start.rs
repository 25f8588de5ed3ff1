//! How a session that is called comes up: its program started in a pane, asked until it answers with the session's own
//! password, its conversation begun, and ready once it has listed the fleet's tools.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::session::begin::{Coming, Obstacle, record_of};
use super::super::session::dir::{SessionDir, said};
use super::super::session::pane;
use super::super::session::tree::Tree;
use super::http::HttpError;
use super::keeper::Keeper;
use crate::engine::panes::Screen;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Api;
use crate::fleet::signs;
use crate::fleet::worker::Worker;
use crate::process::ProcessId;

/// How often it is asked until it is ready.
const ASK_READY: Duration = Duration::from_millis(100);
/// How often it is looked whether it has lost the fleet's tools while it is waited for them.
const MEND: Duration = Duration::from_secs(5);
/// How long somebody else may answer at its port: its own program may still be about to.
const STRANGER: Duration = Duration::from_secs(3);
/// How often its conversation is shown in its pane: one that still draws does not hear it.
const SHOWS: u32 = 5;

/// Why a session is not up.
enum Missing {
    /// It may still come.
    Yet(String),
    /// Somebody else answers in its place.
    Stranger(String),
}

impl Coming for Keeper {
    fn worker(&mut self) -> &mut Arc<Worker> {
        &mut self.worker
    }

    fn dir(&self) -> &SessionDir {
        &self.dir
    }

    fn tree(&self) -> Tree<'_> {
        Keeper::tree(self)
    }

    fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    fn recall(&mut self) {
        Keeper::recall(self);
    }

    async fn start(&mut self) -> Result<(), Obstacle> {
        self.dir.on_disk(SessionDir::create).await.map_err(|error| Obstacle::Passing(error.to_string()))?;
        let (plan, facts) = self.site().prepare().await.map_err(Obstacle::Final)?;
        self.facts = facts;
        let desk = self.desk.clone();
        let pane = pane::start(desk.host(), &desk.common.program, &self.worker, &self.dir, (plan, &self.facts)).await?;
        let root = ProcessId::from(pane.root);
        self.pane = Some(pane);
        pane::claimed(&self.dir, root).await
    }

    async fn until_ready(&mut self, root: ProcessId, until: Instant) -> bool {
        let timeout = self.worker.profile.typing().ready_timeout;
        let mut mended = Instant::now();
        let mut stranger: Option<Instant> = None;
        let why = loop {
            if self.stop.is_cancelled() {
                self.end(Some(root), "it was stopped").await;
                return false;
            }
            if !root.is_alive() {
                break said(record_of(&self.dir).as_deref());
            }
            let Some(api) = self.api() else { break "its launch plan does not say how it is called".to_owned() };
            let missing = match self.come_up(&api).await {
                Ok(()) if !self.plan().is_some_and(|plan| plan.lists_tools) || self.listed => {
                    self.shows = SHOWS;
                    self.desk.common.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
                    return true;
                }
                Ok(()) => {
                    if mended.elapsed() >= MEND {
                        mended = Instant::now();
                        drop(self.mend_tools(&api).await);
                    }
                    "it has not listed the fleet's tools".to_owned()
                }
                Err(Missing::Stranger(why)) => {
                    if stranger.get_or_insert_with(Instant::now).elapsed() >= STRANGER {
                        break why;
                    }
                    why
                }
                Err(Missing::Yet(why)) => why,
            };
            if Instant::now() >= until {
                break format!("not ready within {timeout}: {missing}");
            }
            match tokio::time::timeout(ASK_READY, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                Ok(None) => return false,
                Err(_) => {}
            }
        };
        // A pane keeps what its program showed last.
        let screen = self.screen().await;
        super::super::ending::end(root).await;
        self.give_up_start(why, screen).await;
        false
    }

    async fn not_up(&mut self, why: String, ran: bool) {
        let screen = if ran { self.screen().await } else { None };
        self.give_up_start(why, screen).await;
    }

    async fn report_gone(&mut self) {
        Keeper::report_gone(self).await;
    }

    async fn tell(&self, sighting: Sighting) {
        self.desk.common.tell(sighting).await;
    }
}

impl Keeper {
    /// Sees whether its program answers, and begins its conversation. The error says what is missing.
    async fn come_up(&mut self, api: &Api) -> Result<(), Missing> {
        match self.shows(&api.ready).await {
            Ok(true) => {}
            Ok(false) => return Err(self.somebody_else("answers otherwise than it would")),
            Err(HttpError::No { status: 401 | 403, .. }) => {
                return Err(self.somebody_else("does not know this session's password"));
            }
            Err(error) => return Err(Missing::Yet(error.to_string())),
        }
        let Some(open) = api.open.as_ref().filter(|_| self.facts.conversation.is_none()) else { return Ok(()) };
        let not_begun = |error| Missing::Yet(format!("its conversation cannot be begun: {error}"));
        let answer = self.ask(&open.call).await.map_err(not_begun)?;
        let name = signs::at(&answer, &open.id).and_then(|name| name.as_str()).filter(|name| is_plain(name));
        let name = name.ok_or_else(|| Missing::Yet(format!("what it answers names no conversation at {}", open.id)))?;
        self.facts.conversation = Some(name.to_owned());
        self.keep_facts().await;
        self.learn_signs();
        Ok(())
    }

    fn somebody_else(&self, how: &str) -> Missing {
        let port = self.facts.port.unwrap_or_default();
        Missing::Stranger(format!("what answers at its port {port} {how}: another program may have taken the port"))
    }

    /// Gives the fleet's tools back to a program that has lost them. The error says why it still lacks them.
    pub(super) async fn mend_tools(&self, api: &Api) -> Result<(), String> {
        let Some(tools) = &api.tools else { return Ok(()) };
        if matches!(self.shows(&tools.check).await, Ok(true)) {
            return Ok(());
        }
        tracing::info!(worker = %self.worker.name, "it has lost the fleet's tools, and is given them back");
        self.ask(&tools.mend).await.map_err(|error| error.to_string())?;
        match self.shows(&tools.check).await {
            Ok(true) => Ok(()),
            Ok(false) => Err("it does not reach fleetd".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn screen(&self) -> Option<Screen> {
        self.desk.host().screen(self.pane.clone()?).await.ok()
    }

    async fn give_up_start(&mut self, why: String, screen: Option<Screen>) {
        let why = pane::with_screen(why, screen.as_ref()) + &self.clear_away().await;
        self.desk.common.tell(Sighting::NotUp { worker: self.worker.name.clone(), why }).await;
    }
}

/// Returns whether a conversation's name can stand in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 200
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}
