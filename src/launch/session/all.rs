//! The one task of a launcher whose sessions nobody looks at: passes on what it is told to their keepers, and sweeps once
//! after the start. Which session is kept by whom, the roster knows; how, the launcher.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::front::Told;
use super::roster::{Keeping, Roster};
use super::sweep::{self, Kind};
use super::tree;

/// How long after the start it is looked for sessions that nobody knows: by then the engine has given its orders again.
const SWEEP: Duration = Duration::from_secs(10);

/// Carries out what is told until nobody tells anything any more.
pub(in crate::launch) async fn keep<K: Keeping>(
    keeping: K,
    kind: Kind,
    sessions: PathBuf,
    mut told: UnboundedReceiver<Told>,
) {
    let mut roster = Roster::new(keeping);
    let mut chores = JoinSet::new();
    let sweep = tokio::time::sleep(SWEEP);
    tokio::pin!(sweep);
    let mut is_swept = false;
    loop {
        tokio::select! {
            () = &mut sweep, if !is_swept => {
                is_swept = true;
                // First the trees, then who is kept: a keeper is there before its tree.
                let trees = tree::all(&sessions);
                let kept = roster.names(|worker, session| kind.dir_name(worker, session));
                chores.spawn(sweep::leftovers(sessions.clone(), kind, kept, trees));
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
