//! A program as agents are: it draws a transcript and a composer, takes pastes and keys, works, and answers.
//! `session` is what it does with what it reads and when; here is only the loop that reads, waits and draws. Nothing
//! here knows who types: a person, a pane host, or a test.

mod children;
mod composer;
mod habits;
mod keys;
mod record;
mod screen;
mod session;
mod terminal;

use std::io;
use std::time::Instant;

pub use habits::{Death, Options};
use keys::Keys;
use session::{Next, Session};
use terminal::{Terminal, Woken};

/// Runs the program until it is told to end or its terminal is gone; returns its exit code.
///
/// # Errors
///
/// Fails when the terminal cannot be used or a file of the options cannot be written.
pub fn run(options: &Options) -> io::Result<u8> {
    if let Some(role) = options.child {
        return children::live(role);
    }
    if options.die == Some(Death::Start) {
        return Ok(habits::DEATH);
    }
    let mut terminal = Terminal::open(options)?;
    let children = if options.children { children::start()? } else { Vec::new() };
    let mut session = Session::new(options, children, Instant::now())?;
    let mut keys = Keys::default();
    loop {
        let now = Instant::now();
        if let Some(bytes) = session.draw(now, terminal.size()) {
            // A terminal that is gone is noticed when it is read.
            let _ = terminal.write(&bytes);
        }
        match terminal.wait(session.deadline())? {
            Woken::Bytes(bytes) => {
                session.heard(&bytes)?;
                for key in keys.feed(&bytes) {
                    if let Next::End(code) = session.key(key, Instant::now())? {
                        return Ok(code);
                    }
                }
            }
            Woken::Time => {
                for key in keys.rest() {
                    session.key(key, Instant::now())?;
                }
            }
            Woken::Resized => session.redraw(Instant::now()),
            Woken::Ended => return Ok(0),
        }
        if let Next::End(code) = session.tick(Instant::now())? {
            return Ok(code);
        }
        if session.takes_pastes() {
            terminal.take_pastes()?;
        }
    }
}
