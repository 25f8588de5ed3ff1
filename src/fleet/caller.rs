//! Who is calling, who sent something, and whose mailbox something lies in.
//!
//! A `Caller` is decided by the door from the connection, never from a name in a request.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::ids::{RunId, WorkerName};

/// Who a request comes from, as its connection shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The main session; holds the seat.
    Leader,
    /// A human of our own uid on this machine, in no worker's tree.
    Operator,
    /// A process below the pane-exec of this worker.
    Worker {
        /// The worker in whose tree the process is.
        name: WorkerName,
        /// True when it is a child of the agent and not the agent itself.
        via_child: bool,
    },
    /// Everybody else, and why it was not recognised.
    Anonymous {
        /// What was missing to recognise the caller, such as "peer of another uid".
        why: String,
    },
}

impl Caller {
    /// Returns the sender under whose name this caller's messages go, if it may send at all.
    pub fn sender(&self) -> Option<Sender> {
        match self {
            Caller::Leader => Some(Sender::Leader),
            Caller::Operator => Some(Sender::Operator),
            Caller::Worker { .. } | Caller::Anonymous { .. } => None,
        }
    }

    /// Returns the row of the rules table that this caller falls under.
    pub fn kind(&self) -> CallerKind {
        match self {
            Caller::Leader => CallerKind::Leader,
            Caller::Operator => CallerKind::Operator,
            Caller::Worker { .. } => CallerKind::Worker,
            Caller::Anonymous { .. } => CallerKind::Anonymous,
        }
    }
}

/// Who a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    /// The main session, which holds the seat.
    Leader,
    /// A human on this machine, as themself.
    Operator,
    /// A process below a worker.
    Worker,
    /// Everybody else.
    Anonymous,
}

impl CallerKind {
    /// All kinds, in the order in which the rules table prints them.
    pub const ALL: [CallerKind; 4] =
        [CallerKind::Leader, CallerKind::Operator, CallerKind::Worker, CallerKind::Anonymous];

    /// Returns the word for this kind.
    pub fn word(self) -> &'static str {
        match self {
            CallerKind::Leader => "leader",
            CallerKind::Operator => "operator",
            CallerKind::Worker => "worker",
            CallerKind::Anonymous => "anonymous",
        }
    }
}

impl fmt::Display for CallerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Who sent a turn, and so whose mailbox its reply lies in. Text form: `leader`, `operator`, `run r3`, `fleetd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sender {
    /// The main session, whoever holds the seat.
    Leader,
    /// The operator.
    Operator,
    /// A run of a recipe.
    Run(RunId),
    /// fleetd itself, which asks a worker for a hand-over note; it has no mailbox.
    Fleetd,
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sender::Leader => f.write_str("leader"),
            Sender::Operator => f.write_str("operator"),
            Sender::Run(run) => write!(f, "run {run}"),
            Sender::Fleetd => f.write_str("fleetd"),
        }
    }
}

impl FromStr for Sender {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "leader" => Ok(Sender::Leader),
            "operator" => Ok(Sender::Operator),
            "fleetd" => Ok(Sender::Fleetd),
            other => match other.strip_prefix("run ") {
                Some(run) => Ok(Sender::Run(run.parse()?)),
                None => Err(format!("'{other}' is no sender; valid: leader, operator, run r3, fleetd")),
            },
        }
    }
}

impl Serialize for Sender {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sender {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Sender {
    fn schema_name() -> Cow<'static, str> {
        "Sender".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Who sent it: `leader`, `operator`, a run such as `run r3`, or `fleetd` itself.",
            "type": "string",
            "pattern": "^(leader|operator|fleetd|run r[0-9]{1,19})$",
            "examples": ["operator", "run r3"],
        })
    }
}
