//! Who a caller is, as every door tells it.
//! It is told to anybody who asks, so nothing stands here that would help to be somebody else.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::handle::Handle;
use crate::engine::requests::SeatView;
use crate::fleet::caller::{Caller, CallerKind};
use crate::fleet::ids::{ProfileName, RoleName, TurnId, WorkerName};
use crate::fleet::rules::{self, Door, Verb, Verdict};

/// Who the caller is, as its connection shows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Whoami {
    /// What it was recognised as. An operator at the MCP door becomes the leader by its first call that needs the seat.
    pub caller: CallerKind,
    /// What to know about that, in a sentence.
    pub says: String,
    /// The worker's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkerName>,
    /// The worker's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// The worker's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// The turn that the worker has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// True for a process that the worker's agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_child: Option<bool>,
    /// Why the caller was not recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the caller may do through this door.
    pub may: Vec<&'static str>,
    /// Who sits in the leader's seat; not told to workers and strangers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatView>,
    /// The charter generation in force; 0 = none.
    pub generation: u64,
}

impl Whoami {
    /// Returns who a caller is at a door.
    pub fn of(caller: &Caller, door: Door, engine: &Handle) -> Whoami {
        let fleet = engine.fleet();
        let kind = caller.kind();
        let (name, via_child, why) = match caller {
            Caller::Worker { name, via_child } => (Some(name.clone()), Some(*via_child), None),
            Caller::Anonymous { why } => (None, None, Some(why.clone())),
            Caller::Leader | Caller::Operator => (None, None, None),
        };
        let seat = engine.view_seat();
        let worker = name.as_ref().and_then(|name| fleet.worker(name));
        let allowed = |verb: &Verb| match rules::allowed(kind, *verb, door) {
            Verdict::Yes => fleet.is_granted(caller, *verb),
            Verdict::WithSeat => !seat.taken,
            Verdict::No => false,
        };
        Whoami {
            caller: kind,
            says: says(caller, door, &seat, |verb| fleet.is_granted(caller, verb)),
            role: worker.map(|worker| worker.role.clone()),
            profile: worker.map(|worker| worker.profile.name.clone()),
            turn: worker.and_then(|worker| worker.turn),
            name,
            via_child,
            why,
            may: Verb::ALL.into_iter().filter(allowed).map(Verb::word).collect(),
            seat: matches!(caller, Caller::Leader | Caller::Operator).then_some(seat),
            generation: fleet.team().map_or(0, |team| team.generation.number),
        }
    }
}

fn says(caller: &Caller, door: Door, seat: &SeatView, has: impl Fn(Verb) -> bool) -> String {
    match (caller, door, &seat.by) {
        (Caller::Leader, ..) => "you are the leader: you sit in the seat".into(),
        (Caller::Operator, Door::Mcp, Some(by)) => {
            format!(
                "another session is the leader ({by}); you may look at nothing until it ends or a person frees the seat: fleetd seat release"
            )
        }
        (Caller::Operator, Door::Mcp, None) => {
            "the seat is free: your first call of a leader's tool makes you the leader".into()
        }
        (Caller::Operator, ..) => "you are the operator: this machine's user, in no worker's tree".into(),
        (Caller::Worker { name, .. }, ..) => {
            let may = match (has(Verb::Reply), has(Verb::Ask)) {
                (true, true) => "you may reply and ask in its turn",
                (true, false) => "you may reply to its turn",
                (false, true) => "you may ask in its turn",
                (false, false) => "what it prints is all that it may say",
            };
            format!("you are inside worker {name}: {may}")
        }
        (Caller::Anonymous { why }, ..) => format!("you were not recognised: {why}"),
    }
}
