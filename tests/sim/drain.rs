//! The end of a schedule: everything calms down, and then every accepted turn has ended or waits for a reason that
//! can be seen, everything can be collected, and a fleet that has nothing to do does nothing.

use fleetd::fleet::mail::Question;
use fleetd::fleet::team::Address;
use fleetd::fleet::turn::{Turn, TurnState};
use fleetd::fleet::worker::{Worker, WorkerState};

use super::charter::limits;
use super::schedule::{By, Op};
use super::watch::Broken;
use super::world::{Done, World};

const HOUR: u64 = 3_600_000;
/// Runs that begin runs, and answers that are sent back, take their time.
const ROUNDS: usize = 2_000;

/// Brings a world to rest and checks what must be true there.
pub fn drain(world: &mut World) -> Done {
    world.story.tell(|| "=== everything calms down".to_string());
    world.calm_down()?;
    if !world.needs_restart {
        // Nothing was lost that only a restart brings back, so everything must end by itself.
        settle_down(world)?;
        ended_or_explained(world)?;
    }
    world.die(0, false)?;
    settle_down(world)?;
    ended_or_explained(world)?;
    world.compare()?;
    collect(world)?;
    rest(world)
}

fn settle_down(world: &mut World) -> Done {
    for _ in 0..ROUNDS {
        let steps = world.steps;
        world.follow()?;
        for name in world.host.blocked() {
            world.host.dialog(&name);
        }
        world.host.look_again();
        for name in world.host.starting() {
            world.host.up(&name, true);
        }
        for id in world.host.running() {
            world.host.exit(id, true, false);
        }
        if world.journal.questions.values().any(|question| waits_for_a_person(question)) {
            answer_first_open(world)?;
        }
        world.follow()?;
        if world.steps != steps {
            continue;
        }
        // Nothing moves by itself any more: on to the next timer, unless it is one of those that take days.
        match world.fleet.next_wake() {
            Some(at) if at.0 < world.now.0 + HOUR => world.advance((at.0.saturating_sub(world.now.0)) | 1)?,
            _ => return Ok(()),
        }
    }
    Err(Broken { rule: "a fleet comes to rest", how: format!("it still moves after {ROUNDS} rounds") })
}

fn answer_first_open(world: &mut World) -> Done {
    let open = world.journal.questions.values().position(|question| waits_for_a_person(question));
    match open {
        Some(at) => world.happen(Op::Answer { by: By::Leader, pick: at as u8, by_turn: false }),
        None => Ok(()),
    }
}

/// What a run has first, it answers or passes on by itself.
fn waits_for_a_person(question: &Question) -> bool {
    question.answer.is_none() && !question.is_with_a_run()
}

fn ended_or_explained(world: &World) -> Done {
    let stuck = |how: String| Err(Broken { rule: "every turn ends or says why not", how });
    for turn in world.journal.turns.values() {
        if turn.state.is_settled() {
            if !world.journal.envelopes.contains_key(&turn.id) {
                return Err(Broken { rule: "one record for each turn", how: format!("{} has no envelope", turn.id) });
            }
        } else if turn.state != TurnState::Queued {
            return stuck(format!("{} is {:?} for ever", turn.id, turn.state));
        } else if !must_wait(world, turn) {
            return stuck(format!("{} waits: {:?}", turn.id, world.fleet.why_it_waits(turn, world.now)));
        }
    }
    if let Some(question) = world.journal.questions.values().find(|question| question.answer.is_none()) {
        return stuck(format!("{} is not answered: {question:?}", question.id));
    }
    for id in world.open_runs() {
        let of_run = |at: &Option<fleetd::fleet::turn::StepRef>| at.as_ref().is_some_and(|at| at.run == id);
        let waits = world.fleet.turns().any(|turn| of_run(&turn.step))
            || world.fleet.runs().any(|child| child.outcome.is_none() && of_run(&child.parent));
        if !waits {
            return Err(Broken { rule: "a run goes on", how: format!("{id} waits for nothing") });
        }
    }
    Ok(())
}

/// Returns whether nobody can take this turn: no role, one whose sessions fail, no room for one more worker.
fn must_wait(world: &World, turn: &Turn) -> bool {
    let fleet = &world.fleet;
    let Some(team) = fleet.team() else { return false };
    let role = match &turn.to {
        Address::Role(role) => role.clone(),
        Address::Worker(name) => match fleet.worker(name) {
            Some(worker) if !worker.is_free() => {
                let stopped = fleet.budget(&worker.role).is_some_and(|budget| budget.until.is_none());
                let waits = worker.state == WorkerState::Starting && stopped;
                return waits || matches!(worker.state, WorkerState::Failed(_)) || fleet.team().is_none();
            }
            Some(worker) => worker.role.clone(),
            None => return false,
        },
    };
    if !team.roles.contains_key(&role) {
        return true;
    }
    if fleet.workers().any(|worker| worker.role == role && worker.is_free()) {
        return false;
    }
    let full = fleet.workers().count() >= limits().max_workers;
    // Sessions that did not come up and that a caller spawned stay for it to look at, and take a place.
    let stopped = fleet.budget(&role).is_some_and(|budget| budget.until.is_none());
    stopped || full
}

fn collect(world: &mut World) -> Done {
    for by in [By::Leader, By::Operator] {
        world.happen(Op::Poll { by, after: 0, limit: 200, seconds: 0 })?;
        world.happen(Op::Ack { by, pick: 0, many: true })?;
    }
    if let Some(message) = world.fleet.messages().next() {
        return Err(Broken { rule: "an ack collects", how: format!("{message:?} still waits") });
    }
    let left = world.fleet.turns().find(|turn| turn.state.is_settled());
    match left {
        Some(turn) => Err(Broken { rule: "an ack collects", how: format!("{} was settled and is kept", turn.id) }),
        None => Ok(()),
    }
}

/// A day on which nothing happens costs nothing, and after the keys' time nothing is left behind.
fn rest(world: &mut World) -> Done {
    world.advance(HOUR | 1)?;
    for _ in 0..8 {
        world.now.0 += 3 * HOUR;
        let mut fleet = world.fleet.clone();
        let step = fleet.step(world.now, fleetd::fleet::input::Input::Tick);
        world.fleet = fleet;
        if !step.effects.is_empty() || !step.answers.is_empty() || !step.records.is_empty() {
            let keys_only = step.effects.is_empty()
                && step.answers.is_empty()
                && step.records.iter().all(|record| matches!(record, fleetd::fleet::record::Record::KeyGone(..)));
            if !keys_only {
                return Err(Broken { rule: "an idle fleet does nothing", how: format!("{step:?}") });
            }
        }
    }
    let expected = |worker: &Worker| {
        let to = Address::Worker(worker.name.clone());
        world.fleet.turns().any(|turn| turn.state == TurnState::Queued && turn.to == to)
    };
    let mut idle = world.fleet.workers().filter(|worker| worker.elastic && worker.is_free());
    if let Some(worker) = idle.find(|worker| !expected(worker)) {
        return Err(Broken { rule: "an idle fleet does nothing", how: format!("{} still lives", worker.name) });
    }
    Ok(())
}
