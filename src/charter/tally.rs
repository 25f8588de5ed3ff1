//! What came of asking the rubrics in force: how often each was asked, decided, or was skipped, and why the last time.
//! Counted for one generation, by place in the order; a save that mends a rubric begins with nothing.

use std::time::Duration;

use super::rubric::place_of;
use super::times::Times;
use crate::engine::ports::{RubricStatus, RubricTimes};
use crate::fleet::routing::{Asked, Verdict};
use crate::fleet::team::Team;
use crate::fleet::time::Time;

/// What was counted of one generation.
#[derive(Debug, Default)]
pub(super) struct Tally {
    generation: u64,
    rubrics: Vec<RubricStatus>,
    times: Times,
}

impl Tally {
    /// Counts what rubrics said, and how long all of it took; they were asked from the first one on.
    pub(super) fn count(&mut self, generation: u64, asked: &[Asked], took: Duration, now: Time) {
        if generation < self.generation {
            return; // An answer that was under way when the next one came into force.
        }
        if generation > self.generation {
            *self = Tally { generation, ..Tally::default() };
        }
        if !asked.is_empty() {
            self.times.count(took);
        }
        for (n, one) in asked.iter().enumerate() {
            if self.rubrics.len() == n {
                self.rubrics.push(RubricStatus { rubric: one.rubric.clone(), ..RubricStatus::default() });
            }
            let row = &mut self.rubrics[n];
            row.asked += 1;
            row.decided += u64::from(one.verdict == Verdict::Decided);
            if one.verdict.is_fault() {
                row.failed += 1;
                row.error = Some(one.said.clone());
                row.place = Some(place_of(&one.said).unwrap_or(&one.at).to_owned());
                row.failed_at = Some(now);
            }
        }
    }

    /// Returns how long the rubrics of a team took, if they were asked.
    pub(super) fn times(&self, team: &Team) -> Option<RubricTimes> {
        (self.generation == team.generation.number).then(|| self.times.said()).flatten()
    }

    /// Returns the rubrics of a team with what was counted of them.
    pub(super) fn of(&self, team: &Team) -> Vec<RubricStatus> {
        let counted = if self.generation == team.generation.number { &self.rubrics[..] } else { &[] };
        let names = team.rubrics.iter().enumerate();
        let row = |(place, name): (usize, &String)| {
            let none = || RubricStatus { rubric: name.clone(), ..RubricStatus::default() };
            counted.get(place).cloned().unwrap_or_else(none)
        };
        names.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::team::Generation;

    fn asked(verdict: Verdict) -> Asked {
        Asked { rubric: "one".into(), at: "a.lua:1".into(), verdict, said: "a.lua:2: oh".into() }
    }

    #[test]
    fn a_generation_is_counted_for_itself() {
        let team = |number| Team {
            generation: Generation { number, hash: String::new() },
            rubrics: vec!["one".into(), "two".into()],
            ..Team::default()
        };
        let mut tally = Tally::default();
        for verdict in [Verdict::Failed, Verdict::Stopped, Verdict::Nothing] {
            tally.count(4, &[asked(verdict), asked(Verdict::Decided)], Duration::ZERO, Time(7));
        }
        let rows = tally.of(&team(4));
        assert_eq!((rows[0].asked, rows[0].decided, rows[0].failed), (3, 0, 2));
        assert_eq!((rows[0].error.as_deref(), rows[0].failed_at), (Some("a.lua:2: oh"), Some(Time(7))));
        assert_eq!(rows[0].place.as_deref(), Some("a.lua:2"));
        assert_eq!((rows[1].decided, rows[1].failed), (3, 0));
        assert_eq!(tally.of(&team(5))[0], RubricStatus { rubric: "one".into(), ..RubricStatus::default() });
        tally.count(5, &[asked(Verdict::Nothing)], Duration::ZERO, Time(8));
        tally.count(4, &[asked(Verdict::Failed)], Duration::ZERO, Time(9));
        assert_eq!(tally.of(&team(5))[0].failed, 0, "a late answer of the last one does not count");
    }
}
