//! Charters: what a check and its tests came to, the one in force, and where the rubrics would send a task.
//! Every text in it comes from an author's files, so it is made harmless for the terminal before it is drawn.

use std::path::Path;

use serde::Deserialize;

use super::{Look, safe, wrap};
use crate::charter::testing::TestReport;
use crate::charter::{CharterError, Report};
use crate::engine::ports::{RubricStatus, RubricTimes};
use crate::fleet::difference::{Change, Difference};
use crate::fleet::routing::Verdict;
use crate::fleet::team::{Generation, Routed};

/// What `GET /v1/charter` tells, as far as people are shown it.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// The directory.
    pub dir: String,
    /// The generation in force.
    pub generation: Generation,
    /// Its files.
    pub files: Vec<String>,
    /// True when the files in force are not what lies in the directory.
    pub last_good: bool,
    /// Why the newest files were not taken.
    #[serde(default)]
    pub error: Option<String>,
    /// The rubrics, with what came of asking them.
    #[serde(default)]
    pub rubrics: Vec<RubricStatus>,
    /// How long they took.
    #[serde(default)]
    pub rubric_times: Option<RubricTimes>,
    /// What the generation in force changed.
    #[serde(default)]
    pub last_change: Vec<Change>,
    /// What the refused files would change.
    #[serde(default)]
    pub refused_change: Vec<Change>,
    /// How often a handler failed.
    #[serde(default)]
    pub handler_errors: u64,
    /// What the last of them said.
    #[serde(default)]
    pub handler_error: Option<String>,
    /// What the files that lie there would change, where that was asked for.
    #[serde(default)]
    pub difference: Option<Difference>,
}

/// Draws the state of the charter.
pub fn status(status: &Status, look: &Look) -> String {
    let hash: String = status.generation.hash.chars().take(12).collect();
    let head = match status.generation.number {
        0 => format!("no charter is in force; it is read from {}", status.dir),
        n => format!("generation {n} ({hash}) of {}", status.dir),
    };
    let mut out = vec![wrap(&safe(&head), look.width, "")];
    if status.last_good {
        out.push(wrap("what is in force is the last good copy, not what lies in the directory", look.width, "  "));
    }
    out.extend(status.files.iter().map(|file| format!("  {}", safe(file))));
    for rubric in &status.rubrics {
        let mut line = format!("{}: asked {}, decided {}", rubric.rubric, rubric.asked, rubric.decided);
        if rubric.failed > 0 {
            let error = rubric.error.as_deref().unwrap_or_default();
            line += &format!(", skipped {}: {}", rubric.failed, error.lines().next().unwrap_or_default());
        }
        out.push(wrap(&safe(&line), look.width, "  rubric "));
    }
    if let Some(RubricTimes { half_us, most_us, slowest_us, .. }) = status.rubric_times {
        let line = format!(
            "rubrics answer within {half_us} µs, 99 of 100 times within {most_us} µs; the slowest took {slowest_us} µs"
        );
        out.push(wrap(&line, look.width, "  "));
    }
    if !status.last_change.is_empty() {
        out.push("what it changed:".to_string());
        out.extend(changes(&status.last_change, look));
    }
    if let Some(error) = &status.error {
        out.push("the newest files were not taken:".to_string());
        out.extend(safe(error).lines().map(|line| format!("  {line}")));
    }
    if !status.refused_change.is_empty() {
        out.push("what they would change:".to_string());
        out.extend(changes(&status.refused_change, look));
    }
    if let Some(error) = &status.handler_error {
        out.push(format!("handlers failed {} times, the last one so:", status.handler_errors));
        out.extend(safe(error).lines().map(|line| format!("  {line}")));
    }
    out.join("\n")
}

/// Draws what files would change.
pub fn difference(difference: &Difference, look: &Look) -> String {
    let mut out = Vec::new();
    if let Some(error) = &difference.error {
        out.push("the files would be refused:".to_string());
        out.extend(safe(error).lines().map(|line| format!("  {line}")));
    }
    match (difference.changes.is_empty(), &difference.error) {
        (true, None) => out.push("nothing would change".to_string()),
        (true, Some(_)) => {}
        (false, None) => out.push("what would change:".to_string()),
        (false, Some(_)) => out.push("what differs:".to_string()),
    }
    out.extend(changes(&difference.changes, look));
    out.join("\n")
}

