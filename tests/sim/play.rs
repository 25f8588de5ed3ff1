//! Plays schedules: one, or many, and, when one fails, the shortest that fails in the same way.
//! What goes wrong in a world and which rules hold is not decided here; only which schedule is played, and how short.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::drain::drain;
use super::schedule::{Op, Schedule};
use super::story::Story;
use super::tally::Tally;
use super::watch::Broken;
use super::world::{Plant, World};

/// A schedule that broke a rule, as short as it could be made.
#[derive(Debug)]
pub struct Failure {
    pub seed: u64,
    pub broken: Broken,
    pub events: usize,
    pub story: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { seed, broken, events, story } = self;
        writeln!(f, "seed {seed} breaks the rule \"{}\": {}", broken.rule, broken.how)?;
        writeln!(f, "to play it alone: FLEETD_SIM_SEED={seed} cargo test --test sim")?;
        write!(f, "the shortest trace that breaks it has {events} events:\n{story}")
    }
}

/// Plays the schedules of many seeds; returns what was seen in them, or the first failure of each of at most so many
/// rules, made short.
pub fn play_many(seeds: Range<u64>, plant: Plant, rules: usize) -> Result<Tally, Vec<Failure>> {
    let mut tally = Tally::default();
    let mut failed: BTreeMap<&'static str, (Schedule, Broken)> = BTreeMap::new();
    for seed in seeds {
        let schedule = Schedule::new(seed);
        match play(&schedule, plant) {
            Ok(world) => tally.add(&world),
            Err(broken) => drop(failed.entry(broken.rule).or_insert((schedule, broken))),
        }
        if failed.len() >= rules {
            break;
        }
    }
    if failed.is_empty() {
        return Ok(tally);
    }
    Err(failed.into_values().map(|(schedule, broken)| shortest(&schedule, plant, broken)).collect())
}

/// Plays one schedule and returns the world after it, or the rule that was broken.
fn play(schedule: &Schedule, plant: Plant) -> Result<World, Broken> {
    let mut world = World::new(schedule, plant, Story::default());
    play_in(&mut world, schedule)?;
    Ok(world)
}

fn play_in(world: &mut World, schedule: &Schedule) -> Result<(), Broken> {
    let whole = catch_unwind(AssertUnwindSafe(|| {
        world.begin()?;
        for op in &schedule.ops {
            world.happen(*op)?;
        }
        drain(world)
    }));
    whole.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string()));
        Err(Broken { rule: "nothing panics", how: text.unwrap_or_default() })
    })
}

/// Leaves out every event that the failure does not need, then tells the story of the rest.
fn shortest(schedule: &Schedule, plant: Plant, broken: Broken) -> Failure {
    let fails = |ops: &[Op]| {
        let shorter = Schedule { ops: ops.to_vec(), ..schedule.clone() };
        play(&shorter, plant).err().is_some_and(|other| other.rule == broken.rule)
    };
    let mut ops = schedule.ops.clone();
    let mut chunk = ops.len().max(1);
    // Halves first, then ever smaller parts; single events until none can go, since one may have served another.
    loop {
        let before = ops.len();
        let mut at = 0;
        while at < ops.len() {
            let mut shorter = ops.clone();
            shorter.drain(at..(at + chunk).min(ops.len()));
            if fails(&shorter) {
                ops = shorter;
            } else {
                at += chunk;
            }
        }
        match chunk {
            1 if ops.len() == before => break,
            1 => {}
            _ => chunk /= 2,
        }
    }
    let schedule = Schedule { ops, ..schedule.clone() };
    let mut world = World::new(&schedule, plant, Story::told());
    let broken = play_in(&mut world, &schedule).err().unwrap_or(broken);
    Failure { seed: schedule.seed, broken, events: schedule.ops.len(), story: world.story.lines() }
}
