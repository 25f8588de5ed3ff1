//! Who may do what: one table, used by every door.
//! Who a caller is was proved at the door. No state is looked at here: the same caller and verb get the same answer.

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
}

impl Verb {
    /// All verbs, in the order in which the rules table prints them.
    pub const ALL: [Verb; 19] = [
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
        }
    }
}

/// Returns whether this kind of caller may do this at all.
pub fn allowed(caller: CallerKind, verb: Verb) -> bool {
    match (caller, verb) {
        (_, Verb::Whoami | Verb::Health | Verb::Metrics) => true,
        (CallerKind::Leader | CallerKind::Operator, Verb::Reply | Verb::Ask) => false,
        (CallerKind::Leader | CallerKind::Operator, _) => true,
        (CallerKind::Worker, Verb::Reply | Verb::Ask) => true,
        (CallerKind::Worker | CallerKind::Anonymous, _) => false,
    }
}

/// Refuses what the caller may not do, naming what it may.
pub fn check(caller: &Caller, verb: Verb) -> Result<(), Refusal> {
    let kind = caller.kind();
    if allowed(kind, verb) {
        return Ok(());
    }
    let who = match caller {
        Caller::Worker { name, .. } => format!("worker {name}"),
        Caller::Anonymous { why } => format!("an unrecognised caller ({why})"),
        Caller::Leader | Caller::Operator => kind.to_string(),
    };
    let may: Vec<&str> = Verb::ALL.into_iter().filter(|v| allowed(kind, *v)).map(Verb::word).collect();
    Err(Refusal::new(RefusalKind::NotAllowed, format!("{who} may not {}", verb.word()))
        .hint(format!("you may: {}", may.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_reads_as_it_was_decided() {
        let table: Vec<String> = CallerKind::ALL
            .into_iter()
            .map(|caller| {
                let may: Vec<_> = Verb::ALL.into_iter().filter(|v| allowed(caller, *v)).map(Verb::word).collect();
                format!("{caller}: {}", may.join(" "))
            })
            .collect();
        let all_but_inside_a_turn =
            "whoami health metrics send answer poll ack cancel status list spawn stop run recipes route charter reload";
        assert_eq!(
            table,
            [
                format!("leader: {all_but_inside_a_turn}"),
                format!("operator: {all_but_inside_a_turn}"),
                "worker: whoami health metrics reply ask".to_string(),
                "anonymous: whoami health metrics".to_string(),
            ]
        );
    }

    #[test]
    fn a_refusal_names_the_caller_and_what_it_may() {
        let worker = Caller::Worker { name: "w-local-2".into(), via_child: true };
        let refusal = check(&worker, Verb::Spawn).expect_err("workers spawn nothing");
        assert_eq!(refusal.to_string(), "worker w-local-2 may not spawn; you may: whoami, health, metrics, reply, ask");
    }
}
