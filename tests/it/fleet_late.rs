//! Replies that come after their turn was ended: held for whom they were for and marked, and no second end of the turn.
//! And retries: by whom a turn is tried again, and what it is called when nobody ever had it.

use fleetd::fleet::ids::TurnId;
use fleetd::fleet::input::{Answer, Call, Input, SendCall};
use fleetd::fleet::mail::About;
use fleetd::fleet::record::Record;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::Outcome;
use serde_json::json;

use super::fleet_stage::{Stage, part, send_to};

fn late(stage: &Stage) -> Vec<(TurnId, String, String)> {
    let held = stage.last.records.iter().filter_map(|record| match record {
        Record::Late(turn, Some(envelope)) => {
            Some((*turn, envelope.text.to_string(), envelope.late.clone().unwrap_or_default()))
        }
        _ => None,
    });
    held.collect()
}

#[test]
fn what_still_comes_when_a_run_has_ended_early_is_held_for_its_owner() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", None, 0));
    stage.taken(TurnId(2));
    stage.leader(Call::CancelRun(run)).expect("it runs");
    stage.restart();
    stage.replies(TurnId(2));
    assert_eq!(late(&stage), [(TurnId(2), "done".into(), "cancelled: its run has ended".into())]);
    assert_eq!(stage.envelopes[&TurnId(2)].outcome, Outcome::Cancelled, "its end stays");
    stage.restart();
    let (mail, _) = stage.mail(None, 10);
    let about: Vec<About> = stage.fleet.messages().map(|message| message.about.clone()).collect();
    assert_eq!(about, [About::Run(run), About::Late(TurnId(2))]);
    assert!(matches!(stage.leader(Call::Ack(mail)), Ok(Answer::Acked { unknown, .. }) if unknown.is_empty()));
    assert!(stage.last.records.contains(&Record::Late(TurnId(2), None)), "collected is gone");
}

#[test]
fn a_sender_gets_the_reply_that_missed_its_deadline() {
    let mut stage = Stage::with(1);
    let turn = stage.sends(SendCall { deadline: Some(Span::seconds(5)), ..send_to("w") }).expect("accepted");
    stage.taken(turn);
    stage.after(Span::seconds(5));
    stage.replies(turn);
    let why = "timed_out: not settled within 5s of its acceptance";
    assert_eq!(late(&stage), [(turn, "done".into(), why.into())]);
    stage.replies(turn);
    assert!(late(&stage).is_empty(), "told twice, it is held once");
}

#[test]
fn who_took_a_turn_back_gets_nothing_and_neither_does_anybody_of_a_failure() {
    let mut stage = Stage::with(2);
    let (back, slow) = (stage.send("w"), SendCall { deadline: Some(Span::seconds(5)), ..send_to("w") });
    let slow = stage.sends(slow).expect("accepted");
    stage.taken(back);
    stage.taken(slow);
    stage.leader(Call::CancelTurn(back)).expect("it is open");
    stage.replies(back);
    assert!(late(&stage).is_empty());
    stage.after(Span::seconds(5));
    stage.ends(slow, Outcome::Failed);
    assert!(late(&stage).is_empty());
}

#[test]
fn another_worker_tries_again_where_one_is_there() {
    let mut stage = Stage::with(2);
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 1));
    let (first, other) = (TurnId(2), stage.send("w"));
    assert_eq!(
        (stage.row(first).worker.clone(), stage.row(other).worker.clone()),
        (Some("w-1".into()), Some("w-2".into()))
    );
    stage.taken(first);
    stage.taken(other);
    stage.after(Span::seconds(5));
    // Both are free at once: the first by the order of names would be the one that had it.
    stage.ends(first, Outcome::Failed);
    let again = stage.rows.values().find(|row| row.retry_of == Some(first)).expect("tried again").clone();
    assert_eq!(again.worker.as_ref().map(ToString::to_string).as_deref(), Some("w-1"), "rather than wait for another");
    let mut stage = Stage::with(2);
    let run = stage.runs(None);
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 1));
    stage.taken(first);
    let (waits, _) = (stage.leader(Call::Pause), stage.after(Span::seconds(5)));
    waits.expect("paused");
    stage.ends(first, Outcome::Failed);
    stage.leader(Call::Unpause).expect("goes on");
    let again = stage.rows.values().find(|row| row.retry_of == Some(first)).expect("tried again").clone();
    assert_eq!((again.worker.clone(), again.tried.clone()), (Some("w-2".into()), vec!["w-1".into()]));
}

#[test]
fn a_step_that_no_worker_took_in_time_was_busy() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    stage.send("w");
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 1));
    stage.after(Span::seconds(5));
    stage.after(Span::seconds(5));
    let [(path, envelope)] = &stage.answered(run)[..] else { panic!("one answer for both tries") };
    assert_eq!(
        (path.as_str(), &envelope["error"], &envelope["outcome"]),
        ("send#1", &json!("busy"), &json!("timed_out"))
    );
    let why = envelope["why"].as_str().expect("a reason");
    assert!(why.starts_with("no worker took it within 5s: cap"), "{why}");
}

#[test]
fn what_times_out_before_the_charter_is_read_is_tried_again_all_the_same() {
    let mut stage = Stage::with(1);
    let run = stage.runs(None);
    let first = stage.send("w");
    stage.reach(run, "send#1", part("w", Some(Span::seconds(5)), 1));
    stage.now = stage.now + Span::minutes(1);
    let (_, team) = stage.restart_before_charter();
    stage.step(Input::Tick);
    assert!(stage.answered(run).is_empty(), "one more try is left");
    stage.step(Input::Team(team.expect("there was one")));
    stage.replies(first);
    let [again] = stage.handed()[..] else { panic!("one is handed") };
    assert!(stage.row(again).retry_of.is_some());
    stage.replies(again);
    assert_eq!(stage.answered(run)[0].1["ok"], json!(true));
}
