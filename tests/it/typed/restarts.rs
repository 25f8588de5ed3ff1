//! A daemon that dies and comes back in the middle of everything: the session goes on, and no text is typed twice.
//! That the fleet gives its orders again is tested there.

use std::sync::Arc;

use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::{Outcome, Stamp, Turn, TurnState};

use super::house::{House, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_is_adopted_and_takes_the_next_turn() {
    let house = House::new();
    let worker = house.worker(&[]);
    let mut first = house.live();
    let root = first.starts(&worker).await;
    first.dies().await;
    let mut second = house.live();
    second.order(WorkEffect::Watch(House::up(&worker)));
    let began = second.next().await;
    assert!(matches!(began, Sighting::Began { process, .. } if process == root), "{began:?}");
    second.hand(&worker, &house.turn(1, "work", 1));
    second.taken().await;
    second.finished().await;
    second.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_cut_off_is_gone_on_with() {
    let house = House::new();
    let worker = house.worker(&["--boot", "600"]);
    let mut first = house.live();
    first.order(WorkEffect::Start(worker.clone()));
    let began = first.next().await;
    first.dies().await;
    let mut second = house.live();
    second.order(WorkEffect::Start(worker.clone()));
    assert_eq!(second.next().await, began, "the same process");
    let up = second.next().await;
    assert!(matches!(up, Sighting::Up { .. }), "{up:?}");
    second.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_was_typed_and_not_entered_is_entered_and_not_typed_again() {
    let house = House::new();
    let worker = house.worker(&["--dialog-on-paste", "May I?"]);
    let mut first = house.live();
    let root = first.starts(&worker).await;
    let turn = house.turn(1, "work", 1);
    first.hand(&worker, &turn);
    until("the dialog", || house.host.shows(root).contains("May I?")).await;
    first.dies().await;
    house.host.person_types(root, "1");
    until("the text", || house.host.shows(root).contains("[end of fleet turn t1]")).await;
    let mut second = house.live();
    second.hand(&worker, &turn);
    let began = second.next().await;
    assert!(matches!(began, Sighting::Began { .. }), "{began:?}");
    second.taken().await;
    second.finished().await;
    assert_eq!((house.submitted().len(), house.pastes()), (1, 1));
    second.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_ended_while_nobody_looked_is_found_on_the_screen() {
    let house = House::new();
    let worker = house.worker(&["--answer", "the answer is 42"]);
    let mut first = house.live();
    let root = first.starts(&worker).await;
    let turn = house.turn(1, "work", 1);
    first.hand(&worker, &turn);
    first.taken().await;
    first.dies().await;
    until("the answer", || house.host.shows(root).contains("42")).await;
    // Whether the store had heard that it was taken makes no difference to what is found.
    for known in [false, true] {
        let mut second = house.live();
        let stamp = Stamp { at: Time(2), state: TurnState::Submitted, note: None };
        let row = Turn { receipt: [turn.receipt.clone(), vec![stamp; usize::from(known)]].concat(), ..(*turn).clone() };
        second.hand(&worker, &Arc::new(row));
        second.next().await;
        if !known {
            second.taken().await;
        }
        let finish = second.finished().await;
        assert_eq!((finish.outcome, &*finish.text), (Outcome::Replied, "the answer is 42"), "known: {known}");
        second.dies().await;
    }
    assert_eq!(house.pastes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_which_nothing_is_to_be_seen_is_unknown_and_not_typed_again() {
    let house = House::new();
    let worker = house.worker(&[]);
    let mut first = house.live();
    first.starts(&worker).await;
    first.dies().await;
    let turn = house.turn(1, "work", 1);
    std::fs::write(house.place.path().join("sessions/s-1-5/t1.typed"), "").expect("as a daemon that died at the paste");
    let mut second = house.live();
    second.hand(&worker, &turn);
    second.next().await;
    let finish = second.finished().await;
    assert_eq!((finish.outcome, house.pastes()), (Outcome::Unknown, 0));
    let idle = second.next().await;
    assert!(matches!(idle, Sighting::Idle { .. }), "{idle:?}");
    second.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_while_nobody_looked_is_gone_with_the_reason() {
    let house = House::new();
    let worker = house.worker(&[]);
    let mut first = house.live();
    let root = first.starts(&worker).await;
    first.dies().await;
    house.host.person_types(root, "\u{4}");
    fleetd::process::ProcessId::from(root).signal(rustix::process::Signal::TERM).expect("it is ours");
    until("its end", || house.processes().is_empty()).await;
    let mut second = house.live();
    second.order(WorkEffect::Watch(House::up(&worker)));
    let why = second.gone().await;
    assert!(why.contains("told to end") || why.contains("exit code"), "{why}");
    house.nothing_is_left();
}
