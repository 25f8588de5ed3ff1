//! The loop of the server, round by round: sleep until something can be done, hear clients, type, and then read a
//! little of what one pane prints. What clients want is always done before that, and what panes print can wait, so a
//! key that is pressed waits for one slice at most, however much others print.

mod hold;
mod sleep;
mod tell;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;

use self::hold::Hold;
use self::sleep::Token;
use super::client::{Client, Watch};
use super::pane::{Life, Pane};
use super::wake::{Button, Wake};
use super::{MAX_CLIENTS, end};
use crate::fleet::worker::Process;
use crate::pane::wire::{Came, Done, Hello, Line, No, PROTOCOL, Place, SOCKET, is_of_our_user};
use crate::process::{ProcessId, lineage};

/// How long one pane is read before everybody else gets a turn.
const SLICE: Duration = Duration::from_millis(1);
/// By how much a pane that was quiet may be ahead of those that print.
const BONUS: Duration = Duration::from_millis(20);
/// Subscribers are told at most this often that one pane has changed.
const TELL: Duration = Duration::from_millis(50);
/// Requests of one client in a round.
const REQUESTS: usize = 16;
/// How long nobody is let in after the system had no room for one.
const DEAF: Duration = Duration::from_millis(200);
/// How long all panes may take to end when the server does.
const END: Duration = Duration::from_secs(8);

/// Everything the server has.
pub struct Rounds {
    pub(super) panes: BTreeMap<String, Pane>,
    pub(super) clients: BTreeMap<u64, Client>,
    pub(super) hold: Hold,
    place: Place,
    listener: UnixListener,
    wake: Wake,
    me: ProcessId,
    rest: Duration,
    counted: u64,
    /// How far the pane that was read last has come: who was quiet does not catch up further than this.
    reached: Duration,
    deaf_until: Option<Instant>,
    alone_since: Option<Instant>,
    ending: Option<Instant>,
}

impl Rounds {
    /// Returns a server without panes and clients.
    pub(super) fn new(place: Place, listener: UnixListener, wake: Wake, me: ProcessId, rest: Duration) -> Rounds {
        Rounds {
            panes: BTreeMap::new(),
            clients: BTreeMap::new(),
            hold: Hold::default(),
            place,
            listener,
            wake,
            me,
            rest,
            counted: 0,
            reached: Duration::ZERO,
            deaf_until: None,
            alone_since: None,
            ending: None,
        }
    }

    /// Serves until nothing is left to serve, or it is told to end.
    pub(super) fn run(mut self) {
        while !self.is_over(Instant::now()) {
            for (token, is_writable) in self.sleep() {
                match token {
                    Token::Bell => self.look_around(),
                    Token::Listener => self.let_in(),
                    Token::Client(client) => {
                        if let Some(client) = self.clients.get_mut(&client).filter(|client| client.is_listened_to()) {
                            client.hear();
                        }
                    }
                    Token::Terminal(pane) => {
                        if let Some(pane) = self.panes.get_mut(&pane) {
                            pane.type_out(Instant::now());
                            if !is_writable && !pane.has_work() {
                                pane.is_readable();
                                pane.spent = pane.spent.max(self.reached.saturating_sub(BONUS));
                            }
                        }
                    }
                    // Looked at below, like all that is due.
                    Token::Report => {}
                }
            }
            self.hear_clients();
            self.look_at_panes(Instant::now());
            self.read_one();
            self.tell(Instant::now());
        }
        // The lock is still ours, so this is our socket.
        let _ = std::fs::remove_file(self.place.short(SOCKET));
    }

    /// After a signal, or when a thread rang: who has died, who was ended, whether we are to end.
    fn look_around(&mut self) {
        self.wake.quiet();
        let now = Instant::now();
        if self.wake.told_to_end() {
            self.begin_end(now);
        }
        let mut died = Vec::new();
        let mut closed = Vec::new();
        for pane in self.panes.values_mut() {
            if let Some(ending) = pane.ending.take_if(|ending| ending.is_done()) {
                ending.join();
                closed.push((pane.id.clone(), std::mem::take(&mut pane.closers)));
            }
            if pane.has_died(now) {
                died.push(pane.id.clone());
            }
        }
        for id in died {
            self.has_died(&id);
        }
        for (id, closers) in closed {
            let lives = self.panes.get(&id).is_some_and(|pane| pane.death().is_none());
            for (client, request) in closers {
                let came = match lives {
                    true => Came::Not { how: No::Unavailable, why: "its program could not be killed".into() },
                    false => Came::Done(Done::Well),
                };
                self.answer(client, request, came);
            }
            if !lives {
                self.forget(&id);
            }
        }
    }

