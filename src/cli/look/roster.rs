//! Roles and workers as tables, and the state of the whole daemon above them.
//! The counts come ready from the daemon and are never added up here from the rows of workers.

use std::collections::BTreeMap;

use super::table::{Column, draw as table};
use super::{Look, count, safe, wrap};
use crate::fleet::load::EndpointLoad;
use crate::fleet::time::Span;
use crate::fleet::view::{OpenTurn, RoleView, Roster, WorkerView};

const ROLES: &[Column] = &[
    Column::new("ROLE", 9),
    Column::new("BUSY", 8).right(),
    Column::new("WAITING", 7).right(),
    Column::new("WORKERS", 3).right(),
    Column::new("FAILED", 4).right(),
    Column::new("PROFILES", 2).bends(),
    Column::new("ABOUT", 1).bends(),
];

/// What was used is that of the last hour.
const ENDPOINTS: &[Column] = &[
    Column::new("ENDPOINT", 9),
    Column::new("BUSY", 8).right(),
    Column::new("FAILED", 6).right(),
    Column::new("TURNS/H", 5).right(),
    Column::new("TOKENS IN", 4).right(),
    Column::new("OUT", 3).right(),
    Column::new("COST", 4).right(),
];

const WORKERS: &[Column] = &[
    Column::new("WORKER", 9),
    Column::new("STATE", 8),
    Column::new("FOR", 5).right(),
    Column::new("TURN", 6),
    Column::new("TURNS", 2).right(),
    Column::new("PROFILE", 4),
    Column::new("LAUNCHER", 3),
    Column::new("PID", 1).right(),
    Column::new("WHY", 7).bends(),
];

const TURNS: &[Column] = &[
    Column::new("TURN", 9),
    Column::new("STATE", 8),
    Column::new("FOR", 6).right(),
    Column::new("TO", 7),
    Column::new("FROM", 4),
    Column::new("AHEAD", 3).right(),
    Column::new("WORKER, OR WHY IT WAITS", 5).bends(),
];

/// How many open turns are drawn.
const MOST_TURNS: usize = 20;

/// Draws everybody.
pub fn draw(roster: &Roster, look: &Look) -> String {
    let mut parts = Vec::new();
    match roster.roles.is_empty() {
        true => parts.push("no roles: the charter in force declares none".to_string()),
        false => parts.push(roles(&roster.roles, look)),
    }
    let trouble = roster.roles.iter().filter_map(|role| role.trouble.as_ref()?.holds.as_deref());
    let closed = roster.roles.iter().filter_map(|role| role.closed.as_deref());
    parts.extend(closed.chain(trouble).map(|why| wrap(&safe(why), look.width, "  ")));
    if !roster.endpoints.is_empty() {
        parts.push(endpoints(&roster.endpoints, look));
    }
    match roster.workers.is_empty() {
        true => parts.push(wrap("no workers live now; they start when work comes, or are spawned", look.width, "")),
        false => parts.push(workers(&roster.workers, look)),
    }
    parts.join("\n\n")
}

/// Draws what is open and what waits, in one line.
pub fn summary(roster: &Roster, look: &Look) -> String {
    let generation = match roster.generation {
        0 => "no charter".to_string(),
        n => format!("charter generation {n}"),
    };
    let mut parts = vec![generation, count(roster.open_turns, "open turn"), count(roster.open_runs, "open run")];
    parts.extend(roster.mail.iter().filter(|(_, n)| **n > 0).map(|(who, n)| format!("{n} waiting for the {who}")));
    wrap(&parts.join(look.dot()), look.width, "")
}

/// Draws the open turns, if there are any.
pub fn turns(roster: &Roster, look: &Look) -> Option<String> {
    let shown: Vec<&OpenTurn> = roster.turns.iter().take(MOST_TURNS).collect();
    if shown.is_empty() {
        return None;
    }
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|turn| {
            let worker = turn.worker.as_ref().map(|worker| worker.to_string());
            let because = match (worker, &turn.waits) {
                (Some(worker), Some(waits)) => format!("{worker}: {waits}"),
                (worker, waits) => worker.or_else(|| waits.clone()).unwrap_or_default(),
            };
            vec![
                turn.turn.to_string(),
                look.state(turn.state.word()),
                Span(turn.age_ms).to_string(),
                safe(&turn.to).into_owned(),
                safe(&turn.from).into_owned(),
                turn.ahead.map(|ahead| ahead.to_string()).unwrap_or_default(),
                safe(&because).lines().next().unwrap_or_default().to_string(),
            ]
        })
        .collect();
    let mut out = table(look, TURNS, &rows);
    let left = roster.open_turns.saturating_sub(shown.len());
    if left > 0 {
        out = format!("{out}\n{}", look.dim(&format!("and {left} more")));
    }
    Some(out)
}

