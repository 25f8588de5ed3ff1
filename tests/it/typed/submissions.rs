//! Agents with bad habits: slow, deaf to Enter, shy of long pastes; and people who write where fleetd wants to.
//! In every case a text is pasted once at most, and never over what somebody else began.

use fleetd::engine::panes::Key;
use fleetd::fleet::input::Sighting;
use fleetd::fleet::turn::Outcome;

use super::house::{House, until};

async fn once_with(flags: &[&str]) {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(flags);
    life.starts(&worker).await;
    let turn = house.turn(1, "the only text", 1);
    life.hand(&worker, &turn);
    assert_eq!(life.taken().await, turn.id, "{flags:?}");
    assert_eq!(life.finished().await.outcome, Outcome::Replied, "{flags:?}");
    let typed = "[fleet turn t1 from operator]\nthe only text\n[end of fleet turn t1]";
    assert_eq!((house.submitted(), house.pastes()), (vec![typed.to_owned()], 1), "{flags:?}");
    life.stops(&worker).await;
    house.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_agent() {
    once_with(&["--slow", "400"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_eats_two_enters() {
    once_with(&["--eat-enter", "2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_collapses_pastes() {
    once_with(&["--collapse", "10"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_draws_all_the_time_on_its_alternate_screen() {
    once_with(&["--spinner", "--mouse", "--work", "500"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_late_with_its_composer() {
    once_with(&["--boot", "700"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_never_takes_enter_is_unknown_and_gets_the_text_once() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--eat-enter", "99"]);
    life.starts(&worker).await;
    life.hand(&worker, &house.turn(1, "work", 1));
    let finish = life.finished().await;
    assert_eq!(finish.outcome, Outcome::Unknown);
    let why = finish.why.unwrap_or_default();
    assert!(why.contains("Enter was pressed 3 times"), "{why}");
    assert_eq!(house.pastes(), 1);
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_draft_is_never_typed_over() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&[]);
    let root = life.starts(&worker).await;
    house.host.person_types(root, "please wai");
    let blocked = life.next().await;
    assert!(matches!(&blocked, Sighting::Blocked { why, .. } if why.contains("draft")), "{blocked:?}");
    // The fleet may not have heard of it yet.
    life.hand(&worker, &house.turn(1, "work", 1));
    let held = life.next().await;
    assert!(matches!(&held, Sighting::Held { hand: 1, why, .. } if why.contains("draft")), "{held:?}");
    assert_eq!((house.pastes(), house.submitted().len()), (0, 0));
    house.host.person_types(root, &"\u{7f}".repeat(10));
    let clear = life.next().await;
    assert!(matches!(clear, Sighting::Clear { .. }), "{clear:?}");
    life.hand(&worker, &house.turn(1, "work", 2));
    life.taken().await;
    assert_eq!(house.submitted().len(), 1);
    life.finished().await;
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_that_opens_before_enter_is_answered_by_a_person_and_not_by_us() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--dialog-on-paste", "May I?"]);
    let root = life.starts(&worker).await;
    life.hand(&worker, &house.turn(1, "work", 1));
    let blocked = life.next().await;
    assert!(matches!(&blocked, Sighting::Blocked { why, .. } if why.contains("1. Yes")), "{blocked:?}");
    assert!(house.host.shows(root).contains("May I?"), "it stays open");
    house.host.person_types(root, "1");
    let clear = life.next().await;
    assert!(matches!(clear, Sighting::Clear { .. }), "{clear:?}");
    life.taken().await;
    assert_eq!((house.submitted().len(), house.pastes()), (1, 1));
    life.finished().await;
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_hostile_characters_presses_no_key() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&[]);
    life.starts(&worker).await;
    life.hand(&worker, &house.turn(1, "a\u{1b}[201~\r/quit\r\u{3}b", 1));
    life.taken().await;
    life.finished().await;
    assert_eq!(house.submitted(), ["[fleet turn t1 from operator]\na[201~\n/quit\nb\n[end of fleet turn t1]"]);
    assert_eq!(Key::Enter.bytes(), b"\r");
    life.stops(&worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_writes_while_it_works_is_left_alone() {
    let house = House::new();
    let mut life = house.live();
    let worker = house.worker(&["--work", "600"]);
    let root = life.starts(&worker).await;
    life.hand(&worker, &house.turn(1, "work", 1));
    life.taken().await;
    house.host.person_types(root, "my own thought");
    let finish = life.finished().await;
    assert_eq!(finish.outcome, Outcome::Replied, "the turn is over all the same");
    let blocked = life.next().await;
    assert!(matches!(&blocked, Sighting::Blocked { why, .. } if why.contains("draft")), "{blocked:?}");
    until("the draft stands", || house.host.shows(root).contains("my own thought")).await;
    life.stops(&worker).await;
}
