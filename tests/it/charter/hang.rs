//! Code of a charter that does not come back. No script can do that by itself any more, so the log is made to hold the
//! thread that writes a certain line to it. The thread is never let go: it ends with the test's process.

use std::fmt;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Makes every thread hang, from now on, that prints this line in a charter.
pub fn at(line: &'static str) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Trap(line)).expect("no other test of this process has one")
    });
}

struct Trap(&'static str);

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
        if said.1 {
            loop {
                std::thread::park();
            }
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
