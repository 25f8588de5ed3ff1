//! What callers can want: each call is checked against the rules, then against the state, then done.
//! No door is known here: whether a call came over REST, MCP or the command line makes no difference to its answer.

use std::sync::Arc;

use serde_json::Value;

use super::caller::{Caller, Sender};
use super::envelope::Finish;
use super::ids::{ProfileName, RoleName, RunId, Ticket, TurnId, WorkerName};
use super::input::{Answer, Call, Keyed, RunCall, SendCall};
use super::keys::key_conflict;
use super::record::{Event, Made, Record};
use super::refusal::{Refusal, RefusalKind};
use super::routing::{check_files, check_kind};
use super::rules::{self, Verb};
use super::run::{Run, RunEnd, RunOutcome};
use super::shape::Shape;
use super::state::{Cx, Fleet};
use super::timers::Timer;
use super::turn::{Outcome, Priority, Turn, TurnState};
use super::waits::{unknown_run, unknown_turn};

impl Call {
    /// Returns the row of the rules table that this call falls under.
    pub fn verb(&self) -> Verb {
        match self {
            Call::Send(_) => Verb::Send,
            Call::WaitTurn { .. } | Call::WaitRun { .. } => Verb::Status,
            Call::CancelTurn(_) | Call::CancelRun(_) => Verb::Cancel,
            Call::Poll { .. } => Verb::Poll,
            Call::Ack(_) => Verb::Ack,
            Call::Answer { .. } => Verb::Answer,
            Call::Spawn { .. } => Verb::Spawn,
            Call::Stop { .. } => Verb::Stop,
            Call::StartRun(_) | Call::ResumeRun(_) => Verb::Run,
            Call::Ask { .. } => Verb::Ask,
            Call::Reply { .. } => Verb::Reply,
            Call::TakeSeat(_) | Call::Resume { .. } => Verb::Whoami,
            Call::ReleaseSeat => Verb::Release,
            Call::Pause => Verb::Pause,
            Call::Unpause => Verb::Resume,
        }
    }
}

impl Fleet {
    pub(super) fn call(&mut self, cx: &mut Cx, ticket: Ticket, caller: &Caller, call: Call) {
        let verb = call.verb();
        if let Err(refusal) = rules::check(caller, verb).and_then(|()| self.check_grant(caller, verb)) {
            return cx.answer(ticket, Err(refusal));
        }
        let answer = match (call, caller) {
            (Call::Ask { turn, text, until, request }, Caller::Worker { name, .. }) => {
                return self.ask(cx, ticket, name, (turn, request), text, until);
            }
            (Call::Reply { turn, text }, Caller::Worker { name, .. }) => Some(self.reply(cx, name, turn, text)),
            (Call::Resume { request, until }, caller) => return self.resume_wait(cx, ticket, caller, &request, until),
            (Call::TakeSeat(sitter), Caller::Operator | Caller::Leader) => Some(self.take_seat(cx, sitter)),
            (Call::TakeSeat(_), Caller::Worker { .. } | Caller::Anonymous { .. }) => Some(Err(Refusal::new(
                RefusalKind::NotAllowed,
                "only a session of this machine's user can be the leader",
            ))),
            (call, caller) => match caller.sender() {
                Some(sender) => self.call_of(cx, ticket, sender, call),
                None => Some(Err(inside_a_turn())),
            },
        };
        if let Some(answer) = answer {
            cx.answer(ticket, answer);
        }
    }

    /// Does what the leader or the operator wants; `None` = the answer comes by itself, now or later.
    fn call_of(&mut self, cx: &mut Cx, ticket: Ticket, sender: Sender, call: Call) -> Option<Result<Answer, Refusal>> {
        Some(match call {
            Call::Send(send) => self.send(cx, sender, send),
            Call::CancelTurn(turn) => self.cancel_turn(cx, turn, sender),
            Call::CancelRun(run) => self.cancel_run(cx, run, sender),
            Call::Ack(ids) => Ok(self.ack(cx, sender, ids)),
            Call::Answer { question, text } => self.answer_question(cx, sender, &question, text),
            Call::Spawn { role, profile, key } => {
                return self.spawn(cx, ticket, sender, role, profile, key).err().map(Err);
            }
            Call::Stop { worker, kill } => self.stop(cx, &worker, kill, sender),
            Call::StartRun(run) => self.start_run(cx, sender, run),
            Call::ResumeRun(wanted) => self.resume_run(cx, sender, *wanted),
            Call::WaitTurn { turn, until } => {
                self.wait_turn(cx, ticket, sender, turn, until);
                return None;
            }
            Call::WaitRun { run, until } => {
                self.wait_run(cx, ticket, sender, run, until);
                return None;
            }
            Call::Poll { after, limit, until } => {
                self.poll(cx, ticket, sender, after, limit, until);
                return None;
            }
            Call::ReleaseSeat => Ok(self.release_seat(cx, sender)),
            Call::Pause => Ok(self.pause(cx, sender)),
            Call::Unpause => Ok(self.unpause(cx, sender)),
            Call::Ask { .. } | Call::Reply { .. } | Call::TakeSeat(_) | Call::Resume { .. } => Err(inside_a_turn()),
        })
    }

