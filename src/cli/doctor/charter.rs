//! The charter that `fleetd serve` would take here: whether it passes its check and its tests, whether the operator
//! allows what its profiles start, and whether those programs are on the PATH. The daemon's own code decides it all.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::look::count;
use super::ask;
use super::finding::{Check, Finding};
use crate::charter::testing::TestReport;
use crate::charter::{self, CharterError, Report, Sources};
use crate::config::{CharterSource, Config};
use crate::fleet::team::{Profile, Team};
use crate::launch::plan;
use crate::launch::policy::Policy;

/// How long check and tests may take: the tests alone have a limit of 5 s.
const LIMIT: Duration = Duration::from_secs(10);

/// What was found in a directory.
struct Facts {
    report: Report,
    /// What came of its tests; nothing where the check fails before.
    tests: Option<TestReport>,
    /// What the operator does not allow, by profile.
    refused: Vec<(String, String)>,
    /// Programs that are nowhere, with the profiles that start them.
    missing: BTreeMap<String, Vec<String>>,
}

/// Looks at the configured charter.
pub async fn look(config: &Config) -> Vec<Finding> {
    let dir = match &config.charter {
        CharterSource::Dir(dir) => dir.clone(),
        CharterSource::Embedded => {
            let what = "there is none here: the daemon takes the one in the program";
            return vec![Finding::note(Check::Charter, what).fix("fleetd init writes one to begin with")];
        }
    };
    let policy = Policy {
        executables: config.executables.clone(),
        endpoints: config.endpoints.clone(),
        allow_exposed: config.allow_exposed,
    };
    let asked = dir.clone();
    match ask::blocking(LIMIT, move || facts(&asked, &policy)).await {
        Some(facts) => judge(&facts, &dir),
        None => vec![Finding::late(Check::Charter, &format!("the check of {}", dir.display()))],
    }
}

fn facts(dir: &Path, policy: &Policy) -> Facts {
    let mut facts = Facts { report: charter::check(dir), tests: None, refused: Vec::new(), missing: BTreeMap::new() };
    if !facts.report.ok {
        return facts;
    }
    // It may change between these reads; what is told is then of the moment in which each was read.
    facts.tests = charter::test(dir).ok();
    let team: Option<Arc<Team>> = Sources::read(dir).and_then(charter::team_of).ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for profile in team.iter().flat_map(|team| team.profiles.values()) {
        if let Err(error) = plan::allowed(profile, policy) {
            facts.refused.push((profile.name.to_string(), error.to_string()));
        }
        if let Some(program) = program_of(profile).filter(|program| plan::find(OsStr::new(program), &path).is_none()) {
            facts.missing.entry(program.to_owned()).or_default().push(profile.name.to_string());
        }
    }
    facts
}

/// Returns the program of a profile, if it is a name that the PATH decides about.
fn program_of(profile: &Profile) -> Option<&str> {
    let planned = profile.plan.as_ref();
    let sets_path = profile.env.contains_key("PATH") || planned.is_some_and(|plan| plan.env.contains_key("PATH"));
    let program = planned.map_or(&profile.command, |plan| &plan.argv).first()?;
    (!sets_path && !program.contains(['/', '@'])).then_some(program)
}

