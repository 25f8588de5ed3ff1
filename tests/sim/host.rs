//! Scripted launchers with the processes and sessions below them.
//!
//! What they keep about a turn outlives the daemon, as the turn directory does: a turn that is handed again is found
//! and never run again. Orders that wait and sightings under way die with the daemon.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fleetd::fleet::envelope::{Exit, Finish};
use fleetd::fleet::ids::{TurnId, WorkerName};
use fleetd::fleet::input::{Nudged, Sighting, WorkEffect};
use fleetd::fleet::turn::{Outcome, Turn};
use fleetd::fleet::worker::{Process, Worker};

use super::schedule::Delivery;

/// How a turn stands where it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Stand {
    Running,
    /// Its end is on disk.
    Ended(Box<Finish>),
    /// It was started, and nothing tells how it ended.
    Dead,
    /// It was interrupted before it was started and must never be.
    Withdrawn,
}

/// What is kept about a turn until it is forgotten.
#[derive(Clone, Debug)]
pub struct TurnFile {
    pub worker: WorkerName,
    pub stand: Stand,
    /// The number of the session that has it; 0 = it is a process of its own.
    session: u64,
    /// Whether the daemon that lives now waits for its end.
    watched: bool,
}

#[derive(Clone, Debug, Default)]
struct Session {
    /// Its number: a later session of the same name is another one.
    number: u64,
    up: bool,
    failed: bool,
    blocked: bool,
}

/// All launchers and everything below them.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub turns: BTreeMap<TurnId, TurnFile>,
    /// How often each turn was run, kept for ever.
    pub runs_of: BTreeMap<TurnId, u32>,
    /// Workers that were killed from outside at some time.
    pub deaths: BTreeSet<WorkerName>,
    sessions: BTreeMap<WorkerName, Session>,
    orders: BTreeMap<WorkerName, VecDeque<WorkEffect>>,
    pub sightings: Vec<Sighting>,
    /// A planted fault: a turn that is handed again is run again.
    runs_again: bool,
    /// From now on every interrupt works.
    pub tame: bool,
    /// Nothing may be typed.
    paused: bool,
    memory_reads: u32,
    /// Who gave a turn back: it is looked again whether anything is in the way still.
    held: BTreeSet<WorkerName>,
    pub fault: Option<String>,
}

impl Host {
    /// Returns launchers below which nothing runs; `runs_again` plants the fault that a second hand runs a turn again.
    pub fn new(runs_again: bool) -> Host {
        Host { runs_again, ..Host::default() }
    }

    /// Takes an order; it is carried out later, in order for each worker.
    pub fn take(&mut self, order: WorkEffect) {
        let worker = match &order {
            WorkEffect::Start(worker)
            | WorkEffect::Watch(worker)
            | WorkEffect::Replied(worker, _)
            | WorkEffect::Hand(worker, _)
            | WorkEffect::Interrupt(worker, _)
            | WorkEffect::Stop(worker) => worker.name.clone(),
            WorkEffect::Forget(id) => return self.forget(*id),
            WorkEffect::Pause(on) => return self.paused = *on,
            WorkEffect::Memory => {
                // Every third time there is too little of it.
                self.memory_reads += 1;
                let low = self.memory_reads.is_multiple_of(3) && !self.tame;
                let available = Some(if low { 1 << 20 } else { 1 << 30 });
                return self.sightings.push(Sighting::Memory { available });
            }
            WorkEffect::Nudge(leader, n) => {
                let how = if self.tame || n % 2 == 0 { Nudged::Typed } else { Nudged::NotNow("it works".into()) };
                return self.sightings.push(Sighting::Nudged { leader: *leader, how });
            }
        };
        self.orders.entry(worker).or_default().push_back(order);
    }

