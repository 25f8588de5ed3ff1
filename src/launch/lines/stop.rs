//! How a program is made to stop a turn that is over for the fleet: it is told by a line, again if need be, and has
//! stopped when its output shows an end. What it does not stop, the fleet ends with its session.

use tokio::time::Instant;

use super::keeper::Keeper;
use super::text;
use super::work::Doing;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::turn::Outcome;

/// A turn that a session was told to stop.
#[derive(Clone, Copy)]
pub(super) struct Stopping {
    pub(super) turn: TurnId,
    /// From where on its end would be read.
    pub(super) from: u64,
    /// When it was last told.
    pub(super) told: Instant,
    /// Whether its note goes with its end: as long as it is not over, a daemon that comes must find it.
    pub(super) forgets: bool,
}

impl Keeper {
    /// A turn that was to be stopped is over.
    pub(super) async fn stopped(&mut self, stopping: Stopping, end: u64) {
        self.doing = Doing::Idle;
        self.barred = None;
        self.mark_read(end).await;
        self.tell_idle().await;
        if stopping.forgets {
            self.forget(stopping.turn).await;
        }
    }

    /// The program took another text than was written: what it does with that is nobody's order.
    pub(super) async fn end_cut(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        at.story.was_taken();
        let (turn, from) = (at.turn, at.from);
        self.tell_taken().await;
        self.stop_turn(turn, from, true).await;
        let why = "its agent took another text than was written, and was interrupted";
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
    }

    /// Makes the program stop a turn that is over for the fleet.
    pub(super) async fn interrupt(&mut self, turn: TurnId) {
        let from = match &self.doing {
            Doing::At(at) if at.turn == turn => at.from,
            // It is told already, or the order is one of before: another turn is not stopped by it.
            Doing::At(_) | Doing::Stopping(_) => return,
            // It ended before it was told to.
            Doing::Idle if self.ended == Some(turn) => return self.tell_idle().await,
            Doing::Idle => match self.note_of(turn) {
                Some(note) => {
                    self.reread(&note);
                    note.at
                }
                // Nothing of it was written.
                None => return self.tell_idle().await,
            },
        };
        if self.pipe.is_untouched() {
            self.pipe.take_back();
            self.doing = Doing::Idle;
            return self.tell_idle().await;
        }
        // Behind a line of which only a part is in the FIFO, the rest of it comes first.
        self.stop_turn(turn, from, true).await;
    }

    /// Waits for the end of a turn, and tells the program to come to it.
    pub(super) async fn stop_turn(&mut self, turn: TurnId, from: u64, tells: bool) {
        self.doing = Doing::Stopping(Stopping { turn, from, told: Instant::now(), forgets: false });
        if tells {
            self.tell_to_stop().await;
        }
    }

    pub(super) async fn tell_to_stop(&mut self) {
        if self.is_broken || self.is_gone {
            return;
        }
        let line = self.plan().and_then(|plan| plan.lines.as_ref()?.interrupt.clone());
        let Some(line) = line else {
            let why = "a turn had to be stopped, and its launch plan names no line for that";
            return self.break_off(why.into()).await;
        };
        let told = text::line(&line, self.fill(), "").map_err(std::io::Error::other);
        let told = told.and_then(|line| {
            self.pipe.open(&self.dir.input())?;
            self.pipe.give(&line)
        });
        if let Err(error) = told {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }

    pub(super) async fn tell_idle(&self) {
        self.desk.common.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
    }
}
