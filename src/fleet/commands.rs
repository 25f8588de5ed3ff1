//! Commands of runs (`run:command`): a program of the operator's list is started once, as the process of a turn of its own.
//!
//! It has the turn's directory, claim and exit record, so that a daemon that comes back knows how far it came; where nothing
//! tells, the end is `unknown`, and it is never started again. Its worker lives for this one process.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::grants::Grants;
use super::ids::{RoleName, TurnId, WorkerName};
use super::input::{Effect, WorkEffect};
use super::life::Life;
use super::record::Record;
use super::refusal::{Refusal, RefusalKind};
use super::run::{Step, StepCommand};
use super::state::{Cx, Fleet};
use super::team::{Address, Profile};
use super::time::Span;
use super::turn::{StepRef, Turn, TurnState};
use super::worker::{Worker, WorkerState};

/// The role and the launcher of the workers that are commands; no charter can declare such a name.
pub const COMMAND: &str = "fleetd:command";
/// With what their names begin; no role can have such a name.
const NAMED: &str = "command:";
/// How many of them run at once; the others wait. No other limit holds for them.
pub const AT_ONCE: usize = 8;
/// How long one may take unless it is said.
pub const TIMEOUT: Span = Span::minutes(10);
/// How long one may take at most.
pub const MOST: Span = Span::minutes(60);

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where; the daemon's own directory if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// How long it may take.
    pub timeout: Span,
}

impl Fleet {
    pub(super) fn begin_command(&mut self, cx: &mut Cx, mut step: Step, wanted: StepCommand) -> Result<(), Refusal> {
        let program = wanted.command.argv.first().cloned().unwrap_or_default();
        if !self.limits.commands.contains(&program) {
            let message = format!("'{program}' is not in [commands] allow of fleetd.toml");
            let allowed = match self.limits.commands.is_empty() {
                true => "nothing is allowed there".to_string(),
                false => format!("allowed: {}", self.limits.commands.join(", ")),
            };
            return Err(Refusal::new(RefusalKind::NotAllowed, message).hint(allowed));
        }
        let (run, path) = (step.run, step.path.clone());
        if let Some(value) = self.closed(cx, run) {
            self.put_step(cx, step);
            self.finish_step(cx, run, &path, value);
            return Ok(());
        }
        let id = TurnId(self.fresh());
        let prompt_bytes = wanted.stdin.len() as u64;
        cx.record(Record::Prompt(id, wanted.stdin));
        step.turn = Some(id);
        self.put_step(cx, step);
        let turn = Turn {
            prompt_bytes,
            step: Some(StepRef { run, path }),
            command: Some(Arc::new(wanted.command)),
            ..Turn::accepted(id, Sender::Run(run), Address::Role(COMMAND.into()), cx.now, self.generation())
        };
        self.accept(cx, turn);
        Ok(())
    }

    /// Returns how many workers live: commands have a limit of their own, and take nobody's place. They are few and stand
    /// beside one another, so that nobody has to look at all the others.
    pub(super) fn living_workers(&self) -> usize {
        let from = self.workers.range(WorkerName::from(NAMED)..);
        let commands = from.take_while(|(name, _)| name.as_str().starts_with(NAMED));
        self.workers.len() - commands.filter(|(_, worker)| worker.is_command()).count()
    }

    /// Starts the commands that wait, as far as there is room.
    pub(super) fn start_commands(&mut self, cx: &mut Cx) {
        let role = RoleName::from(COMMAND);
        while self.of_role(&role).count() < AT_ONCE {
            let next = self.queues.get(&role).and_then(|queue| queue.next(|_| true));
            let Some(turn) = next.and_then(|id| self.turns.get(&id)).cloned() else { return };
            let Some(command) = turn.command.clone() else { return };
            if let Some(queue) = self.queues.get_mut(&role) {
                queue.serve(turn.id, turn.sender, &turn.to);
            }
            let name = WorkerName::from(format!("{NAMED}{}", turn.id.0));
            let mut turn = (*turn).clone();
            turn.worker = Some(name.clone());
            turn.enter(TurnState::Handed, cx.now, Some(format!("to {name}")));
            let worker = Worker {
                name,
                role: role.clone(),
                profile: Arc::new(profile(&command)),
                generation: self.generation(),
                state: WorkerState::Busy,
                since: cx.now,
                turn: Some(turn.id),
                elastic: true,
                process: None,
                turns: 0,
                session: 0,
                born: 0,
                late: None,
                cut: None,
                life: Life::default(),
            };
            let turn = self.put_turn(cx, turn);
            let worker = self.put_worker(cx, worker);
            cx.effect(Effect::Work(WorkEffect::Hand(worker, turn)));
        }
    }
}

/// Returns how a command is started: as a process that is no agent, and may ask fleetd for nothing.
fn profile(command: &Command) -> Profile {
    Profile {
        name: COMMAND.into(),
        about: None,
        launcher: COMMAND.to_string(),
        command: command.argv.clone(),
        cwd: command.cwd.clone(),
        env: Default::default(),
        timeout: Some(command.timeout),
        idle_ttl: None,
        context_cap: None,
        restarts: None,
        grants: Grants::none(),
        typing: None,
        model: None,
        endpoint: None,
        plan: None,
        worktree: None,
    }
}
