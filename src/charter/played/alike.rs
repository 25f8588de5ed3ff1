//! A test plays deadlines, timeouts, retries and hours as the daemon does: one table of cases, played on the stage and by the
//! fleet itself, comes to the same outcomes with the same number of turns. Only tests.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;

use crate::charter::sources::Sources;
use crate::charter::testing;
use crate::charter::world::World;
use crate::fleet::caller::Caller;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::{Ticket, TurnId, WorkerName};
use crate::fleet::input::{Answer, Call, Effect, Input, RunCall, Sighting, WorkEffect};
use crate::fleet::run::{RunEffect, RunInput, StepRequest, StepSend};
use crate::fleet::shape::Shape;
use crate::fleet::team::{Address, Generation};
use crate::fleet::time::{Span, Time};
use crate::fleet::turn::{Outcome, Priority};
use crate::fleet::{Fleet, Limits};

/// One send, to a role that may be closed, whose worker always takes as long.
struct Case {
    about: &'static str,
    /// When it is sent, as a time of day: its role is closed from 06:00 to 22:00.
    at: (u64, u64),
    deadline: Option<Span>,
    /// Of the profile.
    timeout: Span,
    /// Of the send.
    patience: Option<Span>,
    retries: u32,
    /// Whether the answer does not fit what was asked for.
    misfits: bool,
    /// How long the worker takes.
    work: Span,
    /// The outcome's word, and how many turns it took.
    comes_to: (&'static str, u64),
}

const USUAL: Case = Case {
    about: "",
    at: (23, 0),
    deadline: None,
    timeout: Span::days(1),
    patience: None,
    retries: 0,
    misfits: false,
    work: Span::minutes(1),
    comes_to: ("replied", 1),
};
const HOUR: Span = Span::minutes(60);

const CASES: &[Case] = &[
    Case { about: "all is well", ..USUAL },
    Case {
        about: "a closed role, and a short deadline",
        at: (7, 0),
        deadline: Some(Span::seconds(1)),
        retries: 1,
        comes_to: ("busy", 2),
        ..USUAL
    },
    Case {
        about: "the deadline counts from acceptance, not from the opening",
        at: (7, 0),
        deadline: Some(Span(16 * HOUR.0)),
        work: Span(3 * HOUR.0),
        comes_to: ("timed_out", 1),
        ..USUAL
    },
    Case {
        about: "each try has a deadline of its own",
        at: (7, 0),
        deadline: Some(Span(14 * HOUR.0)),
        retries: 1,
        comes_to: ("replied", 2),
        ..USUAL
    },
    Case {
        about: "too slow",
        deadline: Some(Span::minutes(1)),
        work: Span::minutes(2),
        retries: 2,
        comes_to: ("timed_out", 3),
        ..USUAL
    },
    Case {
        about: "too slow for the profile",
        deadline: Some(HOUR),
        timeout: Span::seconds(30),
        retries: 1,
        comes_to: ("timed_out", 2),
        ..USUAL
    },
    Case {
        about: "the profile's timeout does not count while the role is closed",
        at: (21, 0),
        timeout: Span::minutes(2),
        ..USUAL
    },
    Case {
        about: "its own timeout does not count either while the role is closed, and holds for each try and each correction",
        at: (21, 0),
        patience: Some(Span::minutes(2)),
        misfits: true,
        comes_to: ("schema", 3),
        ..USUAL
    },
    Case {
        about: "too slow for its own timeout",
        at: (21, 0),
        patience: Some(Span::seconds(50)),
        retries: 2,
        comes_to: ("timed_out", 3),
        ..USUAL
    },
    Case {
        about: "the profile's timeout holds beside its own",
        timeout: Span::seconds(20),
        patience: Some(Span::seconds(50)),
        retries: 1,
        comes_to: ("timed_out", 2),
        ..USUAL
    },
    Case {
        about: "corrections have the deadline of what they correct",
        deadline: Some(Span::minutes(10)),
        work: Span::minutes(4),
        misfits: true,
        comes_to: ("timed_out", 3),
        ..USUAL
    },
    Case {
        about: "and another try has its own, and all its corrections",
        deadline: Some(Span::minutes(10)),
        work: Span::minutes(4),
        misfits: true,
        retries: 1,
        comes_to: ("timed_out", 6),
        ..USUAL
    },
    Case { about: "corrected to the last", work: Span::minutes(4), misfits: true, comes_to: ("schema", 3), ..USUAL },
    Case {
        about: "the role closes before the correction",
        at: (5, 58),
        deadline: Some(Span::minutes(10)),
        work: Span::minutes(4),
        misfits: true,
        comes_to: ("busy", 2),
        ..USUAL
    },
];

fn charter(case: &Case) -> World {
    let spec =
        |name: &str, span: Option<Span>| span.map(|span| format!(", {name} = '{}ms'", span.0)).unwrap_or_default();
    let ((hour, minute), (word, turns)) = (case.at, case.comes_to);
    let text = format!(
        "fleet.profile('p', {{ launcher = 'exec', command = {{ 'cat' }}{} }})
         fleet.role('w', {{ profiles = {{ 'p' }}, between = '22:00-06:00', zone = 'UTC' }})
         fleet.recipe('r', {{}}, function(job, run)
           local reply = run:send {{ to = 'w', prompt = 'x', retries = {}{}{}{} }}
           return {{ reply.error or 'replied', reply.turn }}
         end)
         fleet.test('it', function(t)
           t.at('{hour:02}:{minute:02}', 'UTC')
           t.worker('w', function() return t.reply('x', {{ took = '{}ms' }}) end)
           t.equal(t.run('r').value, {{ '{word}', 't{turns}' }})
         end)",
        spec("timeout", Some(case.timeout)),
        case.retries,
        spec("deadline", case.deadline),
        spec("timeout", case.patience),
        if case.misfits { ", schema = 'integer'" } else { "" },
        case.work.0,
    );
    let sources = Sources::from_files([("team.lua", text.as_str())]);
    World::load(Arc::new(sources), Generation::default(), Arc::default()).expect("loads")
}

/// Plays a case by the fleet: what becomes of the send, and after how many turns.
fn lived(world: &World, case: &Case) -> (String, u64) {
    let mut fleet = Fleet::new(Limits::default());
    let mut now = Time(19_676 * 86_400_000 + (case.at.0 * 60 + case.at.1) * 60_000);
    let call = RunCall { recipe: "r".into(), job: Arc::new(json!({})), deadline: None, key: None };
    let start = Input::Call { ticket: Ticket(1), caller: Caller::Operator, call: Call::StartRun(call) };
    let mut inputs = VecDeque::from([Input::Team(Arc::clone(&world.team)), start]);
    let mut at_work: Option<(Time, WorkerName, TurnId)> = None;
    for _ in 0..1_000 {
        let input = inputs.pop_front().unwrap_or_else(|| {
            let end = at_work.as_ref().map(|(at, ..)| *at);
            match fleet.next_wake() {
                Some(wake) if end.is_none_or(|end| wake < end) => {
                    now = wake;
                    Input::Tick
                }
                _ => {
                    let (at, worker, turn) = at_work.take().expect("something happens");
                    now = at;
                    ends(worker, turn, if case.work > case.timeout { Outcome::TimedOut } else { Outcome::Replied })
                }
            }
        });
        let step = fleet.step(now, input);
        for (_, answer) in step.answers {
            let Ok(Answer::Started(run)) = answer else { panic!("{answer:?}") };
            inputs.push_back(Input::Run(RunInput::Step {
                run: run.id,
                path: "send#1".into(),
                verb: "send",
                hash: String::new(),
                what: String::new(),
                at: String::new(),
                request: Box::new(StepRequest::Send(send(case))),
            }));
        }
        for effect in step.effects {
            match effect {
                Effect::Work(WorkEffect::Hand(worker, turn)) => {
                    at_work = Some((now + case.work.min(case.timeout), worker.name.clone(), turn.id));
                    let (worker, turn) = (worker.name.clone(), turn.id);
                    inputs.push_back(Input::Seen(Sighting::Taken { worker, turn, process: None }));
                }
                Effect::Work(WorkEffect::Interrupt(worker, turn)) => {
                    at_work = None;
                    inputs.push_back(ends(worker.name.clone(), turn, Outcome::Cancelled));
                }
                Effect::Run(RunEffect::Answer(run, done)) => {
                    let word = done.value["error"].as_str().unwrap_or("replied").to_owned();
                    return (word, fleet.run(run).expect("not ended").sent);
                }
                _ => {}
            }
        }
    }
    panic!("{}: it never ends", case.about)
}

fn ends(worker: WorkerName, turn: TurnId, outcome: Outcome) -> Input {
    let finish = Finish { text: "x".into(), ..Finish::without_reply(outcome, "as it is played") };
    Input::Seen(Sighting::Finished { worker, turn, finish: Box::new(finish), idle: true })
}

fn send(case: &Case) -> StepSend {
    let shape = case.misfits.then(|| Shape::read(&json!("integer"), None, &Default::default()).expect("a shape"));
    StepSend {
        to: Some(Address::Role("w".into())),
        because: None,
        prompt: "x".into(),
        routed: None,
        kind: None,
        files: Vec::new(),
        deadline: case.deadline,
        timeout: case.patience,
        retries: case.retries,
        priority: Priority::Normal,
        shape: shape.map(Arc::new),
        on_ask: false,
    }
}

#[test]
fn deadlines_timeouts_and_retries_are_played_as_the_daemon_does_it() {
    for case in CASES {
        let world = charter(case);
        let (word, turns) = lived(&world, case);
        assert_eq!((word.as_str(), turns), case.comes_to, "the fleet: {}", case.about);
        let played = testing::all(&world, None).tests.remove(0);
        assert!(played.passed, "the stage: {}: {:?}\n{:#?}", case.about, played.error, played.transcript);
    }
}
