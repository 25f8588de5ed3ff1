//! Who may do what, to what, through which door: one table, used by all of them.
//! Who a caller is was proved at the door. No state is looked at here: the same question gets the same answer.

use super::caller::{Caller, CallerKind};
use super::refusal::{Refusal, RefusalKind};

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Ask who one is.
    Whoami,
    /// Read health.
    Health,
    /// Read the metrics.
    Metrics,
    /// Send a message to a worker, a role or the rubrics.
    Send,
    /// Answer a question.
    Answer,
    /// Answer one's own turn.
    Reply,
    /// Ask inside one's own turn.
    Ask,
    /// Read one's own mailbox.
    Poll,
    /// Collect messages from one's own mailbox.
    Ack,
    /// Withdraw or interrupt a turn or a run.
    Cancel,
    /// Look at one worker, turn or run.
    Status,
    /// Look at the roster.
    List,
    /// Start a worker.
    Spawn,
    /// Stop a worker.
    Stop,
    /// Start a recipe.
    Run,
    /// List recipes.
    Recipes,
    /// Ask the rubrics, without effect.
    Route,
    /// Look at the charter.
    Charter,
    /// Load the charter anew.
    Reload,
    /// Look at who sits in the seat.
    Seat,
    /// Free the seat.
    Release,
    /// Hand out nothing from now on.
    Pause,
    /// Hand out again.
    Resume,
    /// Tell what the agent did: its own hooks.
    Hook,
}

/// The way in by which a request came. The command line comes by REST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Door {
    /// The Model Context Protocol, `/mcp`.
    Mcp,
    /// `/message` and `/v1`, and the command line.
    Rest,
    /// Agent hooks, `/hook`.
    Hook,
}

impl Door {
    /// All doors, in the order in which the rules table prints them.
    pub const ALL: [Door; 3] = [Door::Mcp, Door::Rest, Door::Hook];

    /// Returns the word for this door.
    pub fn word(self) -> &'static str {
        match self {
            Door::Mcp => "mcp",
            Door::Rest => "rest",
            Door::Hook => "hook",
        }
    }
}

/// Whose thing a request is about, where that makes a difference: a turn, a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The caller's own.
    Own,
    /// Somebody else's, or nobody's in particular.
    Other,
}

impl Target {
    /// Both, in the order in which the rules table prints them.
    pub const ALL: [Target; 2] = [Target::Own, Target::Other];

    /// Returns the word for this target.
    pub fn word(self) -> &'static str {
        match self {
            Target::Own => "own",
            Target::Other => "other",
        }
    }
}

/// What the table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Yes,
    /// It may once it sits in the seat, which it takes by asking while it is free.
    WithSeat,
    /// It may not.
    No,
}

impl Verdict {
    /// Returns the word for this verdict.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::WithSeat => "with the seat",
            Verdict::No => "no",
        }
    }
}

impl Verb {
    /// All verbs, in the order in which the rules table prints them.
    pub const ALL: [Verb; 24] = [
        Verb::Whoami,
        Verb::Health,
        Verb::Metrics,
        Verb::Send,
        Verb::Answer,
        Verb::Reply,
        Verb::Ask,
        Verb::Poll,
        Verb::Ack,
        Verb::Cancel,
        Verb::Status,
        Verb::List,
        Verb::Spawn,
        Verb::Stop,
        Verb::Run,
        Verb::Recipes,
        Verb::Route,
        Verb::Charter,
        Verb::Reload,
        Verb::Seat,
        Verb::Release,
        Verb::Pause,
        Verb::Resume,
        Verb::Hook,
    ];

    /// Returns the word for this verb.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Whoami => "whoami",
            Verb::Health => "health",
            Verb::Metrics => "metrics",
            Verb::Send => "send",
            Verb::Answer => "answer",
            Verb::Reply => "reply",
            Verb::Ask => "ask",
            Verb::Poll => "poll",
            Verb::Ack => "ack",
            Verb::Cancel => "cancel",
            Verb::Status => "status",
            Verb::List => "list",
            Verb::Spawn => "spawn",
            Verb::Stop => "stop",
            Verb::Run => "run",
            Verb::Recipes => "recipes",
            Verb::Route => "route",
            Verb::Charter => "charter",
            Verb::Reload => "reload",
            Verb::Seat => "seat",
            Verb::Release => "release",
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Hook => "hook",
        }
    }
}

