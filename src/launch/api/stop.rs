//! How a program that is called is made to stop a turn that is over for the fleet: it is told, again if need be, and has
//! stopped when it says that it is at rest. What it does not stop, the fleet ends with its session.

use std::time::Duration;

use tokio::time::Instant;

use super::keeper::{Doing, Keeper};
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Api;

/// How often a program that was told to stop is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long after it was told it may still be about to begin: before that, its rest means nothing.
const TO_BEGIN: Duration = Duration::from_millis(500);
/// How long a program that goes on working has until it is told again: it may be slow to say that it rests, and be told
/// something else by a second key.
const TELL_AGAIN: Duration = Duration::from_secs(8);

/// A turn that a session was told to stop.
#[derive(Clone, Copy)]
pub(super) struct Stopping {
    turn: TurnId,
    began: Instant,
    /// When it was last told.
    told: Instant,
    /// Whether its note goes with its end: as long as it is not over, a daemon that comes must find it.
    forgets: bool,
}

impl Keeper {
    /// Makes the program stop a turn that is over for the fleet.
    pub(super) async fn interrupt(&mut self, turn: TurnId) {
        match &self.doing {
            Doing::At(at) if at.turn == turn => {}
            // It is told already, or the order is one of before: another turn is not stopped by it.
            Doing::At(_) | Doing::Stopping(_) => return,
            // It ended before it was told to, or was never given.
            Doing::Idle if self.ended == Some(turn) || !self.dir.is_typed(turn).unwrap_or(true) => {
                return self.tell_idle().await;
            }
            Doing::Idle => {}
        }
        self.stop_turn(turn).await;
    }

    /// Tells the program to come to the end of a turn, and waits for that from now on.
    pub(super) async fn stop_turn(&mut self, turn: TurnId) {
        let now = Instant::now();
        self.doing = Doing::Stopping(Stopping { turn, began: now, told: now, forgets: false });
        self.tell_to_stop().await;
        self.soon(LOOK);
    }

    async fn tell_to_stop(&mut self) {
        let Some(stop) = self.api().and_then(|api| api.stop) else {
            let why = "a turn had to be stopped, and its launch plan names no call for that";
            let worker = self.worker.name.clone();
            return self.desk.common.tell(Sighting::Broke { worker, why: why.into() }).await;
        };
        if let Err(error) = self.ask(&stop).await {
            tracing::info!(worker = %self.worker.name, error = error.brief(), "a worker could not be told to stop its turn");
        }
    }

    /// Sees whether a program that was told to stop has stopped.
    pub(super) async fn look_at_stop(&mut self, api: &Api) {
        let Doing::Stopping(stopping) = self.doing else { return };
        let rests = self.at_rest(api).await;
        if rests == Some(true) && stopping.began.elapsed() >= TO_BEGIN {
            self.doing = Doing::Idle;
            self.barred = None;
            self.tell_idle().await;
            if stopping.forgets {
                self.forget(stopping.turn).await;
            }
            return;
        }
        if rests == Some(false) && stopping.told.elapsed() >= TELL_AGAIN {
            self.tell_to_stop().await;
            self.doing = Doing::Stopping(Stopping { told: Instant::now(), ..stopping });
        }
        self.soon(LOOK);
    }

    /// The turn is over and stored: its note goes.
    pub(super) async fn forget(&mut self, turn: TurnId) {
        if let Doing::Stopping(stopping) = &mut self.doing
            && stopping.turn == turn
        {
            stopping.forgets = true;
            return;
        }
        if let Err(error) = self.dir.on_disk(move |dir| dir.forget(turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the note of a turn that is over stays");
        }
    }

    async fn tell_idle(&self) {
        self.desk.common.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
    }
}