fn changes<'a>(changes: &'a [Change], look: &'a Look) -> impl Iterator<Item = String> + 'a {
    changes.iter().map(|change| wrap(&safe(&change.words), look.width, "  "))
}

/// Draws where a task would go, and what each rubric said.
pub fn routed(routed: &Routed, look: &Look) -> String {
    let head = format!("{} {}, because {}", look.arrow(), look.bold(&routed.to.to_string()), safe(&routed.because));
    let mut out = vec![wrap(&head, look.width, "")];
    for asked in &routed.asked {
        let sign = match asked.verdict {
            Verdict::Decided => "*",
            Verdict::Failed | Verdict::Stopped => "!",
            Verdict::Nothing => " ",
        };
        let mut lines = asked.said.lines();
        let head = format!("{} ({}): {}", asked.rubric, asked.at, lines.next().unwrap_or_default());
        out.push(wrap(&safe(&head), look.width, &format!(" {sign} ")));
        out.extend(lines.map(|line| format!("   {}", safe(line))));
    }
    out.push(look.dim(&format!("   asked by generation {}", routed.generation)));
    out.join("\n")
}

/// Draws what a check came to: what the charter declares, or every mistake with its place.
pub fn report(report: &Report, dir: &Path, look: &Look) -> String {
    if !report.ok {
        return report
            .errors
            .iter()
            .map(|error| safe(&mistake(error, dir)).into_owned())
            .collect::<Vec<_>>()
            .join("\n");
    }
    let hash: String = report.hash.iter().flat_map(|hash| hash.chars().take(12)).collect();
    let mut out =
        vec![format!("charter {} is {} ({hash})", dir.display(), look.state("ready").replace("ready", "good"))];
    let parts = [
        ("files", &report.files),
        ("profiles", &report.profiles),
        ("roles", &report.roles),
        ("recipes", &report.recipes),
        ("rubrics", &report.rubrics),
        ("tests", &report.tests),
    ];
    for (title, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
        out.push(wrap(&safe(&names.join(", ")), look.width, &format!("  {title:9} ")));
    }
    if !report.passed_over.is_empty() {
        let names = safe(&report.passed_over.join(", ")).into_owned();
        let why = "passed over, since names of files and directories are lower-case letters, digits, _ and -";
        out.push(wrap(&format!("{why}: {names}"), look.width, "  "));
    }
    if !report.tests.is_empty() {
        out.push(wrap("the tests were not run: fleetd charter test runs them", look.width, "  "));
    }
    out.join("\n")
}

/// Draws a mistake with a place that can be opened from where one stands.
pub fn mistake(error: &CharterError, dir: &Path) -> String {
    let mut error = error.clone();
    if let Some(file) = &mut error.file {
        *file = dir.join(&*file).display().to_string();
    }
    error.to_string()
}

