//! Plays schedules: one, many on two threads, and, when one fails, the shortest that fails in the same way.
//! What goes wrong in a world and which rules hold is not decided here; only which schedule is played, and how short.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::drain::drain;
use super::schedule::Schedule;
use super::story::Story;
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
        writeln!(f, "rerun: FLEETD_SIM_SEED={seed} cargo nextest run -E 'binary(sim)'")?;
        write!(f, "the shortest trace that breaks it has {events} events:\n{story}")
    }
}

/// Plays one schedule and returns how many steps the fleet took, or the rule that was broken.
pub fn play(schedule: &Schedule, plant: Plant) -> Result<u64, Broken> {
    let mut world = World::new(schedule, plant, Story::default());
    play_in(&mut world, schedule)?;
    Ok(world.steps)
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

/// Plays the schedules of many seeds on two threads; returns all steps taken, or the first failure of each of at most
/// so many rules, made short.
pub fn play_many(seeds: Range<u64>, plant: Plant, rules: usize) -> Result<u64, Vec<Failure>> {
    let (next, steps) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let failed: Mutex<BTreeMap<&'static str, (u64, Broken)>> = Mutex::new(BTreeMap::new());
    let found = || failed.lock().expect("a thread that plays catches every panic");
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || found().len() >= rules {
                break;
            }
            match play(&Schedule::new(seed), plant) {
                Ok(n) => drop(steps.fetch_add(n, Ordering::Relaxed)),
                Err(broken) => drop(found().entry(broken.rule).or_insert((seed, broken))),
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let failed = std::mem::take(&mut *found());
    if failed.is_empty() {
        return Ok(steps.into_inner());
    }
    let shorten = |(seed, broken)| shortest(&Schedule::new(seed), plant, broken);
    Err(failed.into_values().map(shorten).collect())
}

/// Leaves out every event that the failure does not need, then tells the story of the rest.
fn shortest(schedule: &Schedule, plant: Plant, broken: Broken) -> Failure {
    let fails = |ops: &[_]| {
        let shorter = Schedule { ops: ops.to_vec(), ..schedule.clone() };
        play(&shorter, plant).err().filter(|other| other.rule == broken.rule)
    };
    let mut ops = schedule.ops.clone();
    let mut chunk = ops.len().max(1);
    loop {
        let mut at = 0;
        while at < ops.len() {
            let mut shorter = ops.clone();
            shorter.drain(at..(at + chunk).min(ops.len()));
            if fails(&shorter).is_some() {
                ops = shorter;
            } else {
                at += chunk;
            }
        }
        if chunk == 1 {
            break;
        }
        chunk = (chunk / 2).max(1);
    }
    // A second pass: an event may have been needed only for another that is gone now.
    let mut at = 0;
    while at < ops.len() {
        let mut shorter = ops.clone();
        shorter.remove(at);
        if fails(&shorter).is_some() {
            ops = shorter;
            at = 0;
        } else {
            at += 1;
        }
    }
    let schedule = Schedule { ops, ..schedule.clone() };
    let mut world = World::new(&schedule, plant, Story::told());
    let broken = play_in(&mut world, &schedule).err().unwrap_or(broken);
    Failure { seed: schedule.seed, broken, events: schedule.ops.len(), story: world.story.lines() }
}
