//! A server that speaks herdr's socket API as it was recorded, over real processes in real terminals.
//! A thread a connection, one lock over all panes (as the one loop of the real server), one ring of events. Here it
//! starts, accepts and ends; what a request does is in `methods`, how a line is read and answered in `wire`.

mod events;
mod house;
mod ids;
mod keys;
mod layout;
mod methods;
mod options;
mod params;
mod processes;
mod save;
mod status;
mod stream;
mod terminal;
mod wire;

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use events::Hub;
use house::House;
pub use options::{Options, Version};

/// What goes wrong on order: set by the private method `sim.fault`.
#[derive(Default)]
struct Faults {
    /// Nothing but ping is answered until then.
    stalled_until: Option<Instant>,
    /// Nobody gets a connection until then.
    refused_until: Option<Instant>,
    /// So many requests are carried out and never answered.
    unanswered: u64,
    /// So many requests that type are carried out and never answered.
    unanswered_typing: u64,
}

/// The whole server.
struct Server {
    options: Options,
    house: Mutex<House>,
    hub: Mutex<Hub>,
    faults: Mutex<Faults>,
    /// Streams of an older number end.
    epoch: AtomicU64,
    /// How many requests there were.
    requests: AtomicU64,
    /// How often the socket was made.
    listens: AtomicU64,
    stopping: AtomicBool,
    unsaved: AtomicBool,
    wake: Mutex<UnixStream>,
    /// Itself, for the threads that outlive a request.
    this: OnceLock<Weak<Server>>,
}

impl Server {
    fn house(&self) -> MutexGuard<'_, House> {
        self.house.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the loop that accepts.
    fn wake(&self) {
        let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).write(&[0]);
    }

    /// Ends all streams, as a stop and a handoff do.
    fn end_streams(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.end_streams();
        self.wake();
    }
}

/// Runs the server until it is told to stop.
///
/// # Errors
///
/// Fails when another server lives on the socket, or the socket cannot be made.
pub fn run(options: Options) -> io::Result<()> {
    let socket = options.socket.clone();
    let folder = socket.parent().ok_or_else(|| io::Error::other("the socket has no folder"))?;
    fs::create_dir_all(folder)?;
    if UnixStream::connect(&socket).is_ok() {
        return Err(io::Error::other(format!("a server is already running on {}", socket.display())));
    }
    let mut listener = Some(listen(&socket)?);
    let (woken, wake) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let signalled = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&signalled))?;
        signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
    }
    let server = Arc::new(Server {
        house: Mutex::new(House::default()),
        hub: Mutex::new(Hub::default()),
        faults: Mutex::new(Faults::default()),
        epoch: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        listens: AtomicU64::new(1),
        stopping: AtomicBool::new(false),
        unsaved: AtomicBool::new(false),
        wake: Mutex::new(wake),
        this: OnceLock::new(),
        options,
    });
    let _ = server.this.set(Arc::downgrade(&server));
    save::restore(&server)?;
    let saver = save::start(&server)?;
    while !server.stopping.load(Ordering::SeqCst) && !signalled.load(Ordering::SeqCst) {
        let refused = server.faults().refused_until.filter(|until| *until > Instant::now());
        if refused.is_some() {
            // The file stays, as that of a dead server does.
            listener = None;
        } else if listener.is_none() {
            listener = Some(listen(&socket)?);
            server.listens.fetch_add(1, Ordering::SeqCst);
        }
        let left = refused.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut watched = vec![PollFd::new(&woken, PollFlags::IN)];
        watched.extend(listener.as_ref().map(|listener| PollFd::new(listener, PollFlags::IN)));
        match poll(&mut watched, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut sink = [0; 64];
        while (&woken).read(&mut sink).is_ok_and(|read| read > 0) {}
        if let Some(Ok((stream, _))) = listener.as_ref().map(UnixListener::accept) {
            let server = Arc::clone(&server);
            std::thread::Builder::new().name("connection".to_owned()).spawn(move || wire::serve(&server, stream))?;
        }
    }
    server.stopping.store(true, Ordering::SeqCst);
    server.end_streams();
    let _ = fs::remove_file(&socket);
    drop(listener);
    server.wake();
    let _ = saver.join();
    save::save(&server)?;
    let processes: Vec<u32> = server.house().panes.values().map(|pane| pane.terminal.pid).collect();
    processes::end_sessions(&processes);
    // Streams notice within one tick that they have ended.
    pause(Duration::from_millis(150));
    Ok(())
}

fn listen(socket: &std::path::Path) -> io::Result<UnixListener> {
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Waits as the real server does: by the clock.
#[expect(clippy::disallowed_methods, reason = "the habits that are copied here are waits of a fixed length")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