    /// Carries out the next order of some worker; returns it, or nothing if none can be carried out.
    pub fn carry(&mut self, pick: u8) -> Option<WorkEffect> {
        let can = |(name, orders): (&WorkerName, &VecDeque<WorkEffect>)| {
            let next = orders.front()?;
            // One worker does one thing at a time: the next text waits for the end of the one before.
            let blocked = matches!(next, WorkEffect::Hand(_, turn) if self.runs_another(name, turn.id));
            (!blocked).then(|| name.clone())
        };
        let ready: Vec<WorkerName> = self.orders.iter().filter_map(can).collect();
        let name = ready.get(usize::from(pick) % ready.len().max(1))?;
        let order = self.orders.get_mut(name)?.pop_front()?;
        self.orders.retain(|_, orders| !orders.is_empty());
        match order.clone() {
            WorkEffect::Start(worker) => self.start(&worker),
            // What there is to see, `look_around` sees; when a turn ends, the schedule says.
            WorkEffect::Watch(_) | WorkEffect::Replied(..) => {}
            WorkEffect::Hand(worker, turn) => self.hand(&worker, &turn),
            WorkEffect::Interrupt(worker, id) => self.interrupt(&worker, id),
            WorkEffect::Stop(worker) => self.stop(&worker),
            WorkEffect::Forget(_) | WorkEffect::Nudge(..) | WorkEffect::Pause(_) | WorkEffect::Memory => {}
        }
        Some(order)
    }

    fn runs_another(&self, name: &WorkerName, id: TurnId) -> bool {
        self.turns.iter().any(|(other, file)| *other != id && file.worker == *name && file.stand == Stand::Running)
    }

    fn start(&mut self, worker: &Worker) {
        // What was just reported as gone is not brought up again under the same name.
        let reported = |sighting: &Sighting| matches!(sighting, Sighting::Gone { worker: gone, session, .. } if *gone == worker.name && *session == worker.session);
        if self.sightings.iter().any(reported) {
            return;
        }
        let session = self.sessions.entry(worker.name.clone()).or_default();
        if session.number != worker.session {
            *session = Session { number: worker.session, ..Session::default() };
        }
        if session.up {
            self.sightings.push(Sighting::Up { worker: worker.name.clone() });
        } else if session.failed {
            self.sightings.push(not_up(&worker.name));
        }
    }

    fn hand(&mut self, worker: &Worker, turn: &Turn) {
        let (name, id, number) = (worker.name.clone(), turn.id, number_of(worker));
        let session = number != 0;
        let again = self.runs_again && self.turns.get(&id).is_some_and(|file| file.stand == Stand::Running);
        if !self.turns.contains_key(&id) || again {
            if session && !self.sessions.contains_key(&name) {
                return self.gone(&name, number, "its session is gone");
            }
            if session && (self.paused || self.sessions.get(&name).is_some_and(|session| session.blocked)) {
                let why = "a draft in the composer, or a pause".to_string();
                self.held.insert(name.clone());
                return self.sightings.push(Sighting::Held { worker: name, turn: id, hand: turn.hands(), why });
            }
            if self.runs_another(&name, id) {
                self.fault = Some(format!("{name} was handed {id} while it runs another turn"));
            }
            let runs = self.runs_of.entry(id).or_default();
            *runs += 1;
            if *runs > 1 {
                self.fault = Some(format!("{id} was run {runs} times"));
            }
            self.turns.insert(id, TurnFile { worker: name, stand: Stand::Running, session: number, watched: true });
        }
        let file = self.turns.get_mut(&id).expect("it was found or made");
        file.watched = true;
        self.report(id);
    }

    /// Tells how a turn stands, as a launcher does that comes upon it.
    fn report(&mut self, id: TurnId) {
        let Some(file) = self.turns.get(&id).cloned() else { return };
        let worker = file.worker;
        match file.stand {
            Stand::Running => {
                let process = (file.session == 0).then_some(Process { pid: 1000 + id.0 as i32, start: id.0 });
                self.sightings.push(Sighting::Taken { worker, turn: id, process });
            }
            Stand::Ended(finish) => self.sightings.push(Sighting::Finished { worker, turn: id, finish, idle: true }),
            Stand::Dead if file.session != 0 => self.gone(&worker, file.session, "its session died"),
            Stand::Dead if id.0.is_multiple_of(2) => self.gone(&worker, 0, "pane-exec was killed"),
            Stand::Dead => {
                let finish = Box::new(Finish::without_reply(Outcome::Unknown, "pane-exec was killed"));
                self.sightings.push(Sighting::Finished { worker, turn: id, finish, idle: true });
            }
            Stand::Withdrawn => {
                let finish = Box::new(Finish::without_reply(Outcome::Cancelled, "never started"));
                self.sightings.push(Sighting::Finished { worker, turn: id, finish, idle: true });
            }
        }
    }