    // === sends ===

    fn send(&mut self, cx: &mut Cx, sender: Sender, send: SendCall) -> Result<Answer, Refusal> {
        if let Some(used) = self.used_again(cx, sender, send.key.as_ref())? {
            return match used.made {
                Made::Turn(id) => match self.turns.get(&self.newest(id)) {
                    Some(turn) => Ok(Answer::Accepted(turn.clone())),
                    None => Err(Refusal::new(RefusalKind::Conflict, format!("turn {id} of this key was collected"))
                        .hint(format!("its receipt: fleetd trace {id}"))),
                },
                Made::Run(_) | Made::Worker(_) => Err(key_conflict(send.key.as_ref())),
            };
        }
        self.check_accepting()?;
        self.check_text("prompt", &send.prompt)?;
        check_kind(send.kind.as_deref())?;
        check_files(&send.files)?;
        let to = self.still_there(send.to, send.routed.as_deref());
        let role = self.role_of(&to)?;
        let max_waiting = self.team.as_ref().and_then(|team| team.roles.get(&role)).map_or(0, |role| role.max_waiting);
        let waiting = self.queues.get(&role).map_or(0, |queue| queue.len_without_runs());
        if waiting >= max_waiting as usize && !self.could_start(&to, cx.now) {
            return Err(Refusal::new(
                RefusalKind::QueueFull,
                format!("{waiting} messages wait for '{role}' already, which is its max_waiting"),
            )
            .hint("try again when some of them are settled, or raise max_waiting in the charter"));
        }
        let id = TurnId(self.fresh());
        let prompt = asking(&send.prompt, send.shape.as_deref());
        let prompt_bytes = prompt.len() as u64;
        cx.record(Record::Prompt(id, prompt));
        let turn = self.accept(
            cx,
            Turn {
                because: send.because,
                kind: send.kind,
                files: send.files,
                routed: send.routed,
                priority: send.priority,
                prompt_bytes,
                shape: send.shape,
                key: send.key.as_ref().map(|keyed| keyed.key.clone()),
                deadline: send.deadline.map(|span| cx.now + span),
                ..Turn::accepted(id, sender, to, cx.now, self.generation())
            },
        );
        self.use_key(cx, sender, send.key, Made::Turn(id));
        Ok(Answer::Accepted(turn))
    }

    /// Stores a new turn and puts it into its role's queue.
    pub(super) fn accept(&mut self, cx: &mut Cx, mut turn: Turn) -> Arc<Turn> {
        turn.enter(TurnState::Queued, cx.now, turn.because.as_ref().map(|because| format!("routed: {because}")));
        if let Some(at) = turn.deadline {
            self.at(at, Timer::Deadline(turn.id));
        }
        cx.event(event_of(&turn, cx.now, format!("accepted from {} for {}", turn.sender, turn.to)));
        let urgent = turn.priority == Priority::Now;
        self.know_as(&turn);
        let queue = self.queue_of(&turn.to);
        let (of_run, role) = (turn.step.is_some(), queue.clone());
        self.queues.entry(queue).or_default().push(turn.id, turn.sender, turn.to.clone(), urgent);
        // Parts of a run do not count, so none of them makes a queue full.
        if !of_run {
            self.tell_if_full(cx, &role);
        }
        self.put_turn(cx, turn)
    }

    fn cancel_turn(&mut self, cx: &mut Cx, id: TurnId, by: Sender) -> Result<Answer, Refusal> {
        let id = self.newest(id);
        let Some(turn) = self.turns.get(&id).cloned() else { return Err(unknown_turn(id)) };
        match turn.outcome {
            Some(Outcome::Cancelled) => {}
            Some(outcome) => {
                return Err(Refusal::new(
                    RefusalKind::Conflict,
                    format!("turn {id} ended already: {}", outcome.word()),
                ));
            }
            None => self.end_turn(cx, id, Finish::without_reply(Outcome::Cancelled, format!("cancelled by {by}"))),
        }
        let turn = self.turns.get(&id).cloned().unwrap_or(turn);
        Ok(Answer::Settled(turn, None))
    }

    // === runs ===

