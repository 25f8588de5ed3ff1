//! The test agent as a process in a real terminal.
//! What it does key by key is tested beside it.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

const PATIENCE: Duration = Duration::from_secs(30);

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

struct Shown {
    screen: vt100::Parser,
    ended: bool,
}

struct Running {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    shown: Arc<(Mutex<Shown>, Condvar)>,
}

impl Running {
    fn start(flags: &[&str]) -> Self {
        let pair =
            native_pty_system().openpty(PtySize { rows: 10, cols: 40, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_test-agent"));
        command.args(flags);
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let shown = Arc::new((
            Mutex::new(Shown { screen: vt100::Parser::new(cells(10), cells(40), 0), ended: false }),
            Condvar::new(),
        ));
        let seen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = reader.read(&mut bytes).unwrap_or(0);
                let mut shown = seen.0.lock().unwrap();
                shown.screen.process(&bytes[..read]);
                shown.ended = read == 0;
                seen.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, master: Some(pair.master), writer: Some(writer), shown }
    }

    fn types(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(bytes).unwrap();
        writer.flush().unwrap();
    }

    fn until(&self, what: &str, holds: impl Fn(&Shown) -> bool) {
        let shown = self.shown.0.lock().unwrap();
        let (shown, late) = self.shown.1.wait_timeout_while(shown, PATIENCE, |shown| !holds(shown)).unwrap();
        assert!(!late.timed_out(), "not seen: {what}; shown: {}", shown.screen.screen().contents());
    }

    fn shows(&self, text: &str) {
        self.until(text, |shown| shown.screen.screen().contents().contains(text));
    }

    fn exit_code(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_composes_and_answers_in_a_terminal_and_leaves_it_as_it_was() {
    let mut agent = Running::start(&["--work", "1", "--answer", "upper", "--mouse"]);
    agent.shows(">");
    agent.until("it wants pastes", |shown| shown.screen.screen().bracketed_paste());
    assert!(agent.shown.0.lock().unwrap().screen.screen().alternate_screen());
    agent.types("\x1b[200~grüße 漢\x1b[201~".as_bytes());
    agent.shows("> grüße 漢");
    agent.types(b"\r");
    agent.shows("GRÜSSE 漢");
    agent.types(b"\x04");
    assert_eq!(agent.exit_code(), 0);
    agent.until("the terminal is as before", |shown| {
        let screen = shown.screen.screen();
        !screen.bracketed_paste() && !screen.alternate_screen()
    });
}

#[test]
fn it_ends_when_its_terminal_goes() {
    let mut agent = Running::start(&["--plain"]);
    agent.shows(">");
    assert!(!agent.shown.0.lock().unwrap().screen.screen().bracketed_paste());
    // The reading thread holds the last end of it, which is closed by this very signal.
    let pid = rustix::process::Pid::from_raw(agent.child.process_id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    assert_eq!(agent.exit_code(), 0);
}

#[test]
fn a_deaf_one_is_only_ended_by_kill() {
    let mut agent = Running::start(&["--deaf"]);
    agent.shows(">");
    let pid = rustix::process::Pid::from_raw(agent.child.process_id().unwrap().cast_signed()).unwrap();
    for signal in [rustix::process::Signal::HUP, rustix::process::Signal::TERM] {
        rustix::process::kill_process(pid, signal).unwrap();
    }
    agent.types(b"still here");
    agent.shows("> still here");
    agent.writer.take();
    agent.master.take();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_ne!(agent.exit_code(), 0);
}

#[test]
fn its_children_outlive_it_each_in_its_way() {
    let mut agent = Running::start(&["--children"]);
    agent.shows("children ");
    agent.types(b"\x04");
    assert_eq!(agent.exit_code(), 0);
    let contents = agent.shown.0.lock().unwrap().screen.screen().contents();
    let line = contents.lines().find_map(|line| line.strip_prefix("children ")).unwrap();
    for pid in line.split(' ') {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives on");
    }
}
