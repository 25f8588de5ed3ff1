//! The charters that a simulated fleet lives under.
//! Teams as data: no Lua runs in the simulation, and what a charter's files can get wrong is not played here.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleetd::fleet::Limits;
use fleetd::fleet::bounds::RunBudget;
use fleetd::fleet::events::FleetEvent;
use fleetd::fleet::life::{ContextCap, Restarts};
use fleetd::fleet::team::{Generation, Profile, RecipeSpec, Role, Team};
use fleetd::fleet::time::Span;
use serde_json::Value;

use super::schedule::CharterPlan;

/// The endpoint of the first profile of each role.
pub const ENDPOINT: &str = "llm";

/// Returns the limits of every simulated fleet: small, so that each is reached.
pub fn limits() -> Limits {
    Limits {
        max_workers: 5,
        max_prompt_bytes: 200,
        max_runs: 3,
        max_steps: 40,
        commands: vec!["cat".into()],
        key_ttl: Span::days(7),
        evidence: Span::seconds(5),
        grace: Span::seconds(10),
        idle_ttl: Span::minutes(2),
        seat_ttl: Span::minutes(1),
        start_stagger: Span(300),
        memory_floor: 512 << 20,
        endpoints: BTreeMap::from([(ENDPOINT.into(), Some(2))]),
    }
}

/// Returns the charter of a plan under a number.
pub fn team(plan: CharterPlan, number: u64) -> Arc<Team> {
    let mut team = Team {
        generation: Generation { number, hash: format!("{number:064x}") },
        profiles: BTreeMap::new(),
        roles: BTreeMap::new(),
        recipes: BTreeMap::new(),
        shapes: Default::default(),
        rubrics: Vec::new(),
        handlers: FleetEvent::WORDS.iter().map(|word| (*word).to_string()).collect(),
    };
    for (role, busy, session) in [("w", plan.w_busy, false), ("s", plan.s_busy, true)] {
        if busy == 0 {
            continue;
        }
        let mut names = vec![format!("{role}.one")];
        if !plan.narrow {
            names.push(format!("{role}.two"));
        }
        if plan.swapped {
            names.reverse();
        }
        for name in &names {
            let profile = profile(name, session != plan.flipped, plan.changed, role == "s");
            team.profiles.insert(profile.name.clone(), profile);
        }
        let role = Role {
            name: role.into(),
            about: None,
            profiles: names.iter().map(|name| name.as_str().into()).collect(),
            max_busy: u32::from(busy),
            max_workers: None,
            max_waiting: 4,
            hours: None,
        };
        team.roles.insert(role.name.clone(), role);
    }
    let recipe = RecipeSpec {
        name: "program".into(),
        about: None,
        input: Value::Null,
        deadline: plan.changed.then_some(Span::minutes(10)),
        budget: plan.changed.then_some(RunBudget { turns: Some(3), ..RunBudget::default() }),
        at: "recipes/program.lua:1".into(),
    };
    team.recipes.insert(recipe.name.clone(), recipe);
    Arc::new(team)
}

fn profile(name: &str, session: bool, changed: bool, capped: bool) -> Profile {
    Profile {
        name: name.into(),
        about: None,
        launcher: if session { "typed" } else { "exec" }.into(),
        command: vec!["cat".into()],
        cwd: None,
        env: BTreeMap::new(),
        timeout: changed.then_some(Span::seconds(40)),
        idle_ttl: changed.then_some(Span::seconds(30)),
        context_cap: (capped && changed).then_some(ContextCap { turns: Some(2), tokens: None }),
        restarts: changed.then_some(Restarts { failures: 2, within: Span::minutes(5) }),
        grants: Default::default(),
        typing: None,
        model: None,
        endpoint: name.ends_with(".one").then(|| ENDPOINT.into()),
        plan: None,
        worktree: None,
    }
}