    fn start_run(&mut self, cx: &mut Cx, owner: Sender, call: RunCall) -> Result<Answer, Refusal> {
        if let Some(used) = self.used_again(cx, owner, call.key.as_ref())? {
            return match used.made {
                Made::Run(id) => match self.runs.get(&id) {
                    Some(run) => Ok(Answer::Started(run.clone())),
                    None => Err(Refusal::new(RefusalKind::Conflict, format!("run {id} of this key was collected"))
                        .hint(format!("its record: fleetd run show {id}"))),
                },
                Made::Turn(_) | Made::Worker(_) => Err(key_conflict(call.key.as_ref())),
            };
        }
        self.check_accepting()?;
        let team = self.need_team()?.clone();
        let Some(recipe) = team.recipes.get(&call.recipe) else {
            return Err(Refusal::unknown(
                "recipe",
                call.recipe.as_str(),
                team.recipes.keys().map(|name| name.as_str()),
            ));
        };
        if let Some(why) = self.too_many_runs() {
            return Err(Refusal::new(RefusalKind::QueueFull, why));
        }
        let id = RunId(self.fresh());
        let deadline = [call.deadline, recipe.deadline].into_iter().flatten().min().map(|span| cx.now + span);
        if let Some(at) = deadline {
            self.at(at, Timer::RunDeadline(id));
        }
        cx.record(Record::Job(id, call.job));
        let run = self.put_run(
            cx,
            Run {
                key: call.key.as_ref().map(|keyed| keyed.key.clone()),
                deadline,
                budget: recipe.budget,
                ..Run::begun(id, call.recipe, owner, team.generation.clone(), cx.now)
            },
        );
        let what = format!("recipe {} started by {owner}", run.recipe);
        cx.event(Event { at: cx.now, turn: None, run: Some(id), worker: None, what });
        self.use_key(cx, owner, call.key, Made::Run(id));
        cx.effect(super::input::Effect::Run(super::run::RunEffect::Start { run: run.clone() }));
        Ok(Answer::Started(run))
    }

    fn cancel_run(&mut self, cx: &mut Cx, id: RunId, by: Sender) -> Result<Answer, Refusal> {
        let Some(run) = self.runs.get(&id).cloned() else { return Err(unknown_run(id)) };
        match run.outcome {
            Some(RunOutcome::Cancelled) => Ok(Answer::Ended(run)),
            Some(_) => Err(run.ended_already()),
            None => {
                let why = Some(format!("cancelled by {by}"));
                let end = RunEnd { outcome: RunOutcome::Cancelled, why, value: Value::Null };
                Ok(Answer::Ended(self.end_run(cx, id, end, true).unwrap_or(run)))
            }
        }
    }

    // === workers ===

    fn spawn(
        &mut self,
        cx: &mut Cx,
        ticket: Ticket,
        sender: Sender,
        role: RoleName,
        profile: Option<ProfileName>,
        key: Option<Keyed>,
    ) -> Result<(), Refusal> {
        if let Some(used) = self.used_again(cx, sender, key.as_ref())? {
            let Made::Worker(name) = &used.made else { return Err(key_conflict(key.as_ref())) };
            let worker = self
                .worker_made(&used)
                .cloned()
                .ok_or_else(|| Refusal::new(RefusalKind::Conflict, format!("worker {name} of this key is gone")))?;
            self.tell_worker_or_wait(cx, ticket, &worker);
            return Ok(());
        }
        self.check_accepting()?;
        let team = self.need_team()?.clone();
        let spec = team
            .roles
            .get(&role)
            .ok_or_else(|| Refusal::unknown("role", role.as_str(), team.roles.keys().map(|name| name.as_str())))?;
        let profile = match profile {
            Some(name) if !spec.profiles.contains(&name) => {
                let valid = spec.profiles.iter().map(|name| name.as_str());
                return Err(Refusal::unknown(&format!("profile of role '{role}'"), name.as_str(), valid));
            }
            Some(name) => name,
            None => spec.profiles[0].clone(),
        };
        let worker = self.start_worker(cx, &team, &role, &profile, false)?;
        // By hand: whoever does it has seen what failed, and wants another try.
        self.forgive(cx, &role);
        self.use_key(cx, sender, key, Made::Worker(worker.name.clone()));
        self.tell_worker_or_wait(cx, ticket, &worker);
        Ok(())
    }

    fn stop(&mut self, cx: &mut Cx, name: &WorkerName, kill: bool, by: Sender) -> Result<Answer, Refusal> {
        let Some(worker) = self.workers.get(name).cloned() else { return Err(self.unknown_worker(name)) };
        self.stop_worker(cx, name, kill, &format!("stopped by {by}"));
        Ok(Answer::Worker(self.workers.get(name).cloned().unwrap_or(worker)))
    }

    pub(super) fn generation(&self) -> u64 {
        self.team.as_ref().map_or(0, |team| team.generation.number)
    }
}

/// Returns a prompt with what its worker is told of the shape of the answer.
pub(super) fn asking(prompt: &Arc<str>, shape: Option<&Shape>) -> Arc<str> {
    shape.map_or_else(|| prompt.clone(), |shape| format!("{prompt}{}", shape.told()).into())
}

fn inside_a_turn() -> Refusal {
    Refusal::new(RefusalKind::NotAllowed, "only a worker asks and replies inside a turn")
}

pub(super) fn event_of(turn: &Turn, at: super::time::Time, what: String) -> Event {
    let run = match turn.sender {
        Sender::Run(run) => Some(run),
        Sender::Leader | Sender::Operator | Sender::Fleetd => None,
    };
    Event { at, turn: Some(turn.id), run, worker: turn.worker.clone(), what }
}
