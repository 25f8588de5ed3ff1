//! What the loop sleeps on, and how long. Whoever has nothing to do is not woken: a server in which nothing happens
//! uses no processor time at all.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::client::Client;
use super::super::pane::{Life, Pane};
use super::{END, Rounds, TELL};

/// What can be ready.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Bell,
    Listener,
    Client(u64),
    Terminal(String),
    Report,
}

impl Rounds {
    /// Sleeps until something is ready or due. Returns what is ready; a terminal comes as writable, as readable, or both.
    pub(super) fn sleep(&self) -> Vec<(Token, bool)> {
        let now = Instant::now();
        let mut tokens = vec![Token::Bell];
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        if self.deaf_until.is_none_or(|until| until <= now) {
            tokens.push(Token::Listener);
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        for (id, client) in &self.clients {
            let mut wanted = if client.is_listened_to() { PollFlags::IN } else { PollFlags::empty() };
            if client.unsent() > 0 {
                wanted |= PollFlags::OUT;
            }
            tokens.push(Token::Client(*id));
            fds.push(PollFd::new(&client.stream, wanted));
        }
        for (id, pane) in &self.panes {
            if let Life::Starting { report, .. } = &pane.life {
                tokens.push(Token::Report);
                fds.push(PollFd::new(report, PollFlags::IN));
            }
            let mut wanted = if pane.has_work() { PollFlags::empty() } else { PollFlags::IN };
            if matches!(pane.life, Life::Living) && pane.queue.next(now).is_some() {
                wanted |= PollFlags::OUT;
            }
            if let Some(master) = pane.master(now).filter(|_| !wanted.is_empty()) {
                tokens.push(Token::Terminal(id.clone()));
                fds.push(PollFd::new(master, wanted));
            }
        }
        let left = self.due(now).map(|due| due.saturating_duration_since(now));
        // Rounded up: a moment too early would only be another round.
        let left = left.map(|left| if left.is_zero() { left } else { left + Duration::from_micros(100) });
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        // An interrupted sleep is one in which nothing was ready.
        if poll(&mut fds, left.as_ref()).is_err() {
            return Vec::new();
        }
        let mut ready = Vec::new();
        for (token, fd) in tokens.into_iter().zip(&fds) {
            let (found, out) = (fd.revents(), PollFlags::OUT);
            if found.contains(out) && matches!(token, Token::Terminal(_)) {
                ready.push((token.clone(), true));
            }
            if !(found - out).is_empty() || (!found.is_empty() && !matches!(token, Token::Terminal(_))) {
                ready.push((token, false));
            }
        }
        ready
    }

    /// Returns when something must be done even if nothing is ready.
    fn due(&self, now: Instant) -> Option<Instant> {
        let works = |pane: &Pane| pane.has_work() && self.hold.lets(&pane.id, now);
        let works = self.panes.values().any(works) || self.clients.values().any(Client::has_request);
        if works {
            return Some(now);
        }
        let untold =
            self.panes.values().filter(|pane| pane.untold).filter_map(|pane| pane.told.map(|told| told + TELL));
        let panes = self.panes.values().filter_map(|pane| pane.due(now));
        let lets = |client: &&Client| client.watch.as_ref().is_some_and(|watch| self.hold.lets(&watch.pane, now));
        let frames = self.clients.values().filter(lets).filter_map(Client::frame_due);
        let others = [
            self.alone_since.map(|since| since + self.rest),
            self.ending.map(|since| since + END),
            self.deaf_until,
            self.hold.until().filter(|until| *until > now),
        ];
        untold.chain(panes).chain(frames).chain(others.into_iter().flatten()).min()
    }
}
