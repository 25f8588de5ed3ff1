//! The signals that end a daemon.
//! They are only heard and named here; what a first and a second one mean is decided in `serve`.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// TERM, INT and HUP; each call waits for the next of them.
#[derive(Debug)]
pub struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    /// Starts to hear; from now on none of them ends the process by itself.
    pub fn hear() -> std::io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one and returns its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "TERM",
            _ = self.int.recv() => "INT",
            _ = self.hup.recv() => "HUP",
        }
    }
}
