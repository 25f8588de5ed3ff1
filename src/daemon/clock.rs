//! The daemon's clock: wall time at the start plus monotonic time since, so that it never jumps while fleetd runs.
//! The daemon's rules get their time from here alone; whoever decides is handed a `Time` and reads no clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::engine::ports::Clock;
use crate::fleet::time::Time;

/// Wall time that cannot jump; a suspended machine does not age its deadlines.
#[derive(Debug)]
pub struct SteadyClock {
    started: Time,
    since: Instant,
}

impl SteadyClock {
    /// Returns a clock that agrees with the wall now.
    pub fn start() -> SteadyClock {
        SteadyClock { started: wall(), since: Instant::now() }
    }
}

fn wall() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64)
}

impl Clock for SteadyClock {
    fn now(&self) -> Time {
        Time(self.started.0 + self.since.elapsed().as_millis() as u64)
    }

    fn wall(&self) -> Time {
        wall()
    }
}
