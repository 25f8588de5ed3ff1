//! A pane host in this process, with real terminals and faults on order: what a launcher needs to be tested with.
//! It keeps the port's contract as far as launchers use it; the hosts of the product have tests of their own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use fleetd::engine::panes::{Key, Listed, Pane, PaneError, PaneHost, PaneSeen, PaneStart, Screen, clean};
use fleetd::engine::ports::Boxed;
use fleetd::fleet::worker::Process;
use fleetd::process::{ProcessId, session_of};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio::sync::broadcast;

/// What is known of one pane.
struct Inner {
    root: Process,
    parser: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    _master: Box<dyn MasterPty + Send>,
    _child: Box<dyn Child + Send + Sync>,
}

/// A pane host in this process.
pub struct Local {
    panes: Mutex<BTreeMap<String, Inner>>,
    next: AtomicU32,
    down: Mutex<Option<String>>,
    seen: broadcast::Sender<PaneSeen>,
    /// What was pasted, in order.
    pub pasted: Mutex<Vec<String>>,
}

impl Local {
    pub fn new() -> Arc<Local> {
        let seen = broadcast::channel(256).0;
        let (panes, down, pasted) = Default::default();
        Arc::new(Local { panes, next: AtomicU32::new(1), down, seen, pasted })
    }

    /// From now on it cannot be reached, or can be again.
    pub fn set_down(&self, why: Option<&str>) {
        *self.down.lock().unwrap() = why.map(str::to_owned);
        let _ = self.seen.send(why.map_or(PaneSeen::Up, |why| PaneSeen::Down(why.into())));
    }

    /// A person moves all panes: the host calls them something else from now on.
    pub fn moves(&self) {
        let mut panes = self.panes.lock().unwrap();
        *panes = std::mem::take(&mut *panes).into_iter().map(|(id, pane)| (format!("{id}m"), pane)).collect();
    }

    /// A person types into the pane of this process.
    pub fn person_types(&self, root: Process, keys: &str) {
        let mut panes = self.panes.lock().unwrap();
        let pane = panes.values_mut().find(|pane| pane.root == root).expect("it has a pane");
        pane.keys.write_all(keys.as_bytes()).expect("the terminal takes it");
    }

    /// Returns what the pane of a process shows, as one text.
    pub fn shows(&self, root: Process) -> String {
        let panes = self.panes.lock().unwrap();
        let pane = panes.values().find(|pane| pane.root == root);
        pane.map(|pane| pane.parser.lock().unwrap().screen().contents()).unwrap_or_default()
    }

    fn open(&self) -> Result<MutexGuard<'_, BTreeMap<String, Inner>>, PaneError> {
        match &*self.down.lock().unwrap() {
            Some(why) => Err(PaneError::Unavailable(why.clone())),
            None => Ok(self.panes.lock().unwrap()),
        }
    }

    fn with<T>(&self, pane: &Pane, work: impl FnOnce(&mut Inner) -> T) -> Result<T, PaneError> {
        let mut panes = self.open()?;
        let found = panes.get_mut(&pane.id).filter(|found| found.root == pane.root && is_alive(found.root));
        found.map(work).ok_or_else(|| PaneError::Gone(format!("{} is not there", pane.id)))
    }

    fn begin(&self, start: PaneStart) -> Result<Pane, PaneError> {
        let mut panes = self.open()?;
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::from_argv(start.argv);
        command.env_clear();
        start.env.iter().for_each(|(name, value)| command.env(name, value));
        command.env("TERM", "xterm-256color");
        if !start.cwd.is_dir() {
            return Err(PaneError::Refused(format!("{} is no directory", start.cwd.display())));
        }
        command.cwd(start.cwd);
        let child = pair.slave.spawn_command(command).map_err(|error| PaneError::Refused(error.to_string()))?;
        let root = ProcessId::of(child.process_id().expect("it has a pid")).expect("it was just started").into();
        let id = format!("p{}", self.next.fetch_add(1, Ordering::SeqCst));
        let parser = Arc::new(Mutex::new(vt100::Parser::new(cells(size.rows), cells(size.cols), 0)));
        let (screen, seen) = (parser.clone(), self.seen.clone());
        let mut reader = pair.master.try_clone_reader().expect("the terminal can be read");
        let told = id.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                screen.lock().unwrap().process(&bytes[..n]);
                let _ = seen.send(PaneSeen::Changed(told.clone()));
            }
            let _ = seen.send(PaneSeen::Gone(told));
        });
        let keys = pair.master.take_writer().expect("the terminal can be written");
        panes.insert(id.clone(), Inner { root, parser, keys, _master: pair.master, _child: child });
        Ok(Pane { id, root })
    }
}

fn cells(n: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(n).expect("a terminal has cells")
}

fn is_alive(process: Process) -> bool {
    ProcessId::from(process).is_alive()
}

fn now<T: Send + 'static>(result: T) -> Boxed<T> {
    Box::pin(async { result })
}

impl PaneHost for Local {
    fn word(&self) -> &'static str {
        "the test's host"
    }
    fn down(&self) -> Option<String> {
        self.down.lock().unwrap().clone()
    }
    fn start(&self, start: PaneStart) -> Boxed<Result<Pane, PaneError>> {
        now(self.begin(start))
    }
    fn paste(&self, pane: Pane, text: Arc<str>) -> Boxed<Result<(), PaneError>> {
        let text = clean(&text);
        now(self.with(&pane, |found| {
            self.pasted.lock().unwrap().push(text.clone());
            let bracketed = found.parser.lock().unwrap().screen().bracketed_paste();
            let typed = if bracketed { format!("\u{1b}[200~{text}\u{1b}[201~") } else { text };
            found.keys.write_all(typed.as_bytes()).expect("the terminal takes it");
        }))
    }
    fn press(&self, pane: Pane, keys: Vec<Key>) -> Boxed<Result<(), PaneError>> {
        let bytes: Vec<u8> = keys.into_iter().flat_map(Key::bytes).collect();
        now(self.with(&pane, |found| found.keys.write_all(&bytes).expect("the terminal takes it")))
    }
    fn screen(&self, pane: Pane) -> Boxed<Result<Screen, PaneError>> {
        now(self.with(&pane, |found| {
            let parser = found.parser.lock().unwrap();
            let columns = parser.screen().size().1.get();
            let lines = parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
            Screen { lines, columns: Some(columns) }
        }))
    }
    fn processes(&self, pane: Pane) -> Boxed<Result<Vec<Process>, PaneError>> {
        now(self
            .with(&pane, |found| session_of(found.root.pid.unsigned_abs()).into_iter().map(Process::from).collect()))
    }
    fn close(&self, pane: Pane) -> Boxed<Result<(), PaneError>> {
        now(self.open().map(|mut panes| drop(panes.remove(&pane.id))))
    }
    fn panes(&self) -> Boxed<Result<Vec<Listed>, PaneError>> {
        now(self.open().map(|panes| {
            let listed =
                |(id, pane): (&String, &Inner)| Listed { pane: Pane { id: id.clone(), root: pane.root }, label: None };
            panes.iter().map(listed).collect()
        }))
    }
    fn pane_of(&self, lineage: Vec<Process>) -> Boxed<Result<Option<Pane>, PaneError>> {
        now(self.open().map(|panes| {
            let found = panes.iter().find(|(_, pane)| lineage.contains(&pane.root) && is_alive(pane.root));
            found.map(|(id, pane)| Pane { id: id.clone(), root: pane.root })
        }))
    }
    fn seen(&self) -> broadcast::Receiver<PaneSeen> {
        self.seen.subscribe()
    }
}