/// Draws one worker in a line.
pub fn worker_line(worker: &WorkerView, look: &Look) -> String {
    let mut parts =
        vec![look.bold(worker.name.as_str()), look.state(&worker.state), format!("profile {}", worker.profile)];
    parts.extend(worker.turn.map(|turn| format!("has {turn}")));
    parts.extend(worker.why.as_ref().map(|why| safe(why).into_owned()));
    parts.join(look.dot())
}

fn roles(roles: &[RoleView], look: &Look) -> String {
    let rows: Vec<Vec<String>> = roles
        .iter()
        .map(|role| {
            let load = &role.load;
            let profiles: Vec<&str> = role.profiles.iter().map(|name| name.as_str()).collect();
            vec![
                safe(role.name.as_str()).into_owned(),
                format!("{}/{}", load.busy, load.max_busy),
                format!("{}/{}", load.waiting, load.max_waiting),
                load.workers.to_string(),
                if load.recent_failures == 0 { String::new() } else { load.recent_failures.to_string() },
                profiles.join(", "),
                safe(role.about.as_deref().unwrap_or_default()).lines().next().unwrap_or_default().to_string(),
            ]
        })
        .collect();
    table(look, ROLES, &rows)
}

fn endpoints(endpoints: &BTreeMap<String, EndpointLoad>, look: &Look) -> String {
    let some = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    let row = |(name, load): (&String, &EndpointLoad)| {
        let busy = load.max_busy.map_or(load.busy.to_string(), |most| format!("{}/{most}", load.busy));
        let used = &load.used;
        let cost = if used.cost > 0.0 { format!("${:.2}", used.cost) } else { String::new() };
        let failed = some(u64::from(load.recent_failures));
        vec![safe(name).into_owned(), busy, failed, some(used.turns), some(used.input), some(used.output), cost]
    };
    table(look, ENDPOINTS, &endpoints.iter().map(row).collect::<Vec<_>>())
}

