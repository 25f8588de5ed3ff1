//! A whole fleet under a seed: hosts that die, sightings late, twice or never, a store that fails, a daemon that dies
//! between commit and act, clocks that jump, charters that change. Every rule is checked after every step.
//!
//! `FLEETD_SIM_SEED=n` plays one seed, `FLEETD_SIM_SCHEDULES=n` that many; without either a hundred thousand.

extern crate fleetd_rules as fleetd;

#[path = "sim/callers.rs"]
mod callers;
#[path = "sim/charter.rs"]
mod charter;
#[path = "sim/drain.rs"]
mod drain;
#[path = "sim/engine.rs"]
mod engine;
#[path = "sim/functions.rs"]
mod functions;
#[path = "sim/host.rs"]
mod host;
#[path = "sim/journal.rs"]
mod journal;
#[path = "sim/kept.rs"]
mod kept;
#[path = "sim/play.rs"]
mod play;
#[path = "sim/restored.rs"]
mod restored;
#[path = "sim/rng.rs"]
mod rng;
#[path = "sim/runs.rs"]
mod runs;
#[path = "sim/schedule.rs"]
mod schedule;
#[path = "sim/story.rs"]
mod story;
#[path = "sim/tally.rs"]
mod tally;
#[path = "sim/watch.rs"]
mod watch;
#[path = "sim/world.rs"]
mod world;

use fleetd::fleet::record::Record;
use play::play_many;
use world::Plant;

fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is '{text}', which is no number")))
}

/// Parts into which all seeds are cut, so that a test runner can play them side by side.
const PARTS: u64 = 8;

/// Plays one part of all seeds.
#[track_caller]
fn no_rule_is_broken(part: u64) {
    let seeds = match number_in("FLEETD_SIM_SEED") {
        Some(seed) if part == 0 => seed..seed + 1,
        Some(_) => return,
        None => {
            let n = number_in("FLEETD_SIM_SCHEDULES").unwrap_or(100_000);
            n * part / PARTS..n * (part + 1) / PARTS
        }
    };
    let began = std::time::Instant::now();
    match play_many(seeds, Plant::Nothing, 4) {
        Ok(tally) => println!("in {:.1} s {tally}", began.elapsed().as_secs_f64()),
        Err(failures) => {
            let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
            panic!("{}", failures.join("\n\n"));
        }
    }
}

macro_rules! parts {
    ($($name:ident $part:literal)*) => {$(
        #[test]
        fn $name() {
            no_rule_is_broken($part);
        }
    )*};
}

parts! {
    whatever_happens_no_rule_is_broken_part_1 0
    whatever_happens_no_rule_is_broken_part_2 1
    whatever_happens_no_rule_is_broken_part_3 2
    whatever_happens_no_rule_is_broken_part_4 3
    whatever_happens_no_rule_is_broken_part_5 4
    whatever_happens_no_rule_is_broken_part_6 5
    whatever_happens_no_rule_is_broken_part_7 6
    whatever_happens_no_rule_is_broken_part_8 7
}

#[test]
fn the_schedules_reach_everything() {
    let tally = play_many(0..3_000, Plant::Nothing, 1).expect("these seeds break no rule");
    println!("{tally}");
    let wanted = [
        "outcome replied",
        "outcome failed",
        "outcome cancelled",
        "outcome timed_out",
        "outcome lost",
        "outcome unknown",
        "retry",
        "state Asking",
        "state Collected",
        "run done",
        "run failed",
        "run cancelled",
        "run timed_out",
        "death",
        "death before a commit",
        "death before an act",
        "failed commit",
        "question",
        "own reply",
        "seat",
        "question brought to a run",
        "question answered by a run",
        "question passed on",
        "question over before its run answered",
        "parked",
        "paused",
        "role that starts no more",
        "fresh session with a note",
        "key expired",
        "shown reply expired",
        "refused: invalid",
        "refused: unknown",
        "refused: key conflict",
        "refused: conflict",
        "refused: queue full",
        "refused: unavailable",
        "refused: peer unreachable",
    ];
    assert_eq!(tally.never(&wanted), Vec::<&str>::new());
}

/// Plays seeds with a fault built in and returns how many it took to find it.
#[track_caller]
fn is_found(plant: Plant, rules: &[&str]) {
    let failure = play_many(0..2_000, plant, 1).expect_err("2,000 schedules do not show the fault");
    let failure = &failure[0];
    println!("found by seed {} with {} events: {}", failure.seed, failure.events, failure.broken.rule);
    assert!(rules.contains(&failure.broken.rule), "found as something else: {failure}");
    assert!(failure.events <= 12, "the trace is not short: {failure}");
}

#[test]
fn an_engine_that_acts_before_it_commits_is_found() {
    is_found(Plant::EarlyRelease, &["nothing is released before it is stored"]);
}

#[test]
fn an_engine_that_answers_before_it_commits_is_found() {
    is_found(Plant::EarlyAnswer, &["callers are told the truth"]);
}

#[test]
fn an_engine_that_does_not_fall_back_is_found() {
    let rules = ["the store holds what the fleet holds", "callers are told the truth", "a turn only goes on"];
    is_found(Plant::NoFallBack, &rules);
}

#[test]
fn an_engine_that_drops_what_was_seen_while_the_store_failed_is_found() {
    is_found(Plant::ForgetsSeen, &["every turn ends or says why not", "a run goes on"]);
}

#[test]
fn an_engine_that_gives_no_order_again_is_found() {
    is_found(Plant::NoResume, &["every turn ends or says why not", "a run goes on"]);
}

#[test]
fn a_launcher_that_runs_a_turn_twice_is_found() {
    is_found(Plant::RunsAgain, &["the host"]);
}

#[test]
fn a_store_that_loses_one_kind_of_record_is_found() {
    let same = "the store holds what the fleet holds";
    is_found(Plant::Loses(|record| matches!(record, Record::MessageGone(_))), &[same, "callers are told the truth"]);
    is_found(Plant::Loses(|record| matches!(record, Record::WorkerGone(_))), &[same]);
    is_found(Plant::Loses(|record| matches!(record, Record::Key(_))), &[same, "callers are told the truth"]);
    is_found(Plant::Loses(|record| matches!(record, Record::Next(_))), &[same]);
    is_found(Plant::Loses(|record| matches!(record, Record::Question(_))), &[same]);
    is_found(Plant::Loses(|record| matches!(record, Record::Step(_))), &[same, "the run", "a run goes on"]);
    let lost_value = "nothing is released before it is stored";
    is_found(Plant::Loses(|record| matches!(record, Record::StepValue(..))), &[lost_value]);
    let lost_envelope = ["callers are told the truth", "one record for each turn", lost_value];
    is_found(Plant::Loses(|record| matches!(record, Record::Envelope(_))), &lost_envelope);
}

#[test]
fn a_field_that_does_not_come_back_is_named() {
    let mut went = fleetd::fleet::Fleet::new(fleetd::fleet::Limits::default());
    let back = went.clone();
    assert_eq!(restored::difference(&went, &back), None);
    went.step(
        fleetd::fleet::time::Time(7),
        fleetd::fleet::input::Input::Call {
            ticket: fleetd::fleet::ids::Ticket(1),
            caller: fleetd::fleet::caller::Caller::Operator,
            call: fleetd::fleet::input::Call::Pause,
        },
    );
    let how = restored::difference(&went, &back).expect("it was not paused");
    assert!(how.starts_with("paused: it went with"), "{how}");
}

#[test]
fn what_is_kept_makes_no_step_slower() {
    assert_eq!(kept::slower(), Vec::<String>::new());
}