/// Returns what the table says. This is the table: every door asks here, and `fleetd rules` prints it.
pub fn verdict(caller: CallerKind, verb: Verb, target: Target, door: Door) -> Verdict {
    use CallerKind::{Leader, Operator, Worker};
    match (door, verb, caller) {
        // An agent reports on itself, by a door of its own, and on nothing else.
        (Door::Hook, Verb::Hook, Worker) if target == Target::Own => Verdict::Yes,
        (Door::Hook, ..) | (_, Verb::Hook, _) => Verdict::No,
        (_, Verb::Whoami, _) | (Door::Rest, Verb::Health | Verb::Metrics, _) => Verdict::Yes,
        (Door::Mcp, Verb::Health | Verb::Metrics, _) => Verdict::No,
        // A worker speaks inside its own turn; that is all it does.
        (_, Verb::Reply | Verb::Ask, Worker) if target == Target::Own => Verdict::Yes,
        (_, Verb::Reply | Verb::Ask, _) => Verdict::No,
        // Nobody reads or empties another's mailbox.
        (_, Verb::Poll | Verb::Ack, Leader | Operator) if target == Target::Other => Verdict::No,
        // The seat, and a pause, are a person's matter to look after; the leader may see to both at the other door.
        (Door::Mcp, Verb::Seat | Verb::Release | Verb::Pause | Verb::Resume, _) => Verdict::No,
        (_, _, Leader) | (Door::Rest, _, Operator) => Verdict::Yes,
        // At the MCP door a session of our own user is a leader or nobody.
        (Door::Mcp, _, Operator) => Verdict::WithSeat,
        _ => Verdict::No,
    }
}

/// Returns whether this kind of caller may do this to anything of its own through this door.
pub fn allowed(caller: CallerKind, verb: Verb, door: Door) -> Verdict {
    verdict(caller, verb, Target::Own, door)
}

/// Refuses what the caller may not do through any door, naming what it may. The doors ask for themselves first: what
/// comes this far as the leader or the operator is one.
pub fn check(caller: &Caller, verb: Verb) -> Result<(), Refusal> {
    let kind = caller.kind();
    let any = |verb| [Door::Mcp, Door::Rest].into_iter().any(|door| allowed(kind, verb, door) == Verdict::Yes);
    if any(verb) { Ok(()) } else { Err(may_not(caller, verb, Verb::ALL.into_iter().filter(|verb| any(*verb)))) }
}

/// Refuses what the caller may not do through this door, naming what it may.
pub fn check_at(caller: &Caller, verb: Verb, door: Door) -> Result<Verdict, Refusal> {
    check_with(caller, verb, door, |_| true)
}

/// As [`check_at`], for a caller that has only some verbs: others are not named to it.
pub fn check_with(caller: &Caller, verb: Verb, door: Door, has: impl Fn(Verb) -> bool) -> Result<Verdict, Refusal> {
    match allowed(caller.kind(), verb, door) {
        Verdict::No => Err(may_not(caller, verb, menu(caller.kind(), door).filter(|verb| has(*verb)))),
        verdict => Ok(verdict),
    }
}

/// Returns what a kind of caller may do through a door, with or without taking the seat for it.
pub fn menu(caller: CallerKind, door: Door) -> impl Iterator<Item = Verb> {
    Verb::ALL.into_iter().filter(move |verb| allowed(caller, *verb, door) != Verdict::No)
}

