//! One call on its way to the server and back. Whoever gives up on it must know whether it was sent: what was not sent
//! was not done, what was sent may have been.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::engine::panes::PaneError;
use crate::pane::wire::{Ask, Done, No};

const WAITS: u8 = 0;
const SENT: u8 = 1;
const GIVEN_UP: u8 = 2;

/// What came of a call.
#[derive(Debug)]
pub(super) enum Came {
    /// It was done.
    Done(Done),
    /// The server said no.
    Not(No, String),
    /// No server runs, and this call needs none to be begun.
    Nobody,
    /// It was not sent.
    Unsent(String),
    /// It was sent, and no answer came.
    Unanswered(String),
}

/// A call for the task that has the connection.
pub(super) struct Order {
    pub ask: Ask,
    how_far: Arc<AtomicU8>,
    came: oneshot::Sender<Came>,
}

/// An order that was sent; its answer is still out.
pub(super) struct Sent(oneshot::Sender<Came>);

impl Order {
    /// Marks it as sent, from now on for ever; none if its caller has given up before.
    pub(super) fn send(self) -> Option<(Ask, Sent)> {
        let sent = self.how_far.compare_exchange(WAITS, SENT, Ordering::SeqCst, Ordering::SeqCst);
        sent.is_ok().then_some((self.ask, Sent(self.came)))
    }

    /// Tells whether its caller still waits.
    pub(super) fn is_wanted(&self) -> bool {
        self.how_far.load(Ordering::SeqCst) == WAITS
    }

    /// Answers without sending it.
    pub(super) fn answer(self, came: Came) {
        let _ = self.came.send(came);
    }
}

impl Sent {
    /// Gives its caller the answer. One that has given up has got another one already.
    pub(super) fn answer(self, came: Came) {
        let _ = self.0.send(came);
    }
}

/// Gives an order to the task and waits for what comes of it.
pub(super) async fn give(orders: mpsc::Sender<Order>, ask: Ask, bound: Duration) -> Came {
    let (came, answer) = oneshot::channel();
    let how_far = Arc::new(AtomicU8::new(WAITS));
    match orders.try_send(Order { ask, how_far: how_far.clone(), came }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => return Came::Unsent("too many calls wait for the pane server".into()),
        Err(TrySendError::Closed(_)) => return Came::Unsent("the daemon is going down".into()),
    }
    let why = match tokio::time::timeout(bound, answer).await {
        Ok(Ok(came)) => return came,
        Ok(Err(_)) => "the daemon is going down".to_string(),
        Err(_) => format!("the pane server did not answer within {} s", bound.as_secs()),
    };
    match how_far.compare_exchange(WAITS, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Came::Unsent(why),
        Err(_) => Came::Unanswered(why),
    }
}

impl Came {
    /// Returns what was done, of a call that does something.
    pub(super) fn acted(self) -> Result<Done, PaneError> {
        match self {
            Came::Done(done) => Ok(done),
            Came::Unanswered(why) => Err(PaneError::Unknown(why)),
            other => Err(other.looked()),
        }
    }

    /// Returns why a call failed that only looks.
    pub(super) fn looked(self) -> PaneError {
        match self {
            Came::Not(No::Gone, why) => PaneError::Gone(why),
            Came::Not(No::Refused, why) => PaneError::Refused(why),
            Came::Not(No::Unavailable, why) | Came::Unsent(why) | Came::Unanswered(why) => PaneError::Unavailable(why),
            Came::Nobody => PaneError::Gone("no pane server runs, so there is no pane".into()),
            Came::Done(_) => PaneError::Unavailable("the pane server gave another answer".into()),
        }
    }
}
