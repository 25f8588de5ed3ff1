//! Telling the leader in its pane that something waits: when, how often, and when not.
//! The pure fleet on its stage: whether a pane can take a line is tested at the launcher.

use fleetd::fleet::caller::Caller;
use fleetd::fleet::input::{Call, Input, Nudged, Sighting};
use fleetd::fleet::seat::Sitter;
use fleetd::fleet::time::Span;
use fleetd::fleet::worker::Process;

use super::fleet_stage::Stage;

const LEADER: Process = Process { pid: 10, start: 1 };

/// Returns a fleet with a leader in the seat, and a reply that waits for it.
fn with_mail() -> Stage {
    let mut stage = Stage::with(3);
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Process(LEADER)));
    let turn = stage.send("w");
    stage.replies(turn);
    stage
}

/// Lets time pass and returns how often the leader was to be told, `how` being what came of it each time.
fn told(stage: &mut Stage, seconds: u64, how: &Nudged) -> usize {
    let mut times = 0;
    for _ in 0..seconds {
        stage.after(Span::seconds(1));
        if stage.orders().iter().any(|order| order.starts_with("tell process 10")) {
            times += 1;
            stage.seen(Sighting::Nudged { leader: LEADER, how: how.clone() });
        }
    }
    times
}

#[test]
fn one_line_for_all_three_at_most_with_growing_gaps() {
    let mut stage = with_mail();
    let other = stage.send("w");
    stage.replies(other);
    assert_eq!(told(&mut stage, 4, &Nudged::Typed), 0, "a leader that looks by itself is not disturbed");
    assert_eq!(told(&mut stage, 2, &Nudged::Typed), 1, "one line for both");
    assert_eq!(told(&mut stage, 50, &Nudged::Typed), 0);
    assert_eq!(told(&mut stage, 20, &Nudged::Typed), 1);
    assert_eq!(told(&mut stage, 200, &Nudged::Typed), 0);
    assert_eq!(told(&mut stage, 3_600, &Nudged::Typed), 1);
    assert_eq!(stage.fleet.nudges(), (3, None));
}

#[test]
fn a_look_at_the_mailbox_ends_it_and_what_was_read_is_not_told_again() {
    let mut stage = with_mail();
    assert_eq!(told(&mut stage, 10, &Nudged::Typed), 1);
    let (mail, _) = stage.mail(None, 9);
    assert_eq!(mail.len(), 1, "it stays until it is acknowledged");
    assert_eq!(told(&mut stage, 3_600, &Nudged::Typed), 0);
    let turn = stage.send("w");
    stage.replies(turn);
    assert_eq!(told(&mut stage, 10, &Nudged::Typed), 1, "something new");
}

#[test]
fn a_look_before_the_launcher_has_said_what_came_of_the_line_answers_it() {
    for how in [Nudged::Typed, Nudged::NotNow("a draft stands in its composer".into())] {
        let mut stage = with_mail();
        stage.after(Span::seconds(6));
        assert_eq!(stage.orders(), ["tell process 10 of 1"]);
        stage.mail(None, 9);
        stage.seen(Sighting::Nudged { leader: LEADER, how: how.clone() });
        assert_eq!(stage.fleet.nudges(), (0, None), "{how:?}");
        let turn = stage.send("w");
        stage.replies(turn);
        assert_eq!(told(&mut stage, 6, &Nudged::Typed), 1, "a first line, after {how:?}");
    }
}

#[test]
fn why_it_was_not_told_is_forgotten_when_it_looks_by_itself() {
    let mut stage = with_mail();
    assert_eq!(told(&mut stage, 6, &Nudged::NotNow("it works".into())), 1);
    assert_eq!(stage.fleet.nudges(), (0, Some("it works")));
    stage.mail(None, 9);
    assert_eq!(stage.fleet.nudges(), (0, None));
}

#[test]
fn who_waits_at_the_mailbox_or_got_the_answer_is_not_told() {
    let mut stage = with_mail();
    stage.mail(None, 9);
    let until = Some(stage.now + Span::minutes(5));
    stage.calls(Caller::Leader, Call::Poll { after: Some(fleetd::fleet::ids::MessageId(999)), limit: 9, until });
    let turn = stage.send("w");
    stage.replies(turn);
    assert_eq!(told(&mut stage, 60, &Nudged::Typed), 0, "somebody waits there");

    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Process(LEADER)));
    let turn = stage.send("w");
    stage.leader_waits(turn);
    stage.replies(turn);
    assert_eq!(told(&mut stage, 60, &Nudged::Typed), 0, "a blocking answer shows the reply");
}

#[test]
fn a_question_that_a_waiting_send_brought_is_not_told_again() {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Process(LEADER)));
    let turn = stage.send("w");
    stage.leader_waits(turn);
    let worker = Caller::Worker { name: "w-1".into(), via_child: false };
    let until = stage.now + Span::minutes(9);
    stage.calls(worker, Call::Ask { turn: None, text: "which?".into(), until, request: None });
    assert_eq!(told(&mut stage, 30, &Nudged::Typed), 0);
}

#[test]
fn a_busy_pane_is_tried_again_and_one_that_is_not_there_is_not() {
    let mut stage = with_mail();
    let busy = Nudged::NotNow("it works".into());
    assert_eq!(told(&mut stage, 65, &busy), 5, "each quarter of a minute, and none of them counts");
    assert_eq!(stage.fleet.nudges(), (0, Some("it works")));
    assert_eq!(told(&mut stage, 20, &Nudged::Typed), 1);

    let mut stage = with_mail();
    assert_eq!(told(&mut stage, 3_600, &Nudged::NoPane("no pane is above it".into())), 1);
    let later = Process { pid: 20, start: 2 };
    stage.step(Input::SeatGone(LEADER));
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Process(later)));
    stage.after(Span::seconds(6));
    assert_eq!(stage.orders(), ["tell process 20 of 1"], "the next leader may have one");
}

#[test]
fn a_leader_by_token_has_no_pane_and_an_idle_fleet_tells_nobody_anything() {
    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Session("s".into())));
    let turn = stage.send("w");
    stage.replies(turn);
    assert_eq!(told(&mut stage, 60, &Nudged::Typed), 0);

    let mut stage = Stage::with(1);
    stage.calls(Caller::Leader, Call::TakeSeat(Sitter::Process(LEADER)));
    assert_eq!(told(&mut stage, 3_600, &Nudged::Typed), 0);
    assert_eq!(stage.fleet.next_wake(), None, "no timer at all");
}

#[test]
fn after_a_restart_what_is_unread_is_told_once_more() {
    let mut stage = with_mail();
    stage.restart();
    assert_eq!(told(&mut stage, 10, &Nudged::Typed), 1);
}
