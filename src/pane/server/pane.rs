//! One pane: a terminal, the program that leads its session, its screen, and what waits to be typed into it.
//! Which clients hear of it is `round`'s matter; here is only what happens between us and the terminal.

use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use super::end::Ending;
use super::queue::Queue;
use super::screen::Screen;
use super::spawn::{self, Spawned};
use crate::fleet::worker::Process;
use crate::pane::wire::{Death, Shown, Size, Start, View};
use crate::process::ProcessId;

/// How much is read of a terminal before anybody else gets a turn; the kernel holds less than this for one.
const READ: usize = 16 * 1024;
/// How long a program may take to begin to run.
const START: Duration = Duration::from_secs(5);
/// How long what the dead have printed is waited for, and how long it is read at most.
const LAST_WORDS: Duration = Duration::from_millis(50);
const LONGEST_WORDS: Duration = Duration::from_secs(1);
/// How long a terminal that was hung up is not looked at.
const DEAF: Duration = Duration::from_millis(250);
/// Rows above the last screen that are kept of a dead pane.
const LAST_ROWS: usize = 200;

/// Who asked for something, and under which number: the client and its request.
pub type Asked = (u64, u64);

/// A terminal and what runs in it.
pub struct Pane {
    /// What clients call it.
    pub id: String,
    /// The worker's role.
    pub role: String,
    /// The worker.
    pub worker: String,
    /// The program that was started.
    pub root: ProcessId,
    /// What became of it.
    pub life: Life,
    /// What waits to be typed.
    pub queue: Queue,
    /// How long reading it has taken: who has taken least is read first.
    pub spent: Duration,
    /// Whether something was printed that subscribers were not told of, and when they were told last.
    pub untold: bool,
    pub told: Option<Instant>,
    /// The thread that ends it, and who waits for that.
    pub ending: Option<Ending>,
    pub closers: Vec<Asked>,
    terminal: Option<Terminal>,
    screen: Screen,
    /// What was read and not printed yet.
    read: Vec<u8>,
    printed: usize,
    readable: bool,
    /// Until when a terminal that was hung up is not looked at: it would be ready all the time.
    deaf_until: Option<Instant>,
    is_hung_up: bool,
}

/// Both ends of a terminal. The program's end is let go when the program is dead.
struct Terminal {
    master: OwnedFd,
    slave: Option<OwnedFd>,
}

/// What became of a pane's program.
pub enum Life {
    /// It is on its way: what, for whom, and how long at most.
    Starting { program: String, report: PipeReader, by: Asked, until: Instant },
    /// It runs.
    Living,
    /// It is dead, and what it printed last is still read.
    Dying { death: Death, since: Instant, heard: Instant },
    /// It is dead; this was its last screen.
    Dead { death: Death, since: Instant, last: Box<View> },
}

impl Pane {
    /// Returns the pane of a program that was just started.
    pub fn new(id: String, start: &Start, spawned: Spawned, by: Asked, size: Size) -> Pane {
        let Spawned { root, master, slave, report } = spawned;
        let program = start.argv.first().map(|name| String::from_utf8_lossy(&name.0).into_owned()).unwrap_or_default();
        Pane {
            id,
            role: start.role.clone(),
            worker: start.worker.clone(),
            root,
            life: Life::Starting { program, report, by, until: Instant::now() + START },
            queue: Queue::default(),
            spent: Duration::ZERO,
            untold: false,
            told: None,
            ending: None,
            closers: Vec::new(),
            terminal: Some(Terminal { master, slave: Some(slave) }),
            screen: Screen::new(size),
            read: Vec::new(),
            printed: 0,
            readable: false,
            deaf_until: None,
            is_hung_up: false,
        }
    }

    /// Returns it as clients are shown it.
    pub fn shown(&self, watchers: usize) -> Shown {
        Shown {
            pane: crate::engine::panes::Pane { id: self.id.clone(), root: Process::from(self.root) },
            role: self.role.clone(),
            worker: self.worker.clone(),
            size: self.screen.size(),
            watchers,
            died: self.death(),
        }
    }

    /// Returns how its program died, if it did.
    pub fn death(&self) -> Option<Death> {
        match &self.life {
            Life::Dying { death, .. } | Life::Dead { death, .. } => Some(*death),
            Life::Starting { .. } | Life::Living => None,
        }
    }

    /// Tells whether its program still runs, as the kernel says in this moment. Not reaped, its pid is nobody else's.
    pub fn is_occupied(&self) -> bool {
        matches!(self.life, Life::Living) && self.root.is_alive()
    }

    /// Returns the terminal's end that is waited on, while there is one.
    pub fn master(&self, now: Instant) -> Option<&OwnedFd> {
        let hears = self.deaf_until.is_none_or(|until| until <= now);
        self.terminal.as_ref().filter(|_| hears).map(|terminal| &terminal.master)
    }

    /// Notes that the terminal has something to read.
    pub fn is_readable(&mut self) {
        self.readable = true;
    }

    /// Tells whether there is something to print.
    pub fn has_work(&self) -> bool {
        self.readable || self.printed < self.read.len()
    }

    /// Prints what the program said, until the time is over. Returns whether anything was printed.
    pub fn print(&mut self, until: Instant) -> bool {
        let mut any = false;
        loop {
            if self.printed == self.read.len() && !self.fill() {
                break;
            }
            self.printed += self.screen.print(&self.read[self.printed..], until);
            any = true;
            if Instant::now() >= until {
                break;
            }
        }
        let answers = self.screen.answers();
        if !answers.is_empty() && matches!(self.life, Life::Living) {
            self.queue.reply(answers);
        }
        any
    }

