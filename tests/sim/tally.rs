//! What was seen in the schedules that were played: a rule that never came to bear has proven nothing.
//! It counts and breaks no schedule by itself; what must have been seen is listed by the test that asks.

use std::collections::BTreeMap;

use super::world::World;

/// How often what was seen.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub schedules: u64,
    pub steps: u64,
    seen: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds what was seen in one world.
    pub fn add(&mut self, world: &World) {
        self.schedules += 1;
        self.steps += world.steps;
        let journal = &world.journal;
        let mut seen = |what: String| *self.seen.entry(what).or_default() += 1;
        for envelope in journal.envelopes.values() {
            seen(format!("outcome {}", envelope.outcome.word()));
            if envelope.retry_of.is_some() {
                seen("retry".to_string());
            }
        }
        for turn in journal.turns.values() {
            for stamp in &turn.receipt {
                seen(format!("state {:?}", stamp.state));
            }
        }
        for run in journal.runs.values() {
            seen(format!("run {}", run.outcome.map_or("open", |outcome| outcome.word())));
        }
        for (what, n) in &world.counts {
            *self.seen.entry((*what).to_string()).or_default() += n;
        }
    }

    /// Returns what of these was never seen.
    pub fn never<'a>(&self, wanted: &[&'a str]) -> Vec<&'a str> {
        wanted.iter().filter(|what| !self.seen.contains_key(**what)).copied().collect()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} schedules, {} steps:", self.schedules, self.steps)?;
        self.seen.iter().try_for_each(|(what, n)| write!(f, " {what} {n},"))
    }
}
