//! The rest of a race, a vote or an each that nobody waits for: ended in one step, and nothing is begun there again.
//! A recipe is played by hand; which part wins is the charter's matter.

use fleetd::fleet::ids::{RunId, StepPath, TurnId};
use fleetd::fleet::input::{Call, Effect, Input, RunCall};
use fleetd::fleet::run::{RunEffect, RunInput, StepRequest, StepSend};
use fleetd::fleet::team::Address;
use fleetd::fleet::time::Span;
use fleetd::fleet::turn::{Outcome, Priority};
use serde_json::json;

use super::fleet_stage::Stage;

fn begin(stage: &mut Stage) -> RunId {
    let call = RunCall { recipe: "r".into(), job: std::sync::Arc::new(json!({})), deadline: None, key: None };
    stage.leader(Call::StartRun(call)).expect("it starts");
    RunId(1)
}

fn reach(stage: &mut Stage, path: &str, request: StepRequest) {
    stage.step(Input::Run(RunInput::Step {
        run: RunId(1),
        path: path.into(),
        verb: "verb",
        hash: path.to_string(),
        what: String::new(),
        at: "r.lua:2".to_string(),
        request: Box::new(request),
    }));
}

fn send() -> StepRequest {
    StepRequest::Send(StepSend {
        to: Some(Address::Role("w".into())),
        because: None,
        prompt: "part".into(),
        kind: None,
        files: Vec::new(),
        routed: None,
        deadline: None,
        timeout: None,
        retries: 3,
        priority: Priority::Normal,
        shape: None,
        on_ask: false,
    })
}

fn answered(stage: &Stage) -> Vec<StepPath> {
    let answers = stage.last.effects.iter().filter_map(|effect| match effect {
        Effect::Run(RunEffect::Answer(_, done)) => Some(done.step.path.clone()),
        _ => None,
    });
    answers.collect()
}

#[test]
fn the_rest_of_a_race_is_ended_in_one_step() {
    let mut stage = Stage::with(2);
    begin(&mut stage);
    for part in 1..=3 {
        reach(&mut stage, &format!("race#1[{part}].send#1"), send());
    }
    reach(&mut stage, "race#1[4].sleep#1", StepRequest::Sleep(Span::minutes(5)));
    reach(&mut stage, "race#1[5].ask_leader#1", StepRequest::Ask("shall I?".into()));
    reach(&mut stage, "race#10[1].send#1", send());
    stage.replies(TurnId(2));
    assert_eq!(answered(&stage), ["race#1[1].send#1".into()]);
    reach(&mut stage, "race#1", StepRequest::GiveUp("part 1 won".to_string()));
    let ended: Vec<&str> =
        vec!["race#1", "race#1[2].send#1", "race#1[3].send#1", "race#1[4].sleep#1", "race#1[5].ask_leader#1"];
    assert_eq!(answered(&stage), ended.into_iter().map(StepPath::from).collect::<Vec<_>>());
    for turn in [TurnId(3), TurnId(4)] {
        let envelope = &stage.envelopes[&turn];
        assert_eq!((envelope.outcome, envelope.why.as_deref()), (Outcome::Cancelled, Some("part 1 won")));
    }
    assert!(stage.orders().contains(&"interrupt t3 at w-2".to_string()), "{:?}", stage.orders());
    assert_eq!(stage.mail(None, 10).0.len(), 0, "its question is withdrawn");
    assert!(stage.fleet.turns().any(|turn| turn.outcome.is_none()), "the other race goes on");
}

#[test]
fn what_comes_late_of_a_part_that_was_given_up_begins_nothing() {
    let mut stage = Stage::with(2);
    begin(&mut stage);
    reach(&mut stage, "race#1[1].now#1", StepRequest::Now);
    reach(&mut stage, "race#1", StepRequest::GiveUp("part 1 won".to_string()));
    stage.restart();
    for path in ["race#1[2].send#1", "race#1[2].each#1[7].send#1"] {
        reach(&mut stage, path, send());
        assert!(stage.last.records.is_empty(), "{:?}", stage.last.records);
    }
    reach(&mut stage, "race#2[1].send#1", send());
    assert_eq!(stage.handed().len(), 1);
}
