//! A run that failed goes on: from its finished steps, with what was open begun anew, and no other run does.
//! The rows are handed in as the store has them.

use std::collections::BTreeMap;

use fleetd::fleet::caller::Caller;
use fleetd::fleet::ids::{RunId, StepPath, TurnId};
use fleetd::fleet::input::{Answer, Call};
use fleetd::fleet::record::Record;
use fleetd::fleet::refusal::{Refusal, RefusalKind};
use fleetd::fleet::resume::Resumed;
use fleetd::fleet::run::{Run, RunOutcome, Step, StepRequest, StepSend};
use fleetd::fleet::team::Generation;
use fleetd::fleet::time::Span;
use serde_json::{Value, json};

use super::fleet_stage::{Stage, kind, part};

/// What the store has of a run.
#[derive(Default)]
struct Rows {
    run: Option<Run>,
    steps: BTreeMap<StepPath, Step>,
}

impl Rows {
    fn keep(&mut self, stage: &Stage) {
        for record in &stage.last.records {
            match record {
                Record::Run(run) => self.run = Some((**run).clone()),
                Record::Step(step) => drop(self.steps.insert(step.path.clone(), (**step).clone())),
                Record::StepGone(_, path) => drop(self.steps.remove(path)),
                _ => {}
            }
        }
    }

    fn resumed(&self) -> Resumed {
        let generation = Generation { number: 7, hash: "mended".into() };
        Resumed { run: self.run.clone().expect("a run"), steps: self.steps.values().cloned().collect(), generation }
    }
}

fn resume(stage: &mut Stage, rows: &Rows) -> Result<Answer, Refusal> {
    stage.leader(Call::ResumeRun(Box::new(rows.resumed())))
}

/// A run of which one step is finished and one is open when it fails.
fn failed(stage: &mut Stage, deadline: Option<Span>) -> (RunId, Rows) {
    let mut rows = Rows::default();
    let run = stage.runs(deadline);
    rows.keep(stage);
    stage.reach(run, "now#1", StepRequest::Now);
    rows.keep(stage);
    stage.reach(run, "send#1", part("w", None, 0));
    rows.keep(stage);
    stage.code_ends(run, RunOutcome::Failed, Value::Null);
    rows.keep(stage);
    (run, rows)
}

#[test]
fn it_goes_on_from_what_is_finished_and_begins_the_rest_anew() {
    for collected in [false, true] {
        let mut stage = Stage::with(1);
        let (run, mut rows) = failed(&mut stage, None);
        stage.replies(TurnId(2));
        if collected {
            let (mail, _) = stage.mail(None, 9);
            stage.leader(Call::Ack(mail)).expect("acked");
            rows.keep(&stage);
            assert!(stage.fleet.run(run).is_none());
        }
        let Ok(Answer::Started(row)) = resume(&mut stage, &rows) else { panic!("it goes on") };
        assert_eq!((row.outcome, row.generation.number, row.collected, row.message), (None, 7, false, None));
        assert_eq!(stage.orders(), ["start r1"]);
        assert!(stage.last.records.contains(&Record::StepGone(run, "send#1".into())));
        rows.keep(&stage);
        let about_it = |stage: &Stage| stage.fleet.messages().any(|m| m.about == fleetd::fleet::mail::About::Run(run));
        assert!(!about_it(&stage), "its end is taken back");
        stage.restart();
        stage.reach(run, "now#1", StepRequest::Now);
        assert!(stage.last.records.is_empty(), "what is finished is not done again");
        stage.reach(run, "send#1", part("w", None, 0));
        let [again] = stage.handed()[..] else { panic!("what was open is sent as a new turn") };
        stage.replies(again);
        assert_eq!(stage.answered(run).len(), 1);
        stage.code_ends(run, RunOutcome::Done, json!(1));
        assert!(about_it(&stage), "it ends once more");
    }
}

#[test]
fn only_a_failed_run_goes_on() {
    let mut stage = Stage::with(1);
    let (_, rows) = failed(&mut stage, None);
    resume(&mut stage, &rows).expect("it failed");
    let refused = resume(&mut stage, &rows).expect_err("it is under way");
    assert_eq!((refused.kind, refused.message.as_str()), (RefusalKind::Conflict, "run r1 is under way"));
    stage.code_ends(RunId(1), RunOutcome::Partial, json!(1));
    let refused = resume(&mut stage, &rows).expect_err("it ended");
    assert_eq!(refused.to_string(), "run r1 ended as partial; only a failed run goes on; start it anew");
    let mut below = rows;
    below.run.as_mut().expect("a run").parent =
        Some(fleetd::fleet::turn::StepRef { run: RunId(9), path: "recipe#1".into() });
    below.run.as_mut().expect("a run").id = RunId(5);
    assert_eq!(kind(resume(&mut stage, &below)), RefusalKind::Conflict);
    let worker = Caller::Worker { name: "w-1".into(), via_child: false };
    let ticket = stage.calls(worker, Call::ResumeRun(Box::new(below.resumed())));
    assert_eq!(kind(stage.told(ticket).expect("at once")), RefusalKind::NotAllowed);
}

