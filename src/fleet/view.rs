//! What people and programs are shown: rows with what can be derived from them, above all why something waits.
//! Looking changes nothing: no `&mut self` may come in here, and no rule may hang on a text that is made here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Sender;
use super::ids::{MessageId, ProfileName, QuestionId, RoleName, RunId, TurnId, WorkerName};
use super::life::Renewal;
use super::load::{EndpointLoad, RoleLoad};
use super::mail::{Asker, Message, Question};
use super::run::Run;
use super::state::Fleet;
use super::time::Time;
use super::turn::{Turn, TurnState};
use super::worker::{Process, Worker};

/// How many open turns a roster lists.
const MOST_TURNS: usize = 100;

/// A turn with what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    /// The row.
    #[serde(flatten)]
    pub turn: Turn,
    /// What it waits for, in a few words, if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// How many of the same sender's turns go first, while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<usize>,
    /// Milliseconds since the present state began.
    pub age_ms: u64,
}

/// One worker in the roster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerView {
    /// Its name.
    pub name: WorkerName,
    /// Its role.
    pub role: RoleName,
    /// Its profile.
    pub profile: ProfileName,
    /// Its launcher.
    pub launcher: String,
    /// True if it has a screen that can be looked at.
    #[serde(default)]
    pub has_screen: bool,
    /// What it is doing: `starting`, `ready`, `busy`, `clearing`, `draining`, `blocked`, `parked`, `unreachable`,
    /// `failed` or `gone`.
    pub state: String,
    /// Why, if it is blocked, unreachable or failed, or if its start waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The turn that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// True when its role started it, false when a caller did.
    pub elastic: bool,
    /// How many turns it had that ended.
    pub turns: u32,
    /// The process above all its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Milliseconds since the present state began.
    pub age_ms: u64,
}

/// One role in the roster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleView {
    /// Its name.
    pub name: RoleName,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Its profiles, the default first.
    pub profiles: Vec<ProfileName>,
    /// Its load.
    #[serde(flatten)]
    pub load: RoleLoad,
    /// Why it is handed nothing (its hours, or a handler parked it) and until when, in a few words; absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// What went wrong with its sessions lately, and when it starts the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// What went wrong with the sessions that a role started by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// How many failed, as far as it counts.
    pub failures: usize,
    /// The last one.
    pub worker: WorkerName,
    /// Why it failed.
    pub why: String,
    /// When it failed.
    pub at: Time,
    /// When the role may start the next one; absent = not by itself, before one is spawned by hand or its profile changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// What that means now, in a few words; absent when the role starts sessions again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
}

/// That nothing is handed out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PausedView {
    /// Who wanted it.
    pub by: Sender,
    /// Since when.
    pub since: Time,
    /// Milliseconds since then.
    pub age_ms: u64,
}

/// One open turn in the roster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTurn {
    /// Its id.
    pub turn: TurnId,
    /// Where it stands.
    pub state: TurnState,
    /// What it is addressed to.
    pub to: String,
    /// Who sent it.
    pub from: String,
    /// The worker that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// What it waits for, in a few words, if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// How many of the same sender's turns go first, while it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<usize>,
    /// Milliseconds since the present state began.
    pub age_ms: u64,
}

/// Everybody: roles with their load, workers, and what is open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Roster {
    /// The charter generation in force; 0 = none.
    pub generation: u64,
    /// That nothing is handed out, and since when; absent when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PausedView>,
    /// All roles by name.
    pub roles: Vec<RoleView>,
    /// All endpoints by name, with their load.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub endpoints: std::collections::BTreeMap<String, EndpointLoad>,
    /// All workers by role and number.
    pub workers: Vec<WorkerView>,
    /// How many turns have not ended.
    pub open_turns: usize,
    /// The first hundred of them: those that workers have, then those that wait, each by id.
    #[serde(default)]
    pub turns: Vec<OpenTurn>,
    /// How many runs have not ended.
    pub open_runs: usize,
    /// How many messages wait, by whose mailbox they lie in: `leader`, `operator`.
    pub mail: std::collections::BTreeMap<String, usize>,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionView {
    /// Its id: what `reply` takes.
    pub question: QuestionId,
    /// The turn in which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The run that asks, itself or by one of its turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What is asked.
    pub text: Arc<str>,
    /// When it was asked.
    pub at: Time,
}

impl Fleet {
    /// Returns a turn, unless it was collected.
    pub fn turn(&self, id: TurnId) -> Option<&Arc<Turn>> {
        self.turns.get(&id)
    }

    /// Returns a run, unless it was collected.
    pub fn run(&self, id: RunId) -> Option<&Arc<Run>> {
        self.runs.get(&id)
    }

    /// Returns all turns that are not collected, by id.
    pub fn turns(&self) -> impl Iterator<Item = &Arc<Turn>> {
        self.turns.values()
    }

    /// Returns all runs that are not collected, by id.
    pub fn runs(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.runs.values()
    }

    /// Returns all living workers, by name.
    pub fn workers(&self) -> impl Iterator<Item = &Arc<Worker>> {
        self.workers.values()
    }

    /// Returns a worker by name.
    pub fn worker(&self, name: &WorkerName) -> Option<&Arc<Worker>> {
        self.workers.get(name)
    }

