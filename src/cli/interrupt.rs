//! Ctrl-C: the first one is noted, so that the command can say what goes on without it; the second one ends it.
//! No thread: whoever waits looks at the mark, and `wire` waits in a way that a signal ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static PRESSED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on Ctrl-C is noted instead of ending the process at once.
pub fn watch() {
    PRESSED.get_or_init(|| {
        let pressed = Arc::new(AtomicBool::new(false));
        // In this order: the second Ctrl-C finds the mark that the first one set. A failure leaves Ctrl-C as it was.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, pressed.clone());
        let _ = signal_hook::flag::register(SIGINT, pressed.clone());
        pressed
    });
}

/// From now on Ctrl-C, TERM and HUP are noted, however often they come: for a command that must tidy up before it ends.
pub fn hold() {
    PRESSED.get_or_init(|| {
        let pressed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A failure leaves the signal as it was.
            let _ = signal_hook::flag::register(signal, pressed.clone());
        }
        pressed
    });
}

/// Returns whether Ctrl-C was pressed since `watch`.
pub fn pressed() -> bool {
    PRESSED.get().is_some_and(|pressed| pressed.load(Ordering::Relaxed))
}

/// Waits for a moment; Ctrl-C ends it at once.
pub fn pause(moment: Duration) {
    // Nothing is waited for but the time. A failure only makes the moment shorter.
    let _ = Timespec::try_from(moment).map(|limit| poll(&mut [], Some(&limit)));
}