fn judge(facts: &Facts, dir: &Path) -> Vec<Finding> {
    let (report, here) = (&facts.report, dir.display());
    if !report.ok {
        return report.errors.iter().map(|error| mistake(error, dir)).collect();
    }
    let tests = facts.tests.iter().flat_map(|tests| &tests.tests);
    let failed: Vec<_> = tests.filter(|test| !test.passed).collect();
    let mut findings = vec![match failed.first() {
        None => Finding::ok(
            Check::Charter,
            format!(
                "{here} passes its check and {}: {}, {}, {}",
                count(report.tests.len(), "test"),
                count(report.profiles.len(), "profile"),
                count(report.roles.len(), "role"),
                count(report.recipes.len(), "recipe")
            ),
        )
        .at(dir, None),
        Some(test) => Finding::problem(
            Check::Charter,
            format!("{} of {here} failed, the first is '{}'", count(failed.len(), "test"), test.name),
        )
        .fix(format!("see what happened in it: fleetd charter test {here}"))
        .at(&dir.join(&test.file), Some(test.line as usize)),
    }];
    findings.extend(facts.refused.iter().map(|(profile, why)| {
        let fix = "change the profile, or what fleetd.toml allows ([launch] executables, [endpoints.NAME])";
        Finding::problem(Check::Charter, why.clone()).about(profile).fix(fix)
    }));
    findings.extend(facts.missing.iter().map(|(program, profiles)| {
        let of = if profiles.len() == 1 { "profile" } else { "profiles" };
        let what = format!("{of} {}: there is no program '{program}' on the PATH", profiles.join(", "));
        Finding::warning(Check::Charter, what)
            .about(program)
            .fix(format!("install {program}, or take what starts it out of the charter"))
    }));
    findings
}

fn mistake(error: &CharterError, dir: &Path) -> Finding {
    let file = error.file.as_ref().map(|file| dir.join(file));
    let place = match (&file, error.line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        (Some(file), None) => format!("{}: ", file.display()),
        (None, _) => String::new(),
    };
    let fix = error.hint.clone().unwrap_or_else(|| format!("fleetd charter check {}", dir.display()));
    let finding = Finding::problem(Check::Charter, format!("{place}{}", error.message)).fix(fix);
    match file {
        Some(file) => finding.at(&file, error.line.map(|line| line as usize)),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn judged(lua: &str, executables: &[&str]) -> Vec<Finding> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("team.lua"), lua).expect("written");
        let executables = executables.iter().map(|name| (*name).to_owned()).collect();
        judge(&facts(dir.path(), &Policy { executables, ..Policy::default() }), dir.path())
    }

    fn profile(command: &str, more: &str) -> String {
        format!(
            "fleet.profile('p', {{ launcher = 'exec', command = {{ '{command}' }}{more} }})\nfleet.role('w', {{ profiles = {{ 'p' }} }})\n"
        )
    }

    #[test]
    fn a_good_charter_is_one_finding() {
        let told = judged(&profile("sh", ""), &[]);
        assert_eq!(told.iter().map(|finding| finding.level).collect::<Vec<_>>(), [Level::Ok]);
        assert!(told[0].what.ends_with("passes its check and 0 tests: 1 profile, 1 role, 0 recipes"), "{told:?}");
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_a_failed_test_with_its_name() {
        let told = judged("fleet.role('w', { profiles = { 'none' } })", &[]);
        assert_eq!((told[0].level, told[0].line), (Level::Problem, Some(1)));
        assert!(told[0].fix.is_some() && told[0].what.contains("team.lua:1: "), "{told:?}");
        let test = "fleet.test('it adds up', function(t) t.equal(1, 2) end)";
        let told = judged(&format!("{}{test}", profile("sh", "")), &[]);
        assert_eq!((told[0].level, told[0].line), (Level::Problem, Some(3)));
        assert!(told[0].what.contains("'it adds up'"), "{told:?}");
    }

    #[test]
    fn what_the_operator_does_not_allow_and_what_is_nowhere_are_told() {
        let told = judged(&profile("sh", ""), &["cat"]);
        assert_eq!((told[1].level, told[1].subject.as_deref()), (Level::Problem, Some("p")));
        let agent = "fleet.profile('p', { launcher = 'claude', model = 'm', endpoint = 'lokal' })";
        let told = judged(&format!("{agent}\nfleet.role('w', {{ profiles = {{ 'p' }} }})"), &[]);
        assert!(told[1].what.contains("no endpoint 'lokal' in fleetd.toml"), "{told:?}");
        let told = judged(&profile("no-such-program-at-all", ""), &[]);
        assert_eq!((told[1].level, told[1].subject.as_deref()), (Level::Warning, Some("no-such-program-at-all")));
        assert_eq!(judged(&profile("bin/no-such.sh", ""), &[]).len(), 1, "a path is the directory's matter");
    }
}
