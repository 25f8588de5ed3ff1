//! How a run is started and asked to go on, what is shown of it and its steps, and of a replay that does nothing.
//! Field names here are a promise to every client, as beside this file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fleet::envelope::Usage;
use crate::fleet::ids::{Key, RunId, StepPath, TurnId, WorkerName};
use crate::fleet::run::{Run, Step};
use crate::fleet::team::{Generation, RecipeSpec};
use crate::fleet::time::Span;
use crate::fleet::turn::{Outcome, TurnState};
use crate::fleet::view::QuestionView;

use super::Pending;

/// A start of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The recipe's name.
    pub recipe: String,
    /// Its job: an object with the fields of the recipe's `input`, or any JSON for a recipe without one. An empty object
    /// if absent.
    #[serde(default)]
    pub job: Value,
    /// How long the run may take, as `"8m"` or a number of seconds; the recipe's own deadline still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// How long the call waits for the end, as `"8m"` or a number of seconds, 60 minutes at most; if absent, it
    /// answers at once with the stored run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// Idempotency key: the same key and body is the same run; another body is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// A run with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What the recipe returned: any JSON; null while it runs.
    pub value: Arc<Value>,
}

/// What came of a wait for a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunWaited {
    /// The run ended.
    Ended(Box<RunResult>),
    /// The run is open.
    Open(Pending),
}

/// Everything known of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDetail {
    /// The run with its value.
    #[serde(flatten)]
    pub result: RunResult,
    /// Its steps, in the order in which they began.
    pub steps: Vec<Step>,
    /// The latest turns of its last steps, up to 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<StepTurn>,
    /// Its open questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

/// The recipes of the charter in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recipes {
    /// The charter generation that declares them.
    pub generation: u64,
    /// All recipes, by name.
    pub recipes: Vec<RecipeSpec>,
}

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
    /// It is under way, or was when the run ended; of a run that failed, what it begins anew when it is resumed.
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