fn may_not(caller: &Caller, verb: Verb, may: impl Iterator<Item = Verb>) -> Refusal {
    let who = match caller {
        Caller::Worker { name, .. } => format!("worker {name}"),
        Caller::Anonymous { why } => format!("an unrecognised caller ({why})"),
        Caller::Leader | Caller::Operator => caller.kind().to_string(),
    };
    let may: Vec<&str> = may.map(Verb::word).collect();
    Refusal::new(RefusalKind::NotAllowed, format!("{who} may not {}", verb.word())).hint(match may.is_empty() {
        true => "nothing at this door is for you".to_owned(),
        false => format!("you may: {}", may.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_reads_as_it_was_decided() {
        let row = |caller: CallerKind, door, target, wanted| {
            let may = Verb::ALL.into_iter().filter(|verb| verdict(caller, *verb, target, door) == wanted);
            may.map(Verb::word).collect::<Vec<_>>().join(" ")
        };
        let all = "send answer poll ack cancel status list spawn stop run recipes route charter reload";
        let but_mail = all.replace("poll ack ", "");
        let (yes, seat) = (Verdict::Yes, Verdict::WithSeat);
        for (caller, door, target, wanted, said) in [
            (CallerKind::Leader, Door::Mcp, Target::Own, yes, format!("whoami {all}")),
            (CallerKind::Leader, Door::Mcp, Target::Other, yes, format!("whoami {but_mail}")),
            (
                CallerKind::Leader,
                Door::Rest,
                Target::Own,
                yes,
                format!("whoami health metrics {all} seat release pause resume"),
            ),
            (
                CallerKind::Leader,
                Door::Rest,
                Target::Other,
                yes,
                format!("whoami health metrics {but_mail} seat release pause resume"),
            ),
            (CallerKind::Operator, Door::Mcp, Target::Own, yes, "whoami".into()),
            (CallerKind::Operator, Door::Mcp, Target::Own, seat, all.into()),
            (CallerKind::Operator, Door::Mcp, Target::Other, seat, but_mail.clone()),
            (
                CallerKind::Operator,
                Door::Rest,
                Target::Own,
                yes,
                format!("whoami health metrics {all} seat release pause resume"),
            ),
            (
                CallerKind::Operator,
                Door::Rest,
                Target::Other,
                yes,
                format!("whoami health metrics {but_mail} seat release pause resume"),
            ),
            (CallerKind::Worker, Door::Mcp, Target::Own, yes, "whoami reply ask".into()),
            (CallerKind::Worker, Door::Mcp, Target::Other, yes, "whoami".into()),
            (CallerKind::Worker, Door::Rest, Target::Own, yes, "whoami health metrics reply ask".into()),
            (CallerKind::Worker, Door::Rest, Target::Other, yes, "whoami health metrics".into()),
            (CallerKind::Worker, Door::Hook, Target::Own, yes, "hook".into()),
            (CallerKind::Worker, Door::Hook, Target::Other, yes, String::new()),
            (CallerKind::Anonymous, Door::Mcp, Target::Own, yes, "whoami".into()),
            (CallerKind::Anonymous, Door::Rest, Target::Own, yes, "whoami health metrics".into()),
            (CallerKind::Leader, Door::Hook, Target::Own, yes, String::new()),
            (CallerKind::Operator, Door::Hook, Target::Own, yes, String::new()),
            (CallerKind::Anonymous, Door::Hook, Target::Own, yes, String::new()),
        ] {
            assert_eq!(row(caller, door, target, wanted), said, "{caller} {door:?} {target:?}");
        }
        let with_seat = CallerKind::ALL.into_iter().filter(|caller| *caller != CallerKind::Operator);
        for (caller, door) in with_seat.flat_map(|caller| Door::ALL.map(|door| (caller, door))) {
            assert_eq!(row(caller, door, Target::Own, seat), "", "only the operator can take the seat");
        }
    }

    #[test]
    fn a_refusal_names_the_caller_and_what_it_may() {
        let worker = Caller::Worker { name: "w-local-2".into(), via_child: true };
        let refusal = check(&worker, Verb::Spawn).expect_err("workers spawn nothing");
        assert_eq!(refusal.to_string(), "worker w-local-2 may not spawn; you may: whoami, health, metrics, reply, ask");
        let refusal = check_at(&Caller::Leader, Verb::Hook, Door::Hook).expect_err("hooks are workers'");
        assert_eq!(refusal.to_string(), "leader may not hook; nothing at this door is for you");
    }
}
