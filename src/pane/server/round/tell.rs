//! Who is told what: subscribers of changes and ends, watchers of what they see, and everybody of what is over.
//! Nothing is told more often than anybody needs it, and nobody's slowness is another's.

use std::time::Instant;

use super::super::MAX_DEAD;
use super::super::client::Client;
use super::super::pane::Life;
use super::{Rounds, TELL};
use crate::pane::wire::{Line, Seen};

impl Rounds {
    /// Notes for all whom it concerns that a pane shows something else.
    pub(in crate::pane::server) fn has_changed(&mut self, id: &str, now: Instant) {
        let mut subscribers = false;
        for client in self.clients.values_mut() {
            subscribers |= client.subscribed;
            if client.watch.as_ref().is_some_and(|watch| watch.pane == id) {
                client.owe_frame(now);
            }
        }
        if let Some(pane) = self.panes.get_mut(id) {
            pane.untold = subscribers && pane.death().is_none();
        }
    }

    /// Tells subscribers of changes, draws frames that are due, and sends what clients take.
    pub(super) fn tell(&mut self, now: Instant) {
        for pane in self.panes.values_mut().filter(|pane| pane.untold) {
            if pane.told.is_some_and(|told| told + TELL > now) {
                continue;
            }
            (pane.untold, pane.told) = (false, Some(now));
            for client in self.clients.values_mut().filter(|client| client.subscribed) {
                client.say(&Line::Seen(Seen::Changed(pane.id.clone())));
            }
        }
        self.draw(now);
        self.clients.values_mut().for_each(Client::send);
    }

    /// Draws the frames for whom a key is answered, and else the one that is due for longest: a key waits for one at most.
    fn draw(&mut self, now: Instant) {
        let due = self.clients.iter().filter_map(|(id, client)| {
            let (due, pane) = (client.frame_due()?, &client.watch.as_ref()?.pane);
            (due <= now && self.hold.lets(pane, now)).then_some((due, *id))
        });
        let mut due: Vec<(Instant, u64)> = due.collect();
        due.sort_unstable();
        if !self.hold.is_on(now) {
            due.truncate(1);
        }
        for (_, id) in due {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            let Some(watch) = client.take_due(now) else { continue };
            let Some(pane) = self.panes.get_mut(&watch.pane) else { continue };
            let frame = watch.view.frame(pane.screen());
            self.hold.shown(&pane.id);
            if let Some(frame) = frame {
                client.say(&Line::Frame(frame));
            }
        }
    }

    /// Tells everybody whom it concerns that a pane's program is dead.
    pub(super) fn has_died(&mut self, id: &str) {
        if let Some((pane, death)) = self.panes.get(id).and_then(|pane| Some((pane, pane.death()?))) {
            tracing::info!(pane = id, worker = pane.worker, %death, "the program of a pane has ended");
        }
        for client in self.clients.values_mut().filter(|client| client.subscribed) {
            client.say(&Line::Seen(Seen::Gone(id.into())));
        }
    }

    /// Sends the last frame to those who watch a pane, and keeps only its last screen.
    pub(super) fn bury(&mut self, id: &str) {
        let Some(pane) = self.panes.get_mut(id) else { return };
        let death = pane.death().unwrap_or_default();
        for client in self.clients.values_mut() {
            let Some(mut watch) = client.watch.take_if(|watch| watch.pane == id) else { continue };
            if let Some(frame) = watch.view.frame(pane.screen()) {
                client.say(&Line::Frame(frame));
            }
            client.say(&Line::Ended(death));
        }
        pane.bury();
        let dead = self.panes.values().filter_map(|pane| match &pane.life {
            Life::Dead { since, .. } => Some((*since, pane.id.clone())),
            _ => None,
        });
        let mut dead: Vec<(Instant, String)> = dead.collect();
        dead.sort();
        let surplus = dead.len().saturating_sub(MAX_DEAD);
        dead[..surplus].iter().for_each(|(_, id)| self.forget(id));
    }

    /// Forgets a pane. Its terminal is closed with it.
    pub(in crate::pane::server) fn forget(&mut self, id: &str) {
        let Some(pane) = self.panes.remove(id) else { return };
        for client in self.clients.values_mut() {
            if client.watch.take_if(|watch| watch.pane == id).is_some() {
                client.say(&Line::Ended(pane.death().unwrap_or_default()));
            }
        }
    }
}