#[test]
fn a_deadline_that_has_passed_is_given_once_more() {
    let mut stage = Stage::with(1);
    let (run, mut rows) = failed(&mut stage, Some(Span::minutes(5)));
    for _ in 0..3 {
        stage.after(Span::minutes(60));
        resume(&mut stage, &rows).expect("it failed");
        let row = stage.fleet.run(run).expect("under way").clone();
        assert_eq!(row.deadline, Some(stage.now + Span::minutes(5)), "as much each time");
        stage.code_ends(run, RunOutcome::Failed, Value::Null);
        rows.keep(&stage);
    }
    resume(&mut stage, &rows).expect("it failed");
    stage.after(Span::minutes(5));
    let closing = stage.fleet.run(run).and_then(|run| run.closing.clone()).expect("its time is over");
    assert_eq!(closing.why, "not ended within 5m00s");
}

#[test]
fn questions_that_were_asked_before_keep_their_numbers() {
    let mut stage = Stage::with(1);
    let mut rows = Rows::default();
    let run = stage.runs(None);
    rows.keep(&stage);
    let StepRequest::Send(send) = part("w", None, 0) else { panic!("a send") };
    let send = StepRequest::Send(StepSend { on_ask: true, ..send });
    stage.reach(run, "send#1", send.clone());
    rows.keep(&stage);
    let ask = |stage: &mut Stage, turn: TurnId| {
        let until = stage.now + Span::minutes(1);
        let by = Caller::Worker { name: "w-1".into(), via_child: false };
        stage.calls(by, Call::Ask { turn: Some(turn), text: "which?".into(), until, request: None });
    };
    ask(&mut stage, TurnId(2));
    rows.keep(&stage);
    assert_eq!(stage.answered(run)[0].0, "send#1.asked#1");
    stage.code_ends(run, RunOutcome::Failed, Value::Null);
    stage.replies(TurnId(2));
    resume(&mut stage, &rows).expect("it failed");
    stage.reach(run, "send#1", send);
    let [again] = stage.handed()[..] else { panic!("sent anew") };
    ask(&mut stage, again);
    assert_eq!(stage.answered(run)[0].0, "send#1.asked#2");
}

#[test]
fn an_error_that_nothing_came_of_is_begun_anew_with_what_ended_with_it() {
    let mut stage = Stage::with(3);
    let mut rows = Rows::default();
    let run = stage.runs(None);
    rows.keep(&stage);
    let refused = || StepRequest::Refused(json!({"$refused": "r.lua:2: there is no role 'x'"}));
    for (path, request) in [
        ("send#1", refused()),
        ("now#1", StepRequest::Now),
        ("each#1[1].send#1", part("w", None, 0)),
        ("each#1[2].send#1", refused()),
        ("each#1", StepRequest::Broke("part 2 had an error".into())),
    ] {
        stage.reach(run, path, request);
        rows.keep(&stage);
    }
    assert!(rows.steps[&StepPath::from("each#1[1].send#1")].seq.is_some(), "it ended with the others");
    stage.code_ends(run, RunOutcome::Failed, Value::Null);
    rows.keep(&stage);
    resume(&mut stage, &rows).expect("it failed");
    let row = stage.fleet.run(run).expect("under way");
    assert_eq!(row.finished_steps, 2, "the first refusal, which the code went on from, and what it did then");
    rows.keep(&stage);
    assert_eq!(rows.steps.keys().map(StepPath::as_str).collect::<Vec<_>>(), ["now#1", "send#1"]);
    stage.restart();
    for path in ["each#1[1].send#1", "each#1[2].send#1"] {
        stage.reach(run, path, part("w", None, 0));
        let [turn] = stage.handed()[..] else { panic!("{path} is sent anew") };
        stage.replies(turn);
        assert_eq!(stage.answered(run)[0].0, path);
    }
    assert_eq!(stage.fleet.run(run).expect("under way").finished_steps, 4);
}
