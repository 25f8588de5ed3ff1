//! A charter without a daemon: checked, tested and asked by the same code that loads it live.
//! No engine and no journal come in here; a check that passes here and fails in the daemon would be a fault.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::error::{CharterError, CharterErrors};
use super::rubric;
use super::sources::{Sources, passed_over};
use super::testing::{self, TestReport, all_free};
use super::world::World;
use crate::fleet::plan::Plan;
use crate::fleet::refusal::Refusal;
use crate::fleet::team::{Generation, Routed, Task, Team};

/// What the check of a charter came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// True when it can be taken into force.
    pub ok: bool,
    /// The hash of its files; absent when they could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Its files.
    pub files: Vec<String>,
    /// Files that end in `.lua` and are none of it because of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
    /// The profiles that it declares.
    pub profiles: Vec<String>,
    /// The roles.
    pub roles: Vec<String>,
    /// The recipes.
    pub recipes: Vec<String>,
    /// The rubrics' reasons, in the order in which they are asked.
    pub rubrics: Vec<String>,
    /// The tests.
    pub tests: Vec<String>,
    /// Every mistake that was found.
    pub errors: Vec<CharterError>,
}

/// Checks the charter in a directory.
pub fn check(dir: &Path) -> Report {
    let sources = match Sources::read(dir) {
        Ok(sources) => Arc::new(sources),
        Err(CharterErrors(errors)) => return Report { errors, ..Report::default() },
    };
    let mut report = Report {
        hash: Some(sources.hash().to_owned()),
        files: sources.names(),
        passed_over: passed_over(dir),
        ..Report::default()
    };
    match World::load(sources, Generation::default(), Arc::default()) {
        Err(CharterErrors(errors)) => report.errors = errors,
        Ok(world) => {
            let team = &world.team;
            report.ok = true;
            report.profiles = team.profiles.keys().map(ToString::to_string).collect();
            report.roles = team.roles.keys().map(ToString::to_string).collect();
            report.recipes = team.recipes.keys().map(ToString::to_string).collect();
            report.rubrics = team.rubrics.clone();
            report.tests = world.registry.borrow().tests.iter().map(|test| test.name.clone()).collect();
        }
    }
    report
}

/// Runs the tests of the charter in a directory, under the same limit as before a swap.
pub fn test(dir: &Path) -> Result<TestReport, CharterErrors> {
    let world = World::load(Arc::new(Sources::read(dir)?), Generation::default(), Arc::default())?;
    Ok(testing::all(&world, Some(Instant::now() + testing::LONGEST)))
}

/// Asks the rubrics of the charter in a directory, as if every role were free.
pub fn route(dir: &Path, task: &Task) -> Result<Result<Routed, Refusal>, CharterErrors> {
    let world = World::load(Arc::new(Sources::read(dir)?), Generation::default(), Arc::default())?;
    Ok(rubric::ask(&world, task, &all_free(&world.team)).routed)
}

/// Returns the team that sources declare.
pub fn team_of(sources: Sources) -> Result<Arc<Team>, CharterErrors> {
    World::load(Arc::new(sources), Generation::default(), Arc::default()).map(|world| world.team)
}

/// Returns the launch plan of a profile, as a daemon would carry it out.
pub fn plan_of(sources: Sources, profile: &str) -> Result<Plan, CharterErrors> {
    let world = World::load(Arc::new(sources), Generation::default(), Arc::default())?;
    let found = world.team.profiles.get(&profile.into()).and_then(|profile| profile.plan.as_deref().cloned());
    found.ok_or_else(|| {
        let valid: Vec<&str> = world.team.profiles.keys().map(|name| name.as_str()).collect();
        CharterError::plain(format!("there is no profile '{profile}'; valid: {}", valid.join(", "))).into()
    })
}