    /// Reads what is there, as much as may be kept; returns whether that was anything.
    fn fill(&mut self) -> bool {
        self.read.clear();
        self.printed = 0;
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.readable) else { return false };
        self.read.resize(READ, 0);
        let mut filled = 0;
        while filled < READ {
            match rustix::io::read(&terminal.master, &mut self.read[filled..]) {
                Ok(read) if read > 0 => filled += read,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    break;
                }
                // It was hung up: with the death of its program, or by one that has the right to.
                _ => {
                    (self.readable, self.deaf_until) = (false, Some(Instant::now() + DEAF));
                    self.is_hung_up = true;
                    break;
                }
            }
        }
        self.read.truncate(filled);
        if filled == 0 {
            // What a pane that prints needs is not held by those that are quiet.
            self.read = Vec::new();
        }
        if let (Life::Dying { heard, .. }, true) = (&mut self.life, filled > 0) {
            *heard = Instant::now();
        }
        filled > 0
    }

    /// Types what waits, as far as the terminal takes it.
    pub fn type_out(&mut self, now: Instant) {
        let Some(terminal) = self.terminal.as_ref().filter(|_| matches!(self.life, Life::Living)) else { return };
        while let Some(bytes) = self.queue.next(now) {
            match rustix::io::write(&terminal.master, bytes) {
                Ok(typed) if typed > 0 => self.queue.typed(typed, now),
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// Looks whether a start has come to its end: whether it runs, or why not, and who asked.
    pub fn started(&mut self, now: Instant) -> Option<(Asked, Result<(), String>)> {
        let Life::Starting { program, report, by, until } = &mut self.life else { return None };
        let by = *by;
        let told = spawn::reported(report);
        let told = told.or_else(|| (now >= *until).then(|| Err("it did not begin to run in time".into())))?;
        let told = told.map_err(|why| format!("cannot start '{program}': {why}"));
        match &told {
            Ok(()) => self.life = Life::Living,
            Err(_) => self.discard(),
        }
        Some((by, told))
    }

    /// Ends a program that never ran.
    pub fn discard(&mut self) {
        let _ = self.root.signal(rustix::process::Signal::KILL);
        let _ = self.reap(WaitOptions::empty());
    }

    /// Looks whether the program has died; if so, what it printed last is read from now on. Not while a thread looks
    /// for all that belongs to it: until it is reaped, its pid is nobody else's.
    pub fn has_died(&mut self, now: Instant) -> bool {
        if !matches!(self.life, Life::Living) || self.ending.is_some() {
            return false;
        }
        let Some(death) = self.reap(WaitOptions::NOHANG) else { return false };
        self.life = Life::Dying { death, since: now, heard: now };
        self.queue = Queue::default();
        if let Some(terminal) = &mut self.terminal {
            terminal.slave = None;
        }
        self.readable = true;
        true
    }

    /// Tells whether all was read that a dead program printed. What goes on printing is not read for ever.
    pub fn is_silent(&self, now: Instant) -> bool {
        let Life::Dying { since, heard, .. } = self.life else { return false };
        let silent = !self.has_work() && (self.is_hung_up || now >= heard + LAST_WORDS);
        silent || now >= since + LONGEST_WORDS
    }

    /// Keeps of a dead program only its last screen.
    pub fn bury(&mut self) {
        let Life::Dying { death, since, .. } = self.life else { return };
        let last = Box::new(View { died: Some(death), ..self.screen.view(true, LAST_ROWS) });
        self.screen = Screen::new(super::LEAST);
        (self.read, self.printed, self.readable, self.terminal) = (Vec::new(), 0, false, None);
        self.life = Life::Dead { death, since, last };
    }

    /// Returns when it must be looked at again, whatever else happens.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        match &self.life {
            Life::Starting { until, .. } => Some(*until),
            Life::Living => self.queue.due(now).into_iter().chain(self.deaf_until.filter(|until| *until > now)).min(),
            Life::Dying { since, heard, .. } => Some((*heard + LAST_WORDS).min(*since + LONGEST_WORDS)),
            Life::Dead { since, .. } => Some(*since + super::KEEP_DEAD),
        }
    }

    /// Returns what it shows.
    pub fn view(&mut self, colours: bool, history: usize) -> View {
        let died = self.death();
        match &self.life {
            Life::Dead { last, .. } => {
                let mut view = View::clone(last);
                view.history.drain(..view.history.len() - history.min(view.history.len()));
                if !colours {
                    view.coloured.clear();
                }
                view
            }
            _ => View { died, ..self.screen.view(colours, history) },
        }
    }

    /// Returns its screen, to be drawn or asked for its modes.
    pub fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    /// Gives it another size; returns whether it had another one.
    pub fn resize(&mut self, size: Size) -> bool {
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.screen.size() != size) else { return false };
        if let Err(error) = spawn::resize(&terminal.master, size) {
            tracing::warn!(pane = self.id, %error, "a terminal could not be given another size");
            return false;
        }
        self.screen.resize(size);
        true
    }

    fn reap(&self, how: WaitOptions) -> Option<Death> {
        let pid = Pid::from_raw(i32::try_from(self.root.pid).ok()?)?;
        match waitpid(Some(pid), how) {
            Ok(None) | Err(Errno::INTR) => None,
            Ok(Some((_, status))) => Some(death(status)),
            Err(_) => Some(Death::default()),
        }
    }
}

fn death(status: WaitStatus) -> Death {
    Death { code: status.exit_status(), signal: status.terminating_signal() }
}
