//! A person at a terminal: a program runs in it, what it shows is seen, and keys go in.
//! For programs that are no workers; those have panes.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::until;

const SIZE: PtySize = PtySize { rows: 50, cols: 120, pixel_width: 0, pixel_height: 0 };

/// A terminal with a program in it; the program is killed when this is dropped.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    parser: Arc<Mutex<vt100::Parser>>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Starts the program of a command in a terminal, with the command's own variables and no other.
    pub fn start(command: &Command) -> Terminal {
        let mut program = CommandBuilder::new(command.get_program());
        program.args(command.get_args());
        program.cwd(command.get_current_dir().expect("it says where"));
        program.env_clear();
        program.env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            program.env(name, value.expect("it has a value"));
        }
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let child = pair.slave.spawn_command(program).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let cells = |count| NonZeroU16::new(count).unwrap();
        let parser = Arc::new(Mutex::new(vt100::Parser::new(cells(SIZE.rows), cells(SIZE.cols), 0)));
        let shown = Arc::clone(&parser);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..n]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Terminal { child, keys, parser, _master: pair.master }
    }

    /// Returns what is on it.
    pub fn sees(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Waits until this is on it.
    pub fn shows(&self, what: &str) {
        until(what, || self.sees().contains(what).then_some(()));
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a text as a paste, waits until its end is there, or a sign for all of it, and enters it until this is on the
    /// screen: programs lose an Enter right behind a paste, and another one on an empty line does nothing.
    pub fn enters(&mut self, text: &str, until_it_shows: &str) {
        self.types(&format!("\u{1b}[200~{text}\u{1b}[201~"));
        let end = text.lines().last().unwrap();
        until(end, || [end, "[Pasted text"].iter().any(|sign| self.sees().contains(sign)).then_some(()));
        let mut next = Instant::now();
        until(until_it_shows, || {
            if Instant::now() >= next {
                self.types("\r");
                next = Instant::now() + Duration::from_secs(2);
            }
            self.sees().contains(until_it_shows).then_some(())
        });
    }

    /// Waits until the program has ended, and tells whether it did well.
    pub fn ends_well(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
