//! The launcher of typed workers with a real program in a real terminal: what is typed, what is seen, what is reported,
//! and what a daemon finds that comes back.
//!
//! The agent is `test-agent` (tests/herdr), the pane host one in this process, with faults on order.

mod host;
pub mod house;
mod nudges;
mod pauses;
mod restarts;
mod submissions;
mod trees;
mod trouble;

use std::fs;

use fleetd::fleet::input::{Sighting, WorkEffect};
use fleetd::fleet::turn::Outcome;

use house::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_takes_one_turn_after_the_other() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--answer", "upper"]);
    life.starts(&worker).await;
    for (id, prompt) in [(1, "first"), (2, "second\nwith two lines")] {
        let turn = house.turn(id, prompt, 1);
        life.hand(&worker, &turn);
        assert_eq!(life.taken().await, turn.id);
        let finish = life.finished().await;
        assert_eq!((finish.outcome, finish.proof.as_deref()), (Outcome::Replied, Some("screen")));
        assert!(finish.text.contains(&prompt.lines().last().unwrap().to_uppercase()), "{}", finish.text);
    }
    let expected = [
        "[fleet turn t1 from operator]\nfirst\n[end of fleet turn t1]",
        "[fleet turn t2 from operator]\nsecond\nwith two lines\n[end of fleet turn t2]",
    ];
    assert_eq!(house.submitted(), expected);
    life.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_given_twice_changes_nothing() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--work", "300"]);
    life.order(WorkEffect::Start(worker.clone()));
    life.starts(&worker).await;
    let turn = house.turn(1, "once", 1);
    life.hand(&worker, &turn);
    life.hand(&worker, &turn);
    life.taken().await;
    life.hand(&worker, &turn);
    life.finished().await;
    assert_eq!(house.submitted().len(), 1);
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_reply_ends_a_turn_as_soon_as_it_is_idle() {
    let house = House::new().typing(|typing| typing.quiet = fleetd::fleet::time::Span::minutes(5));
    let mut life = house.live();
    let worker = house.worker(&["--work", "200"]);
    life.starts(&worker).await;
    let turn = house.turn(1, "answer by a call", 1);
    life.hand(&worker, &turn);
    life.taken().await;
    life.order(WorkEffect::Replied(House::up(&worker), turn.id));
    assert_eq!(life.finished().await.outcome, Outcome::Replied);
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_stopped_frees_the_agent_for_the_next_one() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--hang"]);
    life.starts(&worker).await;
    let turn = house.turn(1, "for ever", 1);
    life.hand(&worker, &turn);
    life.taken().await;
    life.order(WorkEffect::Interrupt(House::up(&worker), turn.id));
    let idle = life.next().await;
    assert!(matches!(idle, Sighting::Idle { .. }), "{idle:?}");
    let next = house.turn(2, "another", 1);
    life.hand(&worker, &next);
    assert_eq!(life.taken().await, next.id);
    life.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_too_long_to_be_typed_is_given_as_a_file_that_git_does_not_see() {
    let house = House::new().typing(|typing| typing.limit = 200);
    let git = |args: &[&str]| {
        let ran =
            std::process::Command::new("git").args(args).current_dir(house.work()).output().expect("git is there");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).expect("plain words")
    };
    git(&["init", "-q"]);
    let mut life = house.live();
    let worker = house.worker(&[]);
    life.starts(&worker).await;
    let long = "line of the task\n".repeat(100);
    let turn = house.turn(7, &long, 1);
    life.hand(&worker, &turn);
    life.taken().await;
    life.finished().await;
    let file = house.work().join(".fleet/t7.md");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), long);
    assert!(
        house.submitted()[0].contains("The task is in the file .fleet/t7.md (1700 bytes)"),
        "{:?}",
        house.submitted()
    );
    assert_eq!(git(&["status", "--porcelain"]), "");
    life.order(WorkEffect::Forget(turn.id));
    house::until("the file is removed", || !file.exists()).await;
    life.stops(&worker).await;
}
