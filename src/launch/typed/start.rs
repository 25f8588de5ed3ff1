//! How a session that is typed to comes up: started in a pane, and ready once it shows an empty composer. What does not
//! come up is ended whole, and its screen is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::session::begin::{Coming, Obstacle, record_of};
use super::super::session::dir::{SessionDir, said};
use super::super::session::pane;
use super::super::session::tree::Tree;
use super::keeper::Keeper;
use super::look::Look;
use crate::engine::panes::Screen;
use crate::fleet::input::Sighting;
use crate::fleet::worker::Worker;
use crate::process::ProcessId;

/// How often the screen is looked at until it is ready.
const LOOK_READY: Duration = Duration::from_millis(50);

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
        self.place(pane).await;
        pane::claimed(&self.dir, root).await
    }

    /// Waits until the agent shows an empty composer.
    async fn until_ready(&mut self, root: ProcessId, until: Instant) -> bool {
        let typing = self.typing();
        let mut last = Screen::default();
        let why = loop {
            if self.stop.is_cancelled() {
                self.end(root, "it was stopped").await;
                return false;
            }
            if !root.is_alive() {
                // A pane keeps what its program showed last.
                if let Ok(screen) = self.screen().await {
                    last = screen;
                }
                break said(record_of(&self.dir).as_deref());
            }
            let said = match self.screen().await {
                Ok(screen) => {
                    let look = Look::of(&screen, &typing);
                    last = screen;
                    let wants_tools = self.plan().is_some_and(|plan| plan.lists_tools) && !self.listed;
                    if look.is_idle() && !wants_tools {
                        self.desk.common.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
                        return true;
                    }
                    match look.obstacle() {
                        Some(why) => why,
                        None if look.busy => "it is still busy".into(),
                        None => "it has not listed the fleet's tools".into(),
                    }
                }
                Err(why) => why,
            };
            if Instant::now() >= until {
                break format!("not ready within {}: {said}", typing.ready_timeout);
            }
            // Its reports are answered meanwhile: it may wait for that before it comes up.
            match tokio::time::timeout(LOOK_READY, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                Ok(None) => return false,
                Err(_) => {}
            }
        };
        super::super::ending::end(root).await;
        self.give_up_start(why, Some(&last)).await;
        false
    }

    async fn not_up(&mut self, why: String, ran: bool) {
        let screen = if ran { self.screen().await.ok() } else { None };
        self.give_up_start(why, screen.as_ref()).await;
    }

    async fn report_gone(&mut self) {
        Keeper::report_gone(self).await;
    }

    async fn tell(&self, sighting: Sighting) {
        self.desk.common.tell(sighting).await;
    }
}

impl Keeper {
    async fn give_up_start(&mut self, why: String, screen: Option<&Screen>) {
        let why = pane::with_screen(why, screen) + &self.clear_away().await;
        self.desk.common.tell(Sighting::NotUp { worker: self.worker.name.clone(), why }).await;
    }
}