    fn gone(&mut self, name: &WorkerName, session: u64, why: &str) {
        self.sightings.push(Sighting::Gone { worker: name.clone(), session, why: why.to_string() });
    }

    fn interrupt(&mut self, worker: &Worker, id: TurnId) {
        let session = worker.profile.has_session();
        let Some(file) = self.turns.get_mut(&id) else {
            let number = number_of(worker);
            let file =
                TurnFile { worker: worker.name.clone(), stand: Stand::Withdrawn, session: number, watched: true };
            self.turns.insert(id, file);
            return self.report(id);
        };
        file.watched = true;
        if file.stand == Stand::Running {
            if id.0.is_multiple_of(5) && !self.tame {
                return; // it does not listen
            }
            file.stand = Stand::Ended(Box::new(Finish::without_reply(Outcome::Failed, "interrupted")));
            if session {
                let finish = Box::new(Finish::without_reply(Outcome::Failed, "interrupted"));
                let worker = worker.name.clone();
                self.sightings.push(Sighting::Finished { worker: worker.clone(), turn: id, finish, idle: false });
                return self.sightings.push(idle(worker, Some(id)));
            }
        }
        self.report(id);
    }

    fn stop(&mut self, worker: &Worker) {
        if self.sessions.get(&worker.name).is_some_and(|session| session.number == worker.session) {
            self.sessions.remove(&worker.name);
        }
        for file in self.turns.values_mut().filter(|file| file.worker == worker.name) {
            if file.stand == Stand::Running {
                file.stand = Stand::Dead;
                file.watched = false;
            }
        }
        self.gone(&worker.name, number_of(worker), "stopped");
    }

    fn forget(&mut self, id: TurnId) {
        if self.turns.get(&id).is_some_and(|file| file.stand == Stand::Running) {
            self.fault = Some(format!("{id} was to be forgotten while it runs"));
        }
        self.turns.remove(&id);
    }

    // === what happens by itself ===

    /// Returns the turns that run now.
    pub fn running(&self) -> Vec<TurnId> {
        self.turns.iter().filter(|(_, file)| file.stand == Stand::Running).map(|(id, _)| *id).collect()
    }

    /// Ends a running turn by itself; `busy` = a session that still looks busy for a moment.
    pub fn exit(&mut self, id: TurnId, ok: bool, busy: bool) {
        let Some(file) = self.turns.get_mut(&id) else { return };
        let finish = Box::new(finish_of(id, ok));
        file.stand = Stand::Ended(finish.clone());
        if !file.watched {
            return;
        }
        let (worker, idle_now) = (file.worker.clone(), !(file.session != 0 && busy));
        self.sightings.push(Sighting::Finished { worker: worker.clone(), turn: id, finish, idle: idle_now });
        if !idle_now {
            self.sightings.push(idle(worker, Some(id)));
        }
    }

    /// Returns what could be killed: sessions, and the processes of running turns.
    pub fn killable(&self) -> Vec<WorkerName> {
        let sessions = self.sessions.keys().cloned();
        let turns = self.turns.values().filter(|file| file.stand == Stand::Running && file.session == 0);
        sessions.chain(turns.map(|file| file.worker.clone())).collect()
    }

    /// Kills a worker's processes from outside.
    pub fn kill(&mut self, name: &WorkerName) {
        self.deaths.insert(name.clone());
        let session = self.sessions.remove(name).map(|session| session.number);
        let mut watched = session.is_some();
        let mut last = None;
        for (id, file) in self.turns.iter_mut().filter(|(_, file)| file.worker == *name) {
            if file.stand == Stand::Running {
                file.stand = Stand::Dead;
                watched |= file.watched;
                last = Some(*id);
            }
        }
        match last {
            _ if session.is_some() => self.gone(name, session.unwrap_or(0), "its session died"),
            Some(id) if watched => self.report(id),
            _ => {}
        }
    }

    /// Returns sessions that were started and have neither come up nor failed.
    pub fn starting(&self) -> Vec<WorkerName> {
        let starting = self.sessions.iter().filter(|(_, session)| !session.up && !session.failed);
        starting.map(|(name, _)| name.clone()).collect()
    }

