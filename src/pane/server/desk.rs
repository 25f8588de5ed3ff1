//! What a client asks, and what comes of it. Whatever is typed is typed only after the pane's program was compared,
//! in this moment, with the one that was meant.

use std::time::Instant;

use super::client::Watch;
use super::pane::{Life, Pane};
use super::round::Rounds;
use super::spawn::{self, SpawnError};
use super::{GREATEST, LEAST, MAX_PANES, SIZE, end};
use crate::engine::panes::{self, Key, clean};
use crate::pane::wire::{Ask, Came, Done, MAX_TEXT, No, Request, Size, Start};
use crate::process::ProcessId;

/// What to answer at once; none = later.
type Answer = Option<Came>;

const WELL: Answer = Some(Came::Done(Done::Well));

impl Rounds {
    /// Does what a client asks, and answers it now or later.
    pub(super) fn serve(&mut self, client: u64, request: Request) {
        let id = request.id;
        let is_inside = self.clients.get(&client).is_some_and(|client| client.is_inside);
        let came = match request.ask {
            _ if is_inside => not(No::Refused, "a program in a pane may not speak with the pane server"),
            Ask::Start(start) => self.start(client, id, &start),
            Ask::Paste { pane, text } => self.paste(&pane, &text),
            Ask::Press { pane, keys } => self.press(&pane, &keys),
            Ask::Screen { pane, colours, history } => self.screen(&pane, colours, history),
            Ask::Close { pane } => self.close(client, id, &pane),
            Ask::Panes => self.list(),
            Ask::Subscribe => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.subscribed = true;
                }
                WELL
            }
            Ask::Watch { pane, size, read_only } => self.watch(client, &pane, size, read_only),
            Ask::Resize(size) => self.resize(client, size),
            Ask::Type(bytes) => self.type_raw(client, bytes.0),
        };
        if let (Some(came), Some(client)) = (came, self.clients.get_mut(&client)) {
            client.answer(id, came);
        }
    }

    fn start(&mut self, client: u64, id: u64, start: &Start) -> Answer {
        if self.is_ending() {
            return not(No::Unavailable, "the pane server is ending");
        }
        if self.panes.values().filter(|pane| pane.death().is_none()).count() >= MAX_PANES {
            return not(No::Unavailable, &format!("there are {MAX_PANES} panes, and no more at once"));
        }
        let spawned = match spawn::spawn(start, SIZE) {
            Ok(spawned) => spawned,
            Err(SpawnError::Refused(why)) => return not(No::Refused, &why),
            Err(error) => return not(No::Unavailable, &error.to_string()),
        };
        let name = self.next_pane();
        tracing::info!(pane = name, worker = start.worker, pid = spawned.root.pid, "a pane begins");
        self.panes.insert(name.clone(), Pane::new(name, start, spawned, (client, id), SIZE));
        None
    }

    fn paste(&mut self, pane: &panes::Pane, text: &str) -> Answer {
        let text = clean(text);
        if text.len() > MAX_TEXT {
            return not(No::Refused, &format!("the text has more than {MAX_TEXT} bytes"));
        }
        self.type_into(pane, |pane| {
            let bracketed = pane.screen().modes().bracketed_paste;
            pane.queue.text(&text, bracketed)
        })
    }

    fn press(&mut self, pane: &panes::Pane, keys: &[String]) -> Answer {
        let keys: Result<Vec<Key>, String> = keys.iter().map(|key| Key::parse(key)).collect();
        match keys {
            Ok(keys) => self.type_into(pane, |pane| {
                let application = pane.screen().modes().application_cursor;
                pane.queue.keys(&keys, application)
            }),
            Err(why) => not(No::Refused, &why),
        }
    }

    /// Types something if the pane's program is the one that is meant; `take` says whether the queue had room.
    fn type_into(&mut self, meant: &panes::Pane, take: impl FnOnce(&mut Pane) -> bool) -> Answer {
        let Some(pane) = self.pane(meant).filter(|pane| pane.is_occupied()) else { return gone(meant) };
        if !take(pane) {
            return not(No::Unavailable, "the program does not read what was typed before, and no more can wait");
        }
        pane.type_out(Instant::now());
        WELL
    }

    fn screen(&mut self, meant: &panes::Pane, colours: bool, history: usize) -> Answer {
        match self.pane(meant) {
            Some(pane) => Some(Came::Done(Done::Screen(Box::new(pane.view(colours, history))))),
            None => gone(meant),
        }
    }

    fn close(&mut self, client: u64, id: u64, meant: &panes::Pane) -> Answer {
        let button = self.button();
        let Some(pane) = self.pane(meant) else { return WELL };
        match pane.life {
            Life::Starting { .. } => return WELL,
            Life::Dying { .. } | Life::Dead { .. } => {
                self.forget(&meant.id);
                return WELL;
            }
            Life::Living => {}
        }
        if pane.ending.is_none() {
            match end::begin(pane.root, button) {
                Ok(ending) => pane.ending = Some(ending),
                Err(error) => return not(No::Unavailable, &format!("cannot start a thread: {error}")),
            }
        }
        pane.closers.push((client, id));
        None
    }

    fn list(&self) -> Answer {
        let panes = self.panes.values().filter(|pane| !matches!(pane.life, Life::Starting { .. }));
        let mut panes: Vec<_> = panes.map(|pane| pane.shown(self.watchers(&pane.id).count())).collect();
        panes.sort_by_cached_key(|shown| (shown.role.clone(), number(&shown.worker), shown.pane.id.clone()));
        Some(Came::Done(Done::Panes(panes)))
    }

    fn watch(&mut self, client: u64, meant: &panes::Pane, size: Size, read_only: bool) -> Answer {
        if self.pane(meant).is_none_or(|pane| pane.death().is_some()) {
            return gone(meant);
        }
        let active = self.next_action();
        if let Some(client) = self.clients.get_mut(&client) {
            client.watch = Some(Watch::new(meant.id.clone(), bounded(size), read_only, active));
            client.owe_frame(Instant::now());
        }
        self.settle_size(&meant.id);
        WELL
    }

    fn resize(&mut self, client: u64, size: Size) -> Answer {
        let active = self.next_action();
        let Some(watch) = self.watch_of(client) else { return not(No::Refused, "nothing is watched") };
        (watch.size, watch.active) = (bounded(size), active);
        watch.view.resize(bounded(size));
        let pane = watch.pane.clone();
        if let Some(client) = self.clients.get_mut(&client) {
            client.owe_frame(Instant::now());
        }
        self.settle_size(&pane);
        WELL
    }

    fn type_raw(&mut self, client: u64, bytes: Vec<u8>) -> Answer {
        let active = self.next_action();
        let Some(watch) = self.watch_of(client) else { return not(No::Refused, "nothing is watched") };
        if watch.read_only {
            return not(No::Refused, "this watcher only looks");
        }
        watch.active = active;
        let name = watch.pane.clone();
        self.settle_size(&name);
        let Some(pane) = self.panes.get_mut(&name).filter(|pane| pane.is_occupied()) else {
            return not(No::Gone, "its program has ended");
        };
        if !pane.queue.raw(bytes) {
            return not(No::Unavailable, "the program does not read what was typed before");
        }
        let now = Instant::now();
        pane.type_out(now);
        self.hold.typed(&name, now);
        WELL
    }

    /// Returns the pane that is meant, if it is there with this very program.
    fn pane(&mut self, meant: &panes::Pane) -> Option<&mut Pane> {
        self.panes.get_mut(&meant.id).filter(|pane| pane.root == ProcessId::from(meant.root))
    }

    /// Gives a pane the size of the watcher who did something last, or its own when nobody has a say in it.
    pub(super) fn settle_size(&mut self, name: &str) {
        let last = self.watchers(name).filter(|watch| !watch.read_only).max_by_key(|watch| watch.active);
        let size = last.map_or(SIZE, |watch| watch.size);
        if self.panes.get_mut(name).is_some_and(|pane| pane.resize(size)) {
            self.has_changed(name, Instant::now());
        }
    }
}

fn not(how: No, why: &str) -> Answer {
    Some(Came::Not { how, why: why.into() })
}

fn gone(pane: &panes::Pane) -> Answer {
    let id: String = pane.id.chars().take(40).collect();
    not(No::Gone, &format!("no pane '{id}' has process {} in it", pane.root.pid))
}

fn bounded(size: Size) -> Size {
    let rows = size.rows.clamp(LEAST.rows, GREATEST.rows);
    Size { rows, columns: size.columns.clamp(LEAST.columns, GREATEST.columns) }
}

/// Returns what a worker's name is ordered by: `w-2` comes before `w-10`.
fn number(worker: &str) -> (u64, String) {
    let number = worker.rsplit('-').next().and_then(|end| end.parse().ok());
    (number.unwrap_or(0), worker.into())
}