fn workers(workers: &[WorkerView], look: &Look) -> String {
    let rows: Vec<Vec<String>> = workers
        .iter()
        .map(|worker| {
            vec![
                safe(worker.name.as_str()).into_owned(),
                look.state(&worker.state),
                Span(worker.age_ms).to_string(),
                worker.turn.map(|turn| turn.to_string()).unwrap_or_default(),
                worker.turns.to_string(),
                worker.profile.to_string(),
                worker.launcher.clone(),
                worker.process.map(|process| process.pid.to_string()).unwrap_or_default(),
                safe(worker.why.as_deref().unwrap_or_default()).lines().next().unwrap_or_default().to_string(),
            ]
        })
        .collect();
    table(look, WORKERS, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    fn roster() -> Roster {
        let load = |busy: u32, failures: u32| json!({"max_busy": 6, "busy": busy, "free": 6 - busy, "waiting": 12, "max_waiting": 200, "workers": busy, "recent_failures": failures});
        let role = |name: &str, about: &str, load: serde_json::Value| {
            let mut role = json!({"name": name, "about": about, "profiles": ["qwen", "sonnet"]});
            role.as_object_mut().expect("an object").extend(load.as_object().expect("an object").clone());
            role
        };
        serde_json::from_value(json!({
            "generation": 3,
            "roles": [role("w-claude", "judges what others found", load(0, 0)), role("w-local", "bulk work on this machine, many small parts at once", load(1, 2))],
            "workers": [
                {"name": "w-local-1", "role": "w-local", "profile": "qwen", "launcher": "exec", "state": "busy", "turn": "t17", "elastic": true, "turns": 41, "process": {"pid": 4711, "start": 99}, "age_ms": 61_000},
                {"name": "w-local-2", "role": "w-local", "profile": "qwen", "launcher": "exec", "state": "failed", "why": "the program does not exist", "elastic": false, "turns": 0, "age_ms": 250}
            ],
            "open_turns": 1, "open_runs": 2, "mail": {"operator": 4}
        }))
        .expect("a roster")
    }

    #[test]
    fn a_wide_terminal_shows_all_columns() {
        insta::assert_snapshot!(draw(&roster(), &plain(120)), @"
        ROLE      BUSY  WAITING  WORKERS  FAILED  PROFILES      ABOUT
        w-claude   0/6   12/200        0          qwen, sonnet  judges what others found
        w-local    1/6   12/200        1       2  qwen, sonnet  bulk work on this machine, many small parts at once

        WORKER     STATE     FOR  TURN  TURNS  PROFILE  LAUNCHER   PID  WHY
        w-local-1  busy    1m01s  t17      41  qwen     exec      4711
        w-local-2  failed  250ms            0  qwen     exec            the program does not exist
        ");
    }

    #[test]
    fn eighty_columns_lose_what_matters_least() {
        insta::assert_snapshot!(draw(&roster(), &plain(80)), @"
        ROLE      BUSY  WAITING  WORKERS  FAILED  PROFILES      ABOUT
        w-claude   0/6   12/200        0          qwen, sonnet  judges what others found
        w-local    1/6   12/200        1       2  qwen, sonnet  bulk work on this machi…

        WORKER     STATE     FOR  TURN  TURNS  PROFILE  LAUNCHER   PID  WHY
        w-local-1  busy    1m01s  t17      41  qwen     exec      4711
        w-local-2  failed  250ms            0  qwen     exec            the program doe…
        ");
    }

    #[test]
    fn forty_columns_still_tell_who_does_what() {
        insta::assert_snapshot!(draw(&roster(), &plain(40)), @"
        ROLE      BUSY  WAITING  WORKERS  FAILED
        w-claude   0/6   12/200        0
        w-local    1/6   12/200        1       2

        WORKER     STATE   TURN  WHY
        w-local-1  busy    t17
        w-local-2  failed        the program do…
        ");
    }

    #[test]
    fn a_role_that_starts_no_session_says_why_below_the_table() {
        let mut roster = Roster { workers: Vec::new(), ..roster() };
        let trouble = json!({"failures": 5, "worker": "w-local-5", "why": "no such program", "at": 9, "holds": "stopped: 'w-local' starts no session by itself, since 5 failed within 10m00s"});
        roster.roles[1].trouble = Some(serde_json::from_value(trouble).expect("trouble"));
        roster.roles.remove(0);
        let drawn = draw(&roster, &plain(60));
        let below = "\n\n  stopped: 'w-local' starts no session by itself, since 5\n  failed within 10m00s\n\n";
        assert!(drawn.contains(below), "{drawn}");
    }

    #[test]
    fn endpoints_and_closed_roles_stand_below_the_roles() {
        let mut roster = Roster { workers: Vec::new(), ..roster() };
        roster.roles.remove(0);
        roster.roles[0].closed = Some("closed: 'w-local' is handed nothing until 22:00 (in 3h12m)".into());
        let used = json!({"turns": 12, "input": 90_000, "output": 700, "cost": 0.456});
        let endpoints = json!({"bare": {"busy": 0, "recent_failures": 0}, "llm": {"max_busy": 4, "busy": 4, "free": 0, "recent_failures": 2, "used": used}});
        roster.endpoints = serde_json::from_value(endpoints).expect("endpoints");
        insta::assert_snapshot!(draw(&roster, &plain(80)), @"
        ROLE     BUSY  WAITING  WORKERS  FAILED  PROFILES      ABOUT
        w-local   1/6   12/200        1       2  qwen, sonnet  bulk work on this machin…

          closed: 'w-local' is handed nothing until 22:00 (in 3h12m)

        ENDPOINT  BUSY  FAILED  TURNS/H  TOKENS IN  OUT   COST
        bare         0
        llm        4/4       2       12      90000  700  $0.46

        no workers live now; they start when work comes, or are spawned
        ");
    }

    #[test]
    fn no_line_is_wider_than_its_terminal() {
        for width in 36..160 {
            let text = draw(&roster(), &plain(width));
            let widest = text.lines().map(console::measure_text_width).max().expect("lines");
            assert!(widest <= width, "{widest} columns on {width}:\n{text}");
        }
    }

    #[test]
    fn the_summary_counts() {
        insta::assert_snapshot!(summary(&roster(), &plain(120)), @"charter generation 3 · 1 open turn · 2 open runs · 4 waiting for the operator");
    }

    #[test]
    fn open_turns_say_who_has_them_or_why_they_wait() {
        let rows = json!([
            {"turn": "t17", "state": "working", "to": "w-local", "from": "leader", "worker": "w-local-1", "age_ms": 61_000},
            {"turn": "t18", "state": "queued", "to": "w-local", "from": "run r3", "waits": "cap: 6 of 6 workers of 'w-local' are busy", "ahead": 2, "age_ms": 250}
        ]);
        let open = Roster { turns: serde_json::from_value(rows).expect("turns"), open_turns: 9, ..roster() };
        insta::assert_snapshot!(turns_of(&open, 100), @"
        TURN  STATE      FOR  TO       FROM    AHEAD  WORKER, OR WHY IT WAITS
        t17   working  1m01s  w-local  leader         w-local-1
        t18   queued   250ms  w-local  run r3      2  cap: 6 of 6 workers of 'w-local' are busy
        and 7 more
        ");
        let widest = turns_of(&open, 60).lines().map(console::measure_text_width).max();
        assert!(widest <= Some(60), "{widest:?}");
        assert_eq!(turns(&Roster::default(), &plain(80)), None);
    }

    fn turns_of(roster: &Roster, width: usize) -> String {
        turns(roster, &plain(width)).expect("open turns")
    }

    #[test]
    fn an_empty_fleet_says_so() {
        insta::assert_snapshot!(draw(&Roster::default(), &plain(80)), @"
        no roles: the charter in force declares none

        no workers live now; they start when work comes, or are spawned
        ");
    }
}