    /// Lets a session come up, or fail to.
    pub fn up(&mut self, name: &WorkerName, ok: bool) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        (session.up, session.failed) = (ok, !ok);
        let worker = name.clone();
        self.sightings.push(match ok {
            true => Sighting::Up { worker },
            false => not_up(name),
        });
    }

    /// Returns sessions that are up.
    pub fn sessions(&self) -> Vec<WorkerName> {
        self.sessions.iter().filter(|(_, session)| session.up).map(|(name, _)| name.clone()).collect()
    }

    /// Opens a session's dialog, or closes it.
    pub fn dialog(&mut self, name: &WorkerName) {
        let last = self.last_turn(name);
        let Some(session) = self.sessions.get_mut(name) else { return };
        session.blocked = !session.blocked;
        let worker = name.clone();
        let blocked = session.blocked;
        self.sightings.push(match blocked {
            true => Sighting::Blocked { worker, why: "do you trust this folder?".to_string() },
            false => idle(worker, last),
        });
    }

    /// Looks again at the sessions that gave a turn back.
    pub fn look_again(&mut self) {
        for name in std::mem::take(&mut self.held) {
            match self.sessions.get(&name) {
                Some(session) if session.up && !session.blocked => self.sightings.push(idle(name, None)),
                Some(_) => drop(self.held.insert(name)),
                None => {}
            }
        }
    }

    /// Returns sessions with an open dialog.
    pub fn blocked(&self) -> Vec<WorkerName> {
        self.sessions.iter().filter(|(_, session)| session.blocked).map(|(name, _)| name.clone()).collect()
    }

    fn last_turn(&self, name: &WorkerName) -> Option<TurnId> {
        self.turns.iter().filter(|(_, file)| file.worker == *name).map(|(id, _)| *id).next_back()
    }

    /// Takes a sighting that arrives now.
    pub fn deliver(&mut self, pick: u8, how: Delivery) -> Option<Sighting> {
        let n = self.sightings.len();
        let at = usize::from(pick) % n.max(1);
        match how {
            _ if n == 0 => None,
            Delivery::Once => Some(self.sightings.remove(at)),
            Delivery::Twice => Some(self.sightings[at].clone()),
            Delivery::Never => {
                self.sightings.remove(at);
                None
            }
        }
    }

    /// The daemon died: what it had not done or heard is gone; processes and files stay.
    pub fn daemon_died(&mut self) {
        self.orders.clear();
        self.sightings.clear();
        // The next one is told anew.
        self.paused = false;
        for file in self.turns.values_mut() {
            file.watched = false;
        }
    }

    /// A daemon came back and looks at the sessions that it knows of.
    pub fn look_around<'a>(&mut self, workers: impl Iterator<Item = &'a Arc<Worker>>) {
        for worker in workers.filter(|worker| worker.profile.has_session()) {
            let name = &worker.name;
            let busy = self.turns.values().any(|file| file.worker == *name && file.stand == Stand::Running);
            let last = self.last_turn(name);
            match self.sessions.get(name) {
                // One that was never started is not gone: its order to start is given again.
                None if worker.state.word() != "starting" => self.gone(name, number_of(worker), "its session is gone"),
                Some(session) if session.blocked => {
                    let why = "do you trust this folder?".to_string();
                    self.sightings.push(Sighting::Blocked { worker: name.clone(), why });
                }
                Some(session) if session.up && !busy => self.sightings.push(idle(name.clone(), last)),
                _ => {}
            }
        }
    }
}

/// Returns how a turn ends that ends by itself.
pub fn finish_of(id: TurnId, ok: bool) -> Finish {
    let outcome = if ok { Outcome::Replied } else { Outcome::Failed };
    Finish {
        text: format!("the reply to {id}").into(),
        exit: Some(Exit::Code(i32::from(!ok))),
        why: (!ok).then(|| "exit 1".to_string()),
        proof: Some("exit_status".to_string()),
        ..Finish::without_reply(outcome, "")
    }
}

fn number_of(worker: &Worker) -> u64 {
    if worker.profile.has_session() { worker.session } else { 0 }
}

fn not_up(name: &WorkerName) -> Sighting {
    Sighting::NotUp { worker: name.clone(), why: "no tools were listed".to_string() }
}

fn idle(worker: WorkerName, _last: Option<TurnId>) -> Sighting {
    Sighting::Idle { worker }
}
