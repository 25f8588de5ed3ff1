//! Who keeps each session of this launcher: a roster calls for a keeper when there is a session to keep.
//! What a keeper does is in `keeper`.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::super::session::all;
use super::super::session::front::{Order, Told};
use super::super::session::handed::HandedOn;
use super::super::session::roster::Keeping;
use super::super::session::sweep::Kind;
use super::Desk;
use super::keeper::Keeper;
use crate::engine::ports::Boxed;
use crate::fleet::input::Sighting;
use crate::fleet::worker::Worker;

/// Carries out what is told until nobody tells anything any more.
pub(super) async fn run(desk: Arc<Desk>, told: UnboundedReceiver<Told>) {
    let sessions = desk.common.sessions.clone();
    all::keep(Sessions { desk }, Kind::Api, sessions, told).await;
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
        self.desk.common.tell(sighting).await;
    }
}
