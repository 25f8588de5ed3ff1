//! The one task of the host: keeps the connection to the server, sends orders, and gives answers to whom they belong.
//!
//! Without a server it rests: an order that needs one begins it. A connection that breaks is told as `Down`, and as `Up`
//! when there is another one, or when it is plain that the server is dead and the next start begins a new one.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Instant;

use super::order::{Came, Order, Sent};
use super::{Options, begin};
use crate::engine::panes::PaneSeen;
use crate::pane::wire::{self, Ask, Dial, Hello, Line, Lines, MAX_LINE, OLDEST, Place, Request, Seen};

/// Bytes that wait to be written; above that orders wait.
const UNSENT: usize = 16 << 20;
/// How long a server may take to say who it is.
const HELLO: Duration = Duration::from_secs(2);
/// The first wait before a connection is tried again, and the longest.
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(2);
/// How long a server that was just started, by us or by somebody else, may take to be reached.
const REACH: Duration = Duration::from_secs(5);

/// What the task has.
pub(super) struct Link {
    options: Options,
    seen: broadcast::Sender<PaneSeen>,
    down: watch::Sender<Option<String>>,
}

/// How it stands with the server.
enum Stand {
    Connected(Box<Wire>),
    Nobody,
    Failed(String),
}

/// A connection.
struct Wire {
    stream: UnixStream,
    lines: Lines,
    unsent: Vec<u8>,
    /// How many bytes were written to it.
    written: u64,
    asked: u64,
    /// Orders without an answer, each with what was before it in all that is to be written.
    open: HashMap<u64, (u64, Sent)>,
}

impl Link {
    pub(super) fn new(
        options: Options,
        seen: broadcast::Sender<PaneSeen>,
        down: watch::Sender<Option<String>>,
    ) -> Link {
        Link { options, seen, down }
    }

    pub(super) async fn run(self, mut orders: mpsc::Receiver<Order>) {
        let mut stand = self.dial().await;
        loop {
            stand = match stand {
                Stand::Connected(wire) => match self.serve(*wire, &mut orders).await {
                    Some(why) => Stand::Failed(why),
                    None => return,
                },
                Stand::Nobody => match orders.recv().await {
                    Some(order) => self.begin_for(order, &mut orders).await,
                    None => return,
                },
                Stand::Failed(why) => match self.reach_again(why, &mut orders).await {
                    Some(stand) => stand,
                    None => return,
                },
            };
        }
    }

    /// Tries to reach a server that is there.
    async fn dial(&self) -> Stand {
        let place = match Place::open(&self.options.state) {
            Ok(place) => place,
            Err(error) if error.kind() == ErrorKind::NotFound => return Stand::Nobody,
            Err(error) => return Stand::Failed(format!("the state directory cannot be used: {error}")),
        };
        match place.dial() {
            Dial::Nobody => Stand::Nobody,
            Dial::Failed(error) => Stand::Failed(format!("the pane server cannot be reached: {error}")),
            Dial::Connected(stream) => match Wire::open(stream).await {
                Ok(wire) => Stand::Connected(Box::new(wire)),
                Err(why) => Stand::Failed(why),
            },
        }
    }

    /// Does an order when no server was there: most have nothing to do then, a start begins one.
    async fn begin_for(&self, order: Order, orders: &mut mpsc::Receiver<Order>) -> Stand {
        let stand = self.dial().await;
        let stand = match (stand, &order.ask) {
            (Stand::Nobody, Ask::Start(_)) if order.is_wanted() => self.begin().await,
            (stand, _) => stand,
        };
        match stand {
            Stand::Connected(mut wire) => {
                wire.take(order);
                Stand::Connected(wire)
            }
            Stand::Nobody => {
                order.answer(Came::Nobody);
                Stand::Nobody
            }
            Stand::Failed(why) => {
                order.answer(Came::Unsent(why.clone()));
                // Whoever waits behind it is told the same, instead of one start after the other.
                while let Ok(order) = orders.try_recv() {
                    order.answer(Came::Unsent(why.clone()));
                }
                Stand::Failed(why)
            }
        }
    }

    /// Begins a server and reaches it.
    async fn begin(&self) -> Stand {
        if let Err(why) = begin::begin(&self.options).await {
            tracing::warn!(why, "the pane server does not start");
            return Stand::Failed(why);
        }
        let until = Instant::now() + REACH;
        loop {
            match self.dial().await {
                Stand::Connected(wire) => return Stand::Connected(wire),
                Stand::Failed(why) if Instant::now() >= until => return Stand::Failed(why),
                Stand::Nobody if Instant::now() >= until => {
                    return Stand::Failed("the pane server ended as soon as it had begun".into());
                }
                _ => tokio::time::sleep(SOON).await,
            }
        }
    }