    /// Returns every message that waits, by mailbox and id.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.values()
    }

    /// Returns a question.
    pub fn question(&self, id: QuestionId) -> Option<&Arc<Question>> {
        self.questions.get(&id)
    }

    /// Returns a message's question, turn or run as people are shown it.
    pub fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.messages.values().find(|message| message.id == id)
    }

    /// Returns the turns of history whose replies are still to be read: the notes for sessions that were given nothing yet,
    /// and answers that were sent back to somebody who has not had them again.
    pub fn still_read(&self) -> Vec<TurnId> {
        let notes = self.workers.values().filter_map(|worker| match worker.life.renewal {
            Some(Renewal::Ending(note) | Renewal::Fresh(note)) => note,
            Some(Renewal::Due | Renewal::Asked(_)) | None => None,
        });
        let open = self.turns.values().filter(|turn| !turn.state.is_settled());
        notes.chain(open.filter_map(|turn| Some(turn.amends.as_ref()?.of))).collect()
    }

    /// Returns how many callers wait right now.
    pub fn waiting_callers(&self) -> usize {
        self.waits.len()
    }

    /// Returns how many of the same sender's turns go first, while a turn is queued.
    pub fn ahead(&self, turn: &Turn) -> Option<usize> {
        let queue = self.queues.get(&self.queue_of(&turn.to)).filter(|_| turn.state == TurnState::Queued)?;
        Some(queue.ahead(turn.id, turn.sender))
    }

    /// Returns a turn as people are shown it.
    pub fn view_turn(&self, turn: &Turn, now: Time) -> TurnView {
        TurnView {
            waits: self.why_it_waits(turn, now),
            ahead: self.ahead(turn),
            age_ms: now.since(turn.since()).0,
            turn: turn.clone(),
        }
    }

    /// Returns everybody, with workers in the stable order of role and number.
    pub fn roster(&self, now: Time) -> Roster {
        let mut load = self.load(now);
        let roles = self.team.iter().flat_map(|team| team.roles.values());
        let roles = roles.map(|role| RoleView {
            name: role.name.clone(),
            about: role.about.clone(),
            profiles: role.profiles.clone(),
            load: load.roles.remove(&role.name).unwrap_or_default(),
            closed: self.why_closed(role, now),
            trouble: self.budget(&role.name).map(|budget| Trouble {
                failures: budget.failures.len(),
                worker: budget.worker.clone(),
                why: budget.why.clone(),
                at: budget.failures.last().copied().unwrap_or_default(),
                until: budget.until,
                holds: self.why_backs_off(&role.name, now),
            }),
        });
        let mut workers: Vec<WorkerView> = self.workers.values().map(|worker| self.view_worker(worker, now)).collect();
        workers.sort_by_key(|worker| (worker.role.clone(), number(&worker.name), worker.name.clone()));
        let mut mail = std::collections::BTreeMap::new();
        for message in self.messages.values() {
            *mail.entry(message.to.to_string()).or_insert(0) += 1;
        }
        Roster {
            generation: self.generation(),
            paused: self.paused.as_ref().map(|pause| PausedView {
                by: pause.by,
                since: pause.since,
                age_ms: now.since(pause.since).0,
            }),
            roles: roles.collect(),
            endpoints: load.endpoints,
            workers,
            open_turns: self.turns.values().filter(|turn| !turn.state.is_settled()).count(),
            turns: self.open_turns(now),
            open_runs: self.open_runs.len(),
            mail,
        }
    }

    /// Returns a worker as people are shown it.
    pub fn view_worker(&self, worker: &Worker, now: Time) -> WorkerView {
        WorkerView {
            name: worker.name.clone(),
            role: worker.role.clone(),
            profile: worker.profile.name.clone(),
            launcher: worker.profile.launcher.clone(),
            has_screen: worker.profile.has_screen(),
            state: worker.state.word().to_string(),
            why: why_of(worker).map(str::to_owned).or_else(|| self.why_start_waits(worker, now)),
            turn: worker.turn,
            elastic: worker.elastic,
            turns: worker.turns,
            process: worker.process,
            age_ms: now.since(worker.since).0,
        }
    }

    fn open_turns(&self, now: Time) -> Vec<OpenTurn> {
        let in_flight = self.turns.values().filter(|turn| turn.state.is_in_flight());
        let queued = self.turns.values().filter(|turn| turn.state == TurnState::Queued);
        let shown = in_flight.chain(queued).take(MOST_TURNS).map(|turn| self.view_turn(turn, now));
        let row = |view: TurnView| OpenTurn {
            turn: view.turn.id,
            state: view.turn.state,
            to: view.turn.to.to_string(),
            from: view.turn.sender.to_string(),
            worker: view.turn.worker,
            waits: view.waits,
            ahead: view.ahead,
            age_ms: view.age_ms,
        };
        shown.map(row).collect()
    }

    /// Returns a question as people are shown it.
    pub fn view_question(&self, question: &Question) -> QuestionView {
        let (turn, run) = match &question.asker {
            Asker::Turn(id) => (Some(*id), self.turns.get(id).and_then(|turn| turn.step.as_ref()).map(|step| step.run)),
            Asker::Step { run, .. } => (None, Some(*run)),
        };
        QuestionView { question: question.id, turn, run, text: question.text.clone(), at: question.at }
    }

    /// Returns the unanswered questions of a run and of its turns.
    pub fn questions_of_run(&self, run: RunId) -> Vec<QuestionView> {
        let questions = self.open_questions(&super::waits::Subject::Run(run));
        questions.iter().map(|question| self.view_question(question)).collect()
    }
}

pub(super) fn why_of(worker: &Worker) -> Option<&str> {
    use super::worker::WorkerState;
    match &worker.state {
        WorkerState::Blocked(why) | WorkerState::Failed(why) | WorkerState::Unreachable(why) => Some(why),
        WorkerState::Draining => worker.life.barred.as_deref(),
        _ => None,
    }
}

fn number(name: &WorkerName) -> u64 {
    name.as_str().rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
