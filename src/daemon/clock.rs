//! The daemon's clock: wall time at the start plus monotonic time since, so that it never jumps while fleetd runs, and
//! never behind what the last daemon saw of what is still open.
//! The daemon's rules get their time from here alone; whoever decides is handed a `Time` and reads no clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::engine::ports::Clock;
use crate::fleet::time::Time;

/// Wall time that cannot jump; a suspended machine does not age its deadlines until the next start.
#[derive(Debug)]
pub struct SteadyClock {
    started: Time,
    since: Instant,
}

impl SteadyClock {
    /// Returns a clock that agrees with the wall now, unless the wall's is behind this moment: then it goes on from there.
    pub fn start_after(last: Time) -> SteadyClock {
        let wall = wall();
        if wall < last {
            tracing::warn!(behind = %last.since(wall), "the machine's clock was put back; time goes on from what the store has of what is open");
        }
        SteadyClock { started: wall.max(last), since: Instant::now() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::time::Span;

    #[test]
    fn time_goes_on_from_the_last_moment_that_was_seen() {
        let wall = SteadyClock::start_after(Time(5)).now();
        assert!(wall > Time(1_700_000_000_000), "one that is long over changes nothing: {wall:?}");
        let last = wall + Span::minutes(5 * 60);
        let clock = SteadyClock::start_after(last);
        assert!((last..last + Span::minutes(5)).contains(&clock.now()), "{:?}", clock.now());
    }
}