    /// Tells that the server cannot be reached, and tries until it can, or until it is plain that there is none.
    async fn reach_again(&self, why: String, orders: &mut mpsc::Receiver<Order>) -> Option<Stand> {
        tracing::warn!(why, "the pane server is not reached");
        self.down.send_replace(Some(why.clone()));
        let _ = self.seen.send(PaneSeen::Down(why.clone()));
        let mut wait = Duration::ZERO;
        loop {
            let again = tokio::time::sleep(wait);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    () = &mut again => break,
                    order = orders.recv() => order?.answer(Came::Unsent(why.clone())),
                }
            }
            match self.dial().await {
                Stand::Failed(_) => wait = (wait * 2).clamp(SOON, LATE),
                stand => {
                    self.down.send_replace(None);
                    let _ = self.seen.send(PaneSeen::Up);
                    return Some(stand);
                }
            }
        }
    }

    /// Serves orders over a connection until it breaks; returns why, or nothing when nobody has orders any more.
    async fn serve(&self, mut wire: Wire, orders: &mut mpsc::Receiver<Order>) -> Option<String> {
        let why = loop {
            let interest =
                if wire.unsent.is_empty() { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
            tokio::select! {
                ready = wire.stream.ready(interest) => {
                    let done = match ready {
                        Ok(_) => wire.write().and_then(|()| wire.read()),
                        Err(error) => Err(error.to_string()),
                    };
                    if let Err(why) = done.and_then(|()| self.hear(&mut wire)) {
                        break why;
                    }
                }
                order = orders.recv(), if wire.unsent.len() < UNSENT => {
                    wire.take(order?);
                    if let Err(why) = wire.write() {
                        break why;
                    }
                }
            }
        };
        let broke = format!("the connection to the pane server broke: {why}");
        for (before, sent) in wire.open.into_values() {
            // One of which not a byte was written cannot have been read.
            let unsent = before >= wire.written;
            sent.answer(if unsent { Came::Unsent(broke.clone()) } else { Came::Unanswered(broke.clone()) });
        }
        Some(why)
    }

    /// Gives on what came.
    fn hear(&self, wire: &mut Wire) -> Result<(), String> {
        while let Some(line) = wire.lines.take().map_err(|error| error.to_string())? {
            match serde_json::from_slice::<Line>(&line) {
                Ok(Line::Answer { id, came }) => {
                    let Some((_, sent)) = wire.open.remove(&id) else { continue };
                    sent.answer(match came {
                        wire::Came::Done(done) => Came::Done(done),
                        wire::Came::Not { how, why } => Came::Not(how, why),
                    });
                }
                // Nobody need listen.
                Ok(Line::Seen(Seen::Changed(pane))) => drop(self.seen.send(PaneSeen::Changed(pane))),
                Ok(Line::Seen(Seen::Gone(pane))) => drop(self.seen.send(PaneSeen::Gone(pane))),
                Ok(Line::Hello(_) | Line::Frame(_) | Line::Ended(_)) => {}
                Err(error) => tracing::debug!(%error, "the pane server tells something that is not known here"),
            }
        }
        Ok(())
    }
}

impl Wire {
    /// Takes a new connection: hears who the server is, and asks to be told what it sees.
    async fn open(stream: std::os::unix::net::UnixStream) -> Result<Wire, String> {
        let stream = stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream));
        let stream = stream.map_err(|error| format!("the connection cannot be used: {error}"))?;
        let lines = Lines::default();
        let mut wire = Wire { stream, lines, unsent: Vec::new(), written: 0, asked: 0, open: HashMap::new() };
        let hello = tokio::time::timeout(HELLO, wire.hello()).await;
        let hello = hello.map_err(|_| "the pane server does not say who it is".to_string())??;
        if hello.protocol < OLDEST {
            return Err(format!(
                "the pane server is too old: it speaks protocol {}, {OLDEST} is needed",
                hello.protocol
            ));
        }
        tracing::info!(version = hello.version, pid = hello.process.pid, "connected to the pane server");
        wire.push(Ask::Subscribe)?;
        wire.write()?;
        Ok(wire)
    }

    async fn hello(&mut self) -> Result<Hello, String> {
        loop {
            if let Some(line) = self.lines.take().map_err(|error| error.to_string())? {
                return match serde_json::from_slice(&line) {
                    Ok(Line::Hello(hello)) => Ok(hello),
                    _ => Err("what listens is no pane server".into()),
                };
            }
            self.stream.readable().await.map_err(|error| error.to_string())?;
            self.read()?;
        }
    }

    /// Takes an order: from now on it counts as sent.
    fn take(&mut self, order: Order) {
        let Some((ask, sent)) = order.send() else { return };
        let before = self.written + self.unsent.len() as u64;
        match self.push(ask) {
            Ok(id) => drop(self.open.insert(id, (before, sent))),
            Err(why) => sent.answer(Came::Not(wire::No::Refused, why)),
        }
    }

    fn push(&mut self, ask: Ask) -> Result<u64, String> {
        self.asked += 1;
        let request = Request { id: self.asked, ask };
        let bytes = serde_json::to_vec(&request).map_err(|error| format!("it cannot be written: {error}"))?;
        if bytes.len() > MAX_LINE {
            return Err(format!("it has more than {MAX_LINE} bytes"));
        }
        self.unsent.extend(bytes);
        self.unsent.push(b'\n');
        Ok(self.asked)
    }

    fn write(&mut self) -> Result<(), String> {
        while !self.unsent.is_empty() {
            match self.stream.try_write(&self.unsent) {
                Ok(written) => {
                    self.unsent.drain(..written);
                    self.written += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
        self.unsent.shrink_to(64 * 1024);
        Ok(())
    }

    fn read(&mut self) -> Result<(), String> {
        let mut bytes = [0; 16 * 1024];
        match self.stream.try_read(&mut bytes) {
            Ok(0) => Err("it has ended".into()),
            Ok(read) => {
                self.lines.push(&bytes[..read]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}
