//! Code of a charter that does not come back. No script can do that by itself any more, so the log is made to hold the
//! thread that writes a certain line to it, until it is let go or else until the end of the test's process.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Makes every thread hang, from now on, that prints this line in a charter.
pub fn at(line: &'static str) {
    set(Trap(line, None));
}

/// Makes a thread that prints this line in a charter wait for a word, or for the end of whoever could give it.
pub fn held_at(line: &'static str) -> Sender<()> {
    let (go, word) = channel();
    set(Trap(line, Some(Mutex::new(word))));
    go
}

fn set(trap: Trap) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(trap).expect("no other test of this process has one");
    });
}

struct Trap(&'static str, Option<Mutex<Receiver<()>>>);

struct Said<'a>(&'a str, bool);

impl Visit for Said<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.1 |= field.name() == "message" && format!("{value:?}") == self.0;
    }
}

impl Subscriber for Trap {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "charter"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut said = Said(self.0, false);
        event.record(&mut said);
        match &self.1 {
            _ if !said.1 => {}
            Some(word) => drop(word.lock().unwrap().recv()),
            None => loop {
                std::thread::park();
            },
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
