//! How long the rubrics take: counted in classes, each a thirtieth above the one below it, so a thousand million answers
//! need no more room than ten.

use std::time::Duration;

use crate::engine::ports::RubricTimes;

/// Classes of a doubling.
const STEPS: f64 = 24.0;
/// Doublings that are told apart, from 1 µs to 131 ms.
const CLASSES: usize = 17 * STEPS as usize;

/// The times that were counted.
#[derive(Debug)]
pub(super) struct Times {
    classes: [u64; CLASSES],
    asked: u64,
    slowest: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times { classes: [0; CLASSES], asked: 0, slowest: Duration::ZERO }
    }
}

impl Times {
    /// Counts one.
    pub(super) fn count(&mut self, took: Duration) {
        let micros = took.as_secs_f64() * 1e6;
        let class = (micros.max(1.0).log2() * STEPS).ceil() as usize;
        self.classes[class.min(CLASSES - 1)] += 1;
        self.asked += 1;
        self.slowest = self.slowest.max(took);
    }

    /// Returns what was counted, once there is something.
    pub(super) fn said(&self) -> Option<RubricTimes> {
        (self.asked > 0).then(|| RubricTimes {
            asked: self.asked,
            half_us: self.within(0.5),
            most_us: self.within(0.99),
            slowest_us: self.slowest.as_micros() as u64,
        })
    }

    /// Returns within how many microseconds so large a part was done: the upper end of a class, at most a thirtieth more
    /// than the truth.
    fn within(&self, part: f64) -> u64 {
        let wanted = (self.asked as f64 * part).ceil() as u64;
        let mut seen = 0;
        let class = self.classes.iter().position(|n| {
            seen += n;
            seen >= wanted
        });
        let end = (class.unwrap_or(CLASSES - 1) as f64 / STEPS).exp2().ceil() as u64;
        end.min(self.slowest.as_micros() as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_and_the_slow_end_are_told_within_a_thirtieth() {
        let mut times = Times::default();
        assert_eq!(times.said(), None);
        for micros in 1..=1_000 {
            times.count(Duration::from_micros(micros));
        }
        let said = times.said().expect("something was counted");
        assert_eq!((said.asked, said.slowest_us), (1_000, 1_000));
        assert!((500..=516).contains(&said.half_us), "{said:?}");
        assert!((990..=1_001).contains(&said.most_us), "{said:?}");
    }

    #[test]
    fn what_is_quicker_or_slower_than_all_classes_is_counted_too() {
        let mut times = Times::default();
        times.count(Duration::ZERO);
        times.count(Duration::from_secs(7));
        let said = times.said().expect("something was counted");
        assert_eq!((said.half_us, said.slowest_us), (1, 7_000_000));
    }
}
