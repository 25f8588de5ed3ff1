//! The launcher's one task: passes on what it is told to the keepers of its sessions, and what panes show to those whom it
//! concerns; nudges the leader; sweeps once after the start. Which session is kept by whom, the roster knows.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::memory;
use super::super::session::front::{Order, Told};
use super::super::session::handed::HandedOn;
use super::super::session::roster::{Keeping, Roster};
use super::super::session::sweep::Kind;
use super::super::session::{sweep, tree};
use super::keeper::{Keeper, Ways};
use super::{Desk, nudge};
use crate::engine::panes::PaneSeen;
use crate::engine::ports::Boxed;
use crate::fleet::ids::WorkerName;
use crate::fleet::input::{Sighting, WorkEffect};
use crate::fleet::worker::Worker;

/// Moves to other panes that may wait to be heard of; keepers wait in turn.
const PLACED: usize = 64;
/// How long after the start it is looked for sessions that nobody knows: by then the engine has given its orders again.
const SWEEP: Duration = Duration::from_secs(10);

pub(super) struct Sessions {
    desk: Arc<Desk>,
    roster: Roster<Panes>,
    chores: JoinSet<()>,
    /// Where keepers say in which pane their session is.
    placed: mpsc::Receiver<Placed>,
}

/// Which session is in which pane now.
pub(super) struct Placed {
    pub worker: WorkerName,
    pub session: u64,
    pub pane: String,
}

/// How sessions are kept here.
struct Panes {
    desk: Arc<Desk>,
    placing: mpsc::Sender<Placed>,
}

/// What is known of a session's pane.
pub(super) struct InPane {
    look: Arc<Notify>,
    pane: Option<String>,
}

impl Keeping for Panes {
    type More = InPane;

    fn keeper(
        &self,
        worker: Arc<Worker>,
        orders: UnboundedReceiver<Order>,
        stop: CancellationToken,
        may_start: bool,
    ) -> (Boxed<()>, InPane) {
        let look = Arc::new(Notify::new());
        let ways = Ways { orders, stop, look: look.clone(), placing: self.placing.clone() };
        let keeper = Keeper::new(self.desk.clone(), worker, ways);
        (Box::pin(keeper.run(may_start)), InPane { look, pane: None })
    }

    fn handed_on(&self) -> &HandedOn {
        &self.desk.handed_on
    }

    async fn tell(&self, sighting: Sighting) {
        self.desk.common.tell(sighting).await;
    }
}

impl Sessions {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let (placing, placed) = mpsc::channel(PLACED);
        let roster = Roster::new(Panes { desk: desk.clone(), placing });
        Self { desk, roster, chores: JoinSet::new(), placed }
    }

    pub(super) async fn run(mut self, mut told: UnboundedReceiver<Told>) {
        let sweep = tokio::time::sleep(SWEEP);
        tokio::pin!(sweep);
        let mut is_swept = false;
        let mut seen = self.desk.host().seen();
        loop {
            tokio::select! {
                () = &mut sweep, if !is_swept => {
                    is_swept = true;
                    let sessions = self.desk.common.sessions.clone();
                    // First the trees, then who is kept: a keeper is there before its tree.
                    let trees = tree::all(&sessions);
                    self.chores.spawn(sweep::leftovers(sessions, Kind::Typed, self.roster.names(dir_name), trees));
                }
                told = told.recv() => match told {
                    Some(told) => {
                        if let Some(order) = self.roster.hear(told) {
                            self.carry_out(order).await;
                        }
                    }
                    None => return,
                },
                heard = seen.recv() => match heard {
                    Ok(seen) => self.heard(&seen),
                    // Whoever fell behind looks at everything anew.
                    Err(RecvError::Lagged(_)) => self.heard(&PaneSeen::Up),
                    Err(RecvError::Closed) => return,
                },
                Some(placed) = self.placed.recv() => self.place(placed),
                ended = self.roster.next() => self.roster.ended(ended).await,
                Some(_) = self.chores.join_next() => {}
            }
        }
    }

    /// Carries out what is for no single session.
    async fn carry_out(&mut self, order: WorkEffect) {
        match order {
            WorkEffect::Nudge(leader, waiting) => {
                self.chores.spawn(nudge::tell(self.desk.clone(), leader, waiting));
            }
            // What is typed next is asked in that moment; who has a text in hand is to look at once.
            WorkEffect::Pause(_) => self.roster.all().for_each(|kept| kept.more.look.notify_one()),
            WorkEffect::Memory => self.desk.common.tell(Sighting::Memory { available: memory::available() }).await,
            _ => {}
        }
    }

    /// Lets those look whom it concerns.
    fn heard(&self, seen: &PaneSeen) {
        let concerned = |pane: &InPane| match seen {
            PaneSeen::Changed(changed) | PaneSeen::Gone(changed) => pane.pane.as_ref() == Some(changed),
            PaneSeen::Up | PaneSeen::Down(_) => true,
        };
        self.roster.all().filter(|kept| concerned(&kept.more)).for_each(|kept| kept.more.look.notify_one());
    }

    fn place(&mut self, placed: Placed) {
        if let Some(kept) = self.roster.get_mut(&placed.worker).filter(|kept| kept.session == placed.session) {
            kept.more.pane = Some(placed.pane);
            // What was printed before it was known where.
            kept.more.look.notify_one();
        }
    }
}

/// Returns the name of what belongs to a session.
fn dir_name(name: &WorkerName, session: u64) -> String {
    Kind::Typed.dir_name(name, session)
}