    fn let_in(&mut self) {
        self.deaf_until = None;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if self.clients.len() >= MAX_CLIENTS => drop(stream),
                Ok((stream, _)) if !is_of_our_user(&stream) => tracing::warn!("another user was sent away"),
                Ok((stream, _)) => {
                    if let Err(error) = stream.set_nonblocking(true) {
                        tracing::warn!(%error, "a client could not be let in");
                        continue;
                    }
                    let is_inside = self.is_inside(&stream);
                    let mut client = Client::new(stream);
                    client.is_inside = is_inside;
                    let (version, process) = (env!("CARGO_PKG_VERSION").into(), Process::from(self.me));
                    client.say(&Line::Hello(Hello { protocol: PROTOCOL, version, process }));
                    self.counted += 1;
                    self.clients.insert(self.counted, client);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, "a client could not be let in");
                    self.deaf_until = Some(Instant::now() + DEAF);
                    return;
                }
            }
        }
    }

    /// Tells whether a client is a program in one of our panes. Workers speak with others through the daemon's doors,
    /// where it is judged what they may do; nothing of that is known here.
    fn is_inside(&self, stream: &UnixStream) -> bool {
        let peer = socket_peercred(stream).ok().and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok());
        let above = peer.and_then(ProcessId::of).map(lineage).unwrap_or_default();
        self.panes.values().any(|pane| pane.death().is_none() && above.contains(&pane.root))
    }

    fn hear_clients(&mut self) {
        let ids: Vec<u64> = self.clients.keys().copied().collect();
        for id in ids {
            for _ in 0..REQUESTS {
                let Some(request) = self.clients.get_mut(&id).and_then(Client::request) else { break };
                match request {
                    (_, Ok(request)) => self.serve(id, request),
                    (request, Err(why)) => self.answer(id, request, Came::Not { how: No::Refused, why }),
                }
            }
        }
        let gone: Vec<u64> = self.clients.iter().filter(|(_, client)| client.gone).map(|(id, _)| *id).collect();
        for id in gone {
            let watched = self.clients.remove(&id).and_then(|client| client.watch);
            if let Some(watch) = watched {
                self.settle_size(&watch.pane);
            }
        }
    }

    /// Whatever is due in a pane: starts that came to their end, keys that rested, the last words of the dead.
    fn look_at_panes(&mut self, now: Instant) {
        let mut over = Vec::new();
        let mut came = Vec::new();
        let mut died = Vec::new();
        for (id, pane) in &mut self.panes {
            if let Some((by, told)) = pane.started(now) {
                let name = crate::engine::panes::Pane { id: id.clone(), root: Process::from(pane.root) };
                // It may have ended already, and the bell that told of it was heard when it did not count as begun.
                match told {
                    Ok(()) if pane.has_died(now) => died.push(id.clone()),
                    Ok(()) => {}
                    Err(_) => over.push(id.clone()),
                }
                came.push((by, told.map(|()| name)));
            }
            if pane.queue.next(now).is_some() {
                pane.type_out(now);
            }
            let expired = matches!(&pane.life, Life::Dead { since, .. } if now >= *since + super::KEEP_DEAD);
            if expired {
                over.push(id.clone());
            }
        }
        for ((client, request), told) in came {
            let came = match told {
                Ok(pane) => Came::Done(Done::Started(pane)),
                Err(why) => Came::Not { how: No::Refused, why },
            };
            self.answer(client, request, came);
        }
        died.iter().for_each(|id| self.has_died(id));
        over.iter().for_each(|id| self.forget(id));
        let silent = self.panes.values().filter(|pane| pane.is_silent(now));
        let silent: Vec<String> = silent.map(|pane| pane.id.clone()).collect();
        silent.iter().for_each(|id| self.bury(id));
    }

    /// Reads a little of the pane that has had least.
    fn read_one(&mut self) {
        let began = Instant::now();
        let work = self.panes.values_mut().filter(|pane| pane.has_work() && self.hold.lets(&pane.id, began));
        let Some(pane) = work.min_by_key(|pane| pane.spent) else { return };
        let printed = pane.print(began + SLICE);
        let now = Instant::now();
        pane.spent += now - began;
        self.reached = self.reached.max(pane.spent.min(self.reached + SLICE));
        pane.type_out(now);
        if printed {
            let id = pane.id.clone();
            self.has_changed(&id, now);
        }
    }

    fn answer(&mut self, client: u64, request: u64, came: Came) {
        // One that went away has nobody left to tell; what was begun for it goes on.
        if let Some(client) = self.clients.get_mut(&client) {
            client.answer(request, came);
        }
    }

    /// Ends all panes, and itself when they have ended. Told again, it does not wait for them.
    fn begin_end(&mut self, now: Instant) {
        if self.ending.is_some() {
            self.panes.clear();
            return;
        }
        tracing::info!(panes = self.panes.len(), "told to end");
        self.ending = Some(now);
        let button = self.button();
        for pane in self.panes.values_mut() {
            match pane.life {
                Life::Starting { .. } => pane.discard(),
                Life::Living if pane.ending.is_none() => pane.ending = end::begin(pane.root, button.clone()).ok(),
                _ => {}
            }
        }
    }

    /// Tells whether it was told to end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    fn is_over(&mut self, now: Instant) -> bool {
        if let Some(since) = self.ending {
            let living = self.panes.values().any(|pane| matches!(pane.life, Life::Living));
            return !living || now >= since + END;
        }
        if !self.panes.is_empty() || !self.clients.is_empty() {
            self.alone_since = None;
            return false;
        }
        now >= *self.alone_since.get_or_insert(now) + self.rest
    }

    /// Returns those who watch a pane.
    pub(super) fn watchers<'a>(&'a self, pane: &'a str) -> impl Iterator<Item = &'a Watch> {
        self.clients.values().filter_map(|client| client.watch.as_ref()).filter(move |watch| watch.pane == pane)
    }

    /// Returns what a client watches.
    pub(super) fn watch_of(&mut self, client: u64) -> Option<&mut Watch> {
        self.clients.get_mut(&client)?.watch.as_mut()
    }

    /// Returns a number that no action before had.
    pub(super) fn next_action(&mut self) -> u64 {
        self.counted += 1;
        self.counted
    }

    /// Returns a name that no pane has had, not even one of an earlier server.
    pub(super) fn next_pane(&mut self) -> String {
        self.counted += 1;
        format!("{}-{}", self.me.pid, self.counted)
    }

    /// Returns what a thread of ours needs to wake the loop.
    pub(super) fn button(&self) -> Button {
        self.wake.button()
    }
}
