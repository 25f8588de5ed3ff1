//! What is shown of the steps of a run, and of a replay that does nothing; and how a run that failed is asked to go on.
//! Field names here are a promise to every client, as beside this file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fleet::envelope::Usage;
use crate::fleet::ids::{RunId, StepPath, TurnId, WorkerName};
use crate::fleet::team::Generation;
use crate::fleet::turn::{Outcome, TurnState};

/// The turn of a step, as far as a look at its run shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTurn {
    /// The turn.
    pub turn: TurnId,
    /// Where it stands.
    pub state: TurnState,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Who has or had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// Milliseconds in this state, or from its acceptance to its end.
    pub age_ms: u64,
    /// What it waits for, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// What it used, where the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// With which charter a run is replayed, or goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichCharter {
    /// The one that it began with.
    Begun,
    /// The one in force.
    #[default]
    Current,
}

/// With which charter a failed run goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The one in force if absent, which may have been mended.
    #[serde(default)]
    pub charter: WhichCharter,
}

/// What a replay of a run came to that did nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The run.
    pub run: RunId,
    /// The charter by which it was replayed.
    pub charter: Generation,
    /// The steps of the journal in their order, then those that the code came to beside them.
    pub steps: Vec<ReplayedStep>,
    /// Where it came to.
    pub to: ReplayedTo,
    /// Why, where there is a reason: of a divergence both sides, each with file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the recipe returned, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// One step of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedStep {
    /// Its path in the run.
    pub path: StepPath,
    /// The verb.
    pub verb: String,
    /// What it asked for, in a few words.
    pub what: String,
    /// Where in the charter.
    pub at: String,
    /// Where its answer comes from.
    pub from: ReplayedFrom,
    /// The beginning of its answer, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Where the answer of a replayed step comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayedFrom {
    /// From the journal.
    Journal,
    /// It is under way, or was when the run ended.
    Open,
    /// The code came to it and the journal has nothing of it: it would be begun.
    New,
    /// The journal has it, and the code did not come there.
    NotReached,
}

/// Where a replay came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayedTo {
    /// The recipe returned.
    Ended,
    /// It waits for the steps that are open or new.
    Waits,
    /// The code does not fit the journal.
    Diverged,
    /// The code failed.
    Failed,
}
