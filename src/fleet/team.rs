//! What a charter declares, as plain data: profiles, roles, recipes. What a rubric is shown and says stands beside it.
//!
//! The charter room builds a `Team` and the fleet applies it as a difference. No Lua here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::RunBudget;
use super::commands::COMMAND;
use super::grants::Grants;
use super::hours::Hours;
use super::ids::{ProfileName, RecipeName, RoleName};
use super::life::{ContextCap, Restarts};
use super::plan::{Drive, Plan};
use super::shape::Shapes;
use super::time::{Span, Time};
use super::typing::Typing;
use super::work::WorktreeSpec;

pub use super::load::{RoleLoad, TeamLoad};
pub use super::routing::{Asked, Decision, Routed, Task};

/// A loaded charter's number and the hash of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Generation {
    /// Its number: counts up with every accepted load, over restarts; 0 = no charter yet.
    pub number: u64,
    /// Hex SHA-256 of the names and contents of its files.
    pub hash: String,
}

/// Everything one generation of the charter declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Team {
    /// Which generation this is.
    pub generation: Generation,
    /// How workers are started, by name.
    pub profiles: BTreeMap<ProfileName, Profile>,
    /// Pools of workers, by name.
    pub roles: BTreeMap<RoleName, Role>,
    /// Recipes that can be run, by name.
    pub recipes: BTreeMap<RecipeName, RecipeSpec>,
    /// The rubrics' reasons, in the order in which they are asked.
    pub rubrics: Vec<String>,
    /// Schemas that answers may be asked to fit, by name.
    #[serde(default)]
    pub shapes: Shapes,
    /// Events that have a handler, by the words of `FleetEvent`.
    #[serde(default)]
    pub handlers: BTreeSet<String>,
}

/// How to start a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// What it is for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Which launcher starts it.
    pub launcher: String,
    /// Program and arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Working directory; the daemon's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Variables added to the allow-list.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// From process start to exit; none = no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// How long an idle worker that started by itself stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ttl: Option<Span>,
    /// How full the session of a worker may become before a fresh one takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_cap: Option<ContextCap>,
    /// How many sessions that a role started by itself may fail before it starts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<Restarts>,
    /// What its workers may do inside their turn beside printing.
    #[serde(default, skip_serializing_if = "Grants::is_everything")]
    pub grants: Grants,
    /// How its workers are typed to, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typing: Option<Box<Typing>>,
    /// The model that its agent is told to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The endpoint of fleetd.toml whose address and key it gets; the agent's own default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What its launcher made of all that; absent in rows of older versions, whose launchers were not Lua.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<Plan>>,
    /// The git worktree that each of its workers gets; none = all work in `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Box<WorktreeSpec>>,
}

impl Profile {
    /// Returns whether its workers live between turns. Those of which each turn is one process do not.
    pub fn has_session(&self) -> bool {
        self.plan.as_ref().map_or(self.launcher != "exec" && self.launcher != COMMAND, |plan| plan.has_session())
    }

    /// Returns whether its workers have a screen.
    pub fn has_screen(&self) -> bool {
        let shows = |plan: &Plan| plan.drive == Drive::Typed || plan.api.as_ref().is_some_and(|api| !api.attach);
        self.has_session() && self.plan.as_deref().is_none_or(shows)
    }

    /// Returns how its workers are typed to.
    pub fn typing(&self) -> Typing {
        let planned = self.plan.as_ref().and_then(|plan| plan.typing.as_deref());
        planned.or(self.typing.as_deref()).cloned().unwrap_or_default()
    }
}

/// A pool of interchangeable workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its name.
    pub name: RoleName,
    /// What it is for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Profiles its workers may have; the first is the default. Never empty.
    pub profiles: Vec<ProfileName>,
    /// How many may be busy at once, where its hours say nothing else; 0 only where they do.
    pub max_busy: u32,
    /// How many may live, idle ones included; none = as many as `max_busy` by itself, any number by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_workers: Option<u32>,
    /// How many messages may wait in its queue; a run's own unstarted parts are kept by the run and not counted.
    pub max_waiting: u32,
    /// When it may be handed anything, and how much; none = always, as much as `max_busy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Arc<Hours>>,
}

impl Role {
    /// Returns how many may be busy at a moment of the clock on the wall.
    pub fn cap(&self, wall: Time) -> u32 {
        self.hours.as_ref().map_or(self.max_busy, |hours| hours.cap(self.max_busy, wall))
    }

    /// Returns how many may be busy at most, whenever that is.
    pub fn most_busy(&self) -> u32 {
        self.hours.as_ref().map_or(self.max_busy, |hours| hours.most(self.max_busy))
    }

    /// Returns whether its hours let it be handed anything at a moment of the clock on the wall.
    pub fn is_open(&self, wall: Time) -> bool {
        self.cap(wall) > 0
    }

    /// Returns when its hours change its cap next to one that is wanted.
    pub fn next_cap(&self, wall: Time, wanted: impl Fn(u32) -> bool) -> Option<Time> {
        self.hours.as_ref()?.next(self.max_busy, wall, wanted)
    }
}

/// What a recipe says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecipeSpec {
    /// Its name.
    pub name: RecipeName,
    /// What it does, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// JSON Schema of its job.
    pub input: Value,
    /// How long a run of it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// What a run of it may use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RunBudget>,
    /// Where it is declared, such as `recipes/bug-hunt.lua:3`.
    pub at: String,
}

/// What a message is addressed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// Any worker of this role.
    Role(RoleName),
    /// This worker alone.
    Worker(super::ids::WorkerName),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Role(role) => role.fmt(f),
            Address::Worker(worker) => worker.fmt(f),
        }
    }
}
