//! Everything that a caller can be told, beside a refusal.
//! Only the type: which call is answered by what stands where the call is done.

use std::sync::Arc;

use super::envelope::Envelope;
use super::ids::MessageId;
use super::mail::{Message, Question};
use super::pause::Pause;
use super::run::Run;
use super::seat::Seat;
use super::turn::Turn;
use super::worker::Worker;

/// What a caller is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The turn is stored (or was, under the same key).
    Accepted(Arc<Turn>),
    /// The turn ended; the envelope is at hand unless it ended earlier.
    Settled(Arc<Turn>, Option<Arc<Envelope>>),
    /// The turn is open: it asks something, or the wait is over.
    Open(Arc<Turn>, Vec<Arc<Question>>),
    /// The run is stored (or was, under the same key).
    Started(Arc<Run>),
    /// The run ended.
    Ended(Arc<Run>),
    /// The run is open: it asks something, or the wait is over.
    RunOpen(Arc<Run>, Vec<Arc<Question>>),
    /// What waits, oldest first; `more` says that the limit cut it.
    Mail {
        /// The messages.
        messages: Vec<Arc<Message>>,
        /// Whether there are more.
        more: bool,
    },
    /// What was collected now, and ids that wait for nobody (collected before, or never there).
    Acked {
        /// Collected.
        acked: Vec<MessageId>,
        /// Nothing waits under these.
        unknown: Vec<MessageId>,
    },
    /// The question was answered.
    Answered(Arc<Question>),
    /// The wait for an answer is over; asking the same again waits on.
    Unanswered(Arc<Question>),
    /// The worker as it is now.
    Worker(Arc<Worker>),
    /// The reply is kept for the end of this turn; `replaced` says that there was another one before.
    Noted {
        /// The turn.
        turn: Arc<Turn>,
        /// Whether there was another one before.
        replaced: bool,
    },
    /// The seat as it is now.
    Seat(Option<Arc<Seat>>),
    /// Whether nothing is handed out, and since when.
    Paused(Option<Pause>),
}
