//! The launcher's one task: passes on what it is told to the keepers of its sessions, and sweeps once after the start.
//! Which session is kept by whom, the roster knows.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::session::dir::SessionDir;
use super::super::session::front::{Order, Told};
use super::super::session::handed::HandedOn;
use super::super::session::roster::{Keeping, Roster};
use super::super::session::{sweep, tree};
use super::Desk;
use super::keeper::Keeper;
use crate::engine::ports::Boxed;
use crate::fleet::ids::WorkerName;
use crate::fleet::input::Sighting;
use crate::fleet::worker::Worker;

/// How long after the start it is looked for sessions that nobody knows: by then the engine has given its orders again.
const SWEEP: Duration = Duration::from_secs(10);

/// Carries out what is told until nobody tells anything any more.
pub(super) async fn run(desk: Arc<Desk>, mut told: UnboundedReceiver<Told>) {
    let mut roster = Roster::new(Sessions { desk: desk.clone() });
    let mut chores = JoinSet::new();
    let sweep = tokio::time::sleep(SWEEP);
    tokio::pin!(sweep);
    let mut is_swept = false;
    loop {
        tokio::select! {
            () = &mut sweep, if !is_swept => {
                is_swept = true;
                let sessions = desk.options.sessions.clone();
                // First the trees, then who is kept: a keeper is there before its tree.
                let trees = tree::all(&sessions);
                chores.spawn(sweep::leftovers(sessions, true, roster.names(dir_name), trees));
            }
            told = told.recv() => match told {
                // What is for no session is another launcher's; what is written next is asked in that moment.
                Some(told) => drop(roster.hear(told)),
                None => return,
            },
            ended = roster.next() => roster.ended(ended).await,
            Some(_) = chores.join_next() => {}
        }
    }
}

/// How sessions are kept here.
struct Sessions {
    desk: Arc<Desk>,
}

impl Keeping for Sessions {
    type More = ();

    fn keeper(
        &self,
        worker: Arc<Worker>,
        orders: UnboundedReceiver<Order>,
        stop: CancellationToken,
        may_start: bool,
    ) -> (Boxed<()>, ()) {
        let keeper = Keeper::new(self.desk.clone(), worker, orders, stop);
        (Box::pin(keeper.run(may_start)), ())
    }

    fn handed_on(&self) -> &HandedOn {
        &self.desk.handed_on
    }

    async fn tell(&self, sighting: Sighting) {
        self.desk.tell(sighting).await;
    }
}

/// Returns the directory of a session.
pub(super) fn dir_of(desk: &Desk, worker: &Worker) -> SessionDir {
    SessionDir::new(desk.options.sessions.join(dir_name(&worker.name, worker.session)))
}

fn dir_name(name: &WorkerName, session: u64) -> String {
    format!("{name}-{session}{}", sweep::LINES)
}
