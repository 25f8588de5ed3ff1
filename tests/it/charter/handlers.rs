//! Handlers of events: what they are given, and that neither a slow one nor a storm holds anybody up.
//! What the fleet tells, and how often it acts for handlers, is seen in `fleet_events`.

use std::time::Instant;

use fleetd::charter::Upward;
use fleetd::engine::ports::Policy;
use fleetd::fleet::acts::Action;
use fleetd::fleet::events::FleetEvent;

use super::fake::{House, free};
use super::{house, task, write};

fn gone(n: usize) -> FleetEvent {
    FleetEvent::WorkerGone { worker: format!("w-a-{n}").into(), role: "w-a".into(), why: "it died".to_owned() }
}

async fn notice(house: &mut House) -> String {
    loop {
        if let Upward::Act(Action::TellLeader { text }) = house.next().await {
            return text;
        }
    }
}

/// Waits until the charter's state fits.
async fn state_of(house: &House, fits: impl Fn(u64, &str) -> bool) -> String {
    let looks = async {
        loop {
            let status = house.charter.status();
            let error = status.handler_error.unwrap_or_default();
            if fits(status.handler_errors, &error) {
                return error;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(super::fake::PATIENCE, looks).await.expect("it never came")
}

#[tokio::test]
async fn a_misspelt_field_of_an_event_is_told_with_its_line() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text =
        "fleet.on('worker_gone', function(event)\n  return { action = 'tell_leader', text = event.wroker }\nend)\n";
    write(&dir.path().join("charter"), "hooks.lua", text);
    house.team().await;
    house.charter.event(gone(1));
    let error = state_of(&house, |errors, _| errors == 1).await;
    let said = "hooks.lua:2: the event `worker_gone` has no `wroker`; did you mean `worker`?";
    assert!(error.starts_with(said), "{error}");
}

#[tokio::test]
async fn an_action_that_there_is_not_is_told_with_its_line_until_a_save_mends_it() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text =
        "fleet.on('worker_gone', function(event)\n  return { action = 'stop_workr', worker = event.worker }\nend)\n";
    write(&dir.path().join("charter"), "hooks.lua", text);
    house.team().await;
    house.charter.event(gone(1));
    let error = state_of(&house, |errors, _| errors == 1).await;
    let said = "hooks.lua:2: a handler's answer: there is no action 'stop_workr'; did you mean 'stop_worker'?";
    assert!(error.starts_with(said) && error.contains("\n  2 |   return { action = 'stop_workr'"), "{error}");
    let status = house.charter.status();
    assert_eq!(status.handler_place.as_deref(), Some("hooks.lua:2"));
    assert!(status.handler_failed_at.is_some());
    write(&dir.path().join("charter"), "hooks.lua", &text.replace("workr", "worker"));
    house.team().await;
    let status = house.charter.status();
    assert_eq!((status.handler_errors, status.handler_failed_at, status.handler_place), (1, None, None));
}

#[tokio::test]
async fn slow_handlers_hold_up_no_rubric_and_what_finds_no_room_is_told() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text = "fleet.on('worker_gone', function(event)\n  for n = 1, 40000 do local x = n * n end\nend)\n";
    write(&dir.path().join("charter"), "hooks.lua", text);
    house.team().await;
    // Handled one after the other these take far longer than a rubric may be waited for.
    for n in 0..1500 {
        house.charter.event(gone(n));
    }
    let began = Instant::now();
    for _ in 0..20 {
        house.charter.route(task(None), free(&["w-a", "w-b"])).await.expect("rubrics go first");
    }
    assert!(began.elapsed().as_secs() < 20, "twenty answers took {:?}", began.elapsed());
    // On a machine that has little time for them handlers are stopped as well, and tell another error in between.
    let full = "1000 events wait for their handlers already; worker_gone is not told";
    state_of(&house, |errors, error| errors > 300 && error == full).await;
}

#[tokio::test]
async fn refused_files_are_told_to_the_handlers_that_stay() {
    let (dir, mut house) = house().await;
    house.team().await;
    let text = "fleet.on('charter_refused', function(event)\n  \
                return { action = 'tell_leader', text = event.generation .. ' stays: ' .. event.error }\nend)\n";
    write(&dir.path().join("charter"), "hooks.lua", text);
    house.team().await;
    write(&dir.path().join("charter"), "late.lua", "fleet.recpie()\n");
    let said = notice(&mut house).await;
    assert!(said.starts_with("2 stays: late.lua:1: no `recpie`"), "{said}");
}
