//! `fleetd charter watch`: checks a charter and runs its tests at each save, until it is ended. It needs no daemon, and a
//! daemon that reads the same files is not touched.

use std::path::Path;

use serde::Serialize;

use super::super::exit::{Exit, Failure};
use super::super::look::charter as look;
use super::super::terminal::Terminal;
use crate::charter::testing::TestReport;
use crate::charter::{self, CharterErrors, Report, Saves};

/// What one look came to.
#[derive(Serialize)]
struct Round {
    check: Report,
    /// Absent when the check failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestReport>,
}

/// Looks at a charter now and after each save. Ends only when nobody reads any more, or by a signal.
pub fn run(terminal: &Terminal, dir: &Path) -> Result<Exit, Failure> {
    let mut saves = Saves::of(dir);
    loop {
        saves.next();
        let mut check = charter::check(dir);
        let tests = match check.ok.then(|| charter::test(dir)).transpose() {
            Ok(tests) => tests,
            // It was saved once more in between; the next round is about that.
            Err(CharterErrors(errors)) => {
                check = Report { ok: false, errors, ..check };
                None
            }
        };
        match terminal.json {
            true => terminal.print_json(&Round { check, tests })?,
            false => terminal.print(&shown(terminal, &check, tests.as_ref(), dir))?,
        }
    }
}

fn shown(terminal: &Terminal, check: &Report, tests: Option<&TestReport>, dir: &Path) -> String {
    let look = &terminal.out;
    let Some(tests) = tests else {
        return format!(
            "{}\n{} mistake(s); waiting for the next save\n",
            look::report(check, dir, look),
            check.errors.len()
        );
    };
    let failed = tests.tests.iter().filter(|test| !test.passed).count();
    let passed = tests.tests.len() - failed;
    format!("{}\n{passed} passed, {failed} failed; waiting for the next save\n", look::tests(tests, dir, look))
}
