//! A pause holds back what is not typed yet, and a note goes before the text that it is for.
//! When there is a pause or a note, the fleet decides; here is what is typed.

use std::time::{Duration, Instant};

use fleetd::engine::panes::PaneHost;
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::life::Renewal;
use fleetd::fleet::worker::Worker;

use super::house::{House, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_in_hand_goes_back_while_it_is_paused_and_is_typed_once_after() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&[]);
    life.starts(&worker).await;
    life.order(WorkEffect::Pause(true));
    let turn = house.turn(1, "work", 1);
    life.hand(&worker, &turn);
    let held = life.next().await;
    let why = "fleetd is paused".to_owned();
    assert_eq!(held, Sighting::Held { worker: "s-1".into(), turn: turn.id, hand: 1, why });
    assert!(matches!(life.next().await, Sighting::Clear { .. }), "nothing of the session's own is in the way");
    assert_eq!(house.pastes(), 0);
    life.order(WorkEffect::Pause(false));
    life.hand(&worker, &house.turn(1, "work", 2));
    life.taken().await;
    life.finished().await;
    assert_eq!((house.pastes(), house.submitted().len()), (1, 1));
    life.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_stands_in_the_composer_gets_its_enter_after_the_pause() {
    let house = House::new();
    let mut life = house.live();
    // What it is given it shows late, so the pause comes between text and Enter.
    let worker = house.worker(&["--slow", "700"]);
    let root = life.starts(&worker).await;
    let turn = house.turn(1, "work", 1);
    life.hand(&worker, &turn);
    until("it is pasted", || house.pastes() == 1).await;
    life.order(WorkEffect::Pause(true));
    let pane = house.host.pane_of(vec![root]).await.expect("the host is there").expect("it has a pane");
    let began = Instant::now();
    while !house.host.screen(pane.clone()).await.expect("a screen").lines.join("\n").contains("[end of fleet turn t1]")
    {
        assert!(began.elapsed() < Duration::from_secs(30), "the text never stood in the composer");
    }
    assert_eq!(house.submitted(), [""; 0]);
    life.order(WorkEffect::Pause(false));
    life.taken().await;
    life.finished().await;
    assert_eq!((house.pastes(), house.submitted().len()), (1, 1));
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_note_of_the_session_before_stands_before_the_first_text_and_no_other() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&[]);
    life.starts(&worker).await;
    house.prompts.put_reply(9, "the parser is done");
    let mut fresh = Worker::clone(&House::up(&worker));
    fresh.life.renewal = Some(Renewal::Fresh(Some(TurnId(9))));
    for (id, worker) in [(1, &fresh), (2, &*worker)] {
        life.hand(worker, &house.turn(id, "go on", 1));
        life.taken().await;
        life.finished().await;
    }
    let first = "[fleet turn t1 from operator]\n\
                 [fleet note that you wrote yourself in the session before this one]\n\
                 the parser is done\n\
                 [end of fleet note; your task follows]\n\
                 go on\n\
                 [end of fleet turn t1]";
    assert_eq!(house.submitted(), [first, "[fleet turn t2 from operator]\ngo on\n[end of fleet turn t2]"]);
    life.stops(&worker).await;
}
