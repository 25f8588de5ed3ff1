//! The story of a schedule, for the one who has to understand a failure; nothing is kept when nobody asks for it.
//! Telling must not change what happens: nothing here is read back by the world or by a rule.

use fleetd::fleet::input::{Call, Effect, Input, Sighting, Step, WorkEffect};
use fleetd::fleet::run::{RunEffect, RunInput};
use fleetd::fleet::time::Time;

use super::schedule::Op;

/// The lines told so far, if any are wanted.
#[derive(Clone, Debug, Default)]
pub struct Story(Option<Vec<String>>);

impl Story {
    /// Returns a story that keeps its lines.
    pub fn told() -> Story {
        Story(Some(Vec::new()))
    }

    /// Returns the lines.
    pub fn lines(&self) -> String {
        self.0.as_ref().map(|lines| lines.join("\n")).unwrap_or_default()
    }

    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(format!("    {}", line()));
        }
    }

    pub fn op(&mut self, op: Op) {
        if let Some(lines) = &mut self.0 {
            lines.push(format!("{op:?}"));
        }
    }

    pub fn order(&mut self, order: &WorkEffect) {
        self.tell(|| format!("carried out: {}", order_line(order)));
    }

    pub fn input(&mut self, now: Time, input: &Input) {
        self.tell(|| {
            let what = match input {
                Input::Call { ticket, caller, call } => {
                    format!("{} calls ({ticket}): {}", caller.kind(), call_line(call))
                }
                Input::Leave(ticket) => format!("{ticket} goes away"),
                Input::Seen(sighting) => format!("seen: {}", sighting_line(sighting)),
                Input::Team(team) => {
                    let roles = team.roles.values().map(|role| format!("{} {}", role.name, role.max_busy));
                    format!("charter {}: {}", team.generation.number, roles.collect::<Vec<_>>().join(", "))
                }
                Input::Run(RunInput::Step { run, path, .. }) => format!("{run} asks for {path}"),
                Input::Run(RunInput::Ended { run, end }) => format!("{run} ends as {}", end.outcome.word()),
                Input::Act(action) => format!("the charter acts: {action:?}"),
                Input::Notice(text) => format!("a notice: {text}"),
                Input::Tick => "tick".to_string(),
                Input::Wall(ahead) => format!("the clock on the wall is {ahead} ms ahead"),
                Input::Drain => "drain".to_string(),
                Input::Reap => "the sessions of the last daemon are reaped".to_string(),
                Input::SeatGone(process) => format!("the leader's process {} has ended", process.pid),
            };
            format!("{:>9} ms  {what}", now.0 as i64 - 1_700_000_000_000)
        });
    }

    pub fn step(&mut self, step: &Step) {
        for effect in &step.effects {
            self.tell(|| match effect {
                Effect::Work(order) => format!("           → {}", order_line(order)),
                Effect::Run(RunEffect::Start { run }) => format!("           → start {}", run.id),
                Effect::Run(RunEffect::Answer(run, finished)) => {
                    format!("           → answer {} of {run}", finished.step.path)
                }
                Effect::Run(RunEffect::Refuse { run, path, refusal }) => {
                    format!("           → refuse {path} of {run}: {refusal}")
                }
                Effect::Run(RunEffect::Drop(run)) => format!("           → drop {run}"),
                Effect::Event(event) => format!("           → event {}", event.word()),
            });
        }
        for (ticket, answer) in &step.answers {
            self.tell(|| match answer {
                Ok(answer) => {
                    let text = format!("{answer:?}");
                    format!("           → {ticket}: {}", text.chars().take(60).collect::<String>())
                }
                Err(refusal) => format!("           → {ticket}: refused: {refusal}"),
            });
        }
    }
}

fn order_line(order: &WorkEffect) -> String {
    match order {
        WorkEffect::Start(worker) => format!("start {}", worker.name),
        WorkEffect::Watch(worker) => format!("watch {}", worker.name),
        WorkEffect::Replied(worker, id) => format!("{} replied to {id}", worker.name),
        WorkEffect::Hand(worker, turn) => format!("hand {} to {}", turn.id, worker.name),
        WorkEffect::Interrupt(worker, id) => format!("interrupt {id} at {}", worker.name),
        WorkEffect::Stop(worker) => format!("stop {}", worker.name),
        WorkEffect::Nudge(process, n) => format!("tell process {} that {n} wait", process.pid),
        WorkEffect::Forget(id) => format!("forget {id}"),
        WorkEffect::Pause(on) => format!("type nothing: {on}"),
        WorkEffect::Memory => "read the memory".to_string(),
    }
}

fn sighting_line(sighting: &Sighting) -> String {
    match sighting {
        Sighting::Finished { worker, turn, finish, idle } => {
            format!("{worker} finished {turn} as {}{}", finish.outcome.word(), if *idle { "" } else { ", still busy" })
        }
        Sighting::Taken { worker, turn, .. } => format!("{worker} took {turn}"),
        other => format!("{other:?}"),
    }
}

fn call_line(call: &Call) -> String {
    match call {
        Call::Send(send) => {
            format!("send to {}, {:?}, key {:?}, deadline {:?}", send.to, send.priority, send.key, send.deadline)
        }
        other => format!("{other:?}"),
    }
}