/// Draws what the tests of a charter came to; of those that failed, also what happened in them.
pub fn tests(report: &TestReport, dir: &Path, look: &Look) -> String {
    if report.tests.is_empty() {
        return "no tests: a charter's tests are fleet.test blocks in its files".to_string();
    }
    let mut out = Vec::new();
    for test in &report.tests {
        let name = safe(&test.name);
        if test.passed {
            out.push(format!("{} {name}", look.state("done").replace("done", "ok  ")));
            continue;
        }
        let place = dir.join(&test.file);
        out.push(format!(
            "{} {name} ({}:{})",
            look.state("failed").replace("failed", "FAIL"),
            place.display(),
            test.line
        ));
        if let Some(error) = &test.error {
            out.extend(safe(&mistake(error, dir)).lines().map(|line| format!("     {line}")));
        }
        let lines = test.transcript.iter().flat_map(|line| line.lines());
        out.extend(lines.map(|line| look.dim(&format!("     {} {}", look.bar(), safe(line)))));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    #[test]
    fn a_refused_edit_is_shown_beside_what_is_in_force() {
        let shown: Status = serde_json::from_value(json!({
            "dir": "charters/default", "generation": {"number": 3, "hash": "0123456789abcdef"}, "files": ["routes.lua", "team.lua"],
            "last_good": true, "error": "team.lua:3: no 'recpie'; did you mean 'recipe'?\n  3 | fleet.recpie(\"x\")", "rejected": 1, "rubric_errors": 2,
            "rubrics": [{"rubric": "bulk", "asked": 5, "decided": 1, "failed": 2, "error": "routes.lua:6: oh"}, {"rubric": "otherwise", "asked": 4, "decided": 4, "failed": 0}]
        }))
        .expect("a status");
        insta::assert_snapshot!(status(&shown, &plain(80)), @r#"
        generation 3 (0123456789ab) of charters/default
          what is in force is the last good copy, not what lies in the directory
          routes.lua
          team.lua
          rubric bulk: asked 5, decided 1, skipped 2: routes.lua:6: oh
          rubric otherwise: asked 4, decided 4
        the newest files were not taken:
          team.lua:3: no 'recpie'; did you mean 'recipe'?
            3 | fleet.recpie("x")
        "#);
    }

    #[test]
    fn a_difference_is_told_in_words() {
        let shown: Difference = serde_json::from_value(json!({
            "from": {"number": 3, "hash": "01"}, "hash": "02",
            "changes": [{"of": "role", "how": "changed", "name": "w", "words": "role 'w': max_busy 6 → 3"}, {"of": "file", "how": "changed", "name": "team.lua", "words": "team.lua: line 2 differs"}]
        }))
        .expect("a difference");
        insta::assert_snapshot!(difference(&shown, &plain(80)), @"
        what would change:
          role 'w': max_busy 6 → 3
          team.lua: line 2 differs
        ");
        assert_eq!(difference(&Difference::default(), &plain(80)), "nothing would change");
        let broken = Difference { error: Some("team.lua:2: no".into()), ..shown };
        insta::assert_snapshot!(difference(&broken, &plain(80)), @"
        the files would be refused:
          team.lua:2: no
        what differs:
          role 'w': max_busy 6 → 3
          team.lua: line 2 differs
        ");
    }

    #[test]
    fn a_check_says_that_it_ran_no_tests() {
        let checked = Report { ok: true, tests: vec!["bulk goes local".into()], ..Report::default() };
        insta::assert_snapshot!(report(&checked, Path::new("charters/default"), &plain(80)), @"
        charter charters/default is good ()
          tests     bulk goes local
          the tests were not run: fleetd charter test runs them
        ");
    }

    #[test]
    fn a_check_names_the_files_that_it_passed_over() {
        let passed_over = vec!["Lib/words.lua".into(), "Team.lua".into()];
        let checked = Report { ok: true, files: vec!["team.lua".into()], passed_over, ..Report::default() };
        insta::assert_snapshot!(report(&checked, Path::new("charters/default"), &plain(80)), @"
        charter charters/default is good ()
          files     team.lua
          passed over, since names of files and directories are lower-case letters,
          digits, _ and -: Lib/words.lua, Team.lua
        ");
    }

    #[test]
    fn every_rubric_that_was_asked_is_shown() {
        let shown: Routed = serde_json::from_value(json!({
            "to": {"role": "w-local"}, "because": "bulk work and a local worker is free", "rubric": "bulk goes local", "generation": 3,
            "asked": [
                {"rubric": "urgent first", "at": "routes.lua:1", "verdict": "nothing", "said": "nothing"},
                {"rubric": "broken", "at": "routes.lua:5", "verdict": "failed", "said": "routes.lua:6: oh\n  6 | oh()"},
                {"rubric": "bulk goes local", "at": "routes.lua:9", "verdict": "decided", "said": "w-local: bulk work"}]
        }))
        .expect("a decision");
        insta::assert_snapshot!(routed(&shown, &plain(80)), @"
        → w-local, because bulk work and a local worker is free
           urgent first (routes.lua:1): nothing
         ! broken (routes.lua:5): routes.lua:6: oh
             6 | oh()
         * bulk goes local (routes.lua:9): w-local: bulk work
           asked by generation 3
        ");
    }
}
