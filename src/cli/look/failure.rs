//! How a failure looks: `error:` with what was wrong, `hint:` with what would be right.
//! Hints come with the failure and the exit code from `exit`; no advice is made up while drawing.

use console::Style;

use super::{Look, safe, wrap};
use crate::cli::exit::Failure;

/// Draws a failure.
pub fn draw(failure: &Failure, look: &Look) -> String {
    match failure {
        Failure::Interrupted { goes_on: Some(goes_on) } => lines("interrupted", goes_on, &[], look),
        Failure::Interrupted { goes_on: None } => look.bold("interrupted"),
        _ => lines("error", &failure_text(failure), &failure.hints(), look),
    }
}

fn failure_text(failure: &Failure) -> String {
    match failure {
        // Its hints stand on lines of their own.
        Failure::Refused { refusal, .. } => refusal.message.clone(),
        failure => failure.to_string(),
    }
}

/// Draws a message with hints under it.
pub fn lines(label: &str, message: &str, hints: &[String], look: &Look) -> String {
    let label = look.paint(Style::new().red().bold(), &format!("{label}:"));
    let mut out = wrap(&safe(message), look.width, &format!("{label} "));
    for hint in hints {
        let label = look.paint(Style::new().cyan(), "hint:");
        out.push('\n');
        out.push_str(&wrap(&safe(hint), look.width, &format!("{label} ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use crate::fleet::refusal::Refusal;

    fn refused() -> Failure {
        let refusal = Refusal::unknown("role", "w-locl", ["w-local", "w-claude"]);
        Failure::Refused { refusal, json: String::new() }
    }

    #[test]
    fn a_refusal_says_what_is_wrong_and_what_is_right() {
        insta::assert_snapshot!(draw(&refused(), &plain(80)), @"
        error: there is no role 'w-locl'
        hint: did you mean 'w-local'?
        hint: valid: w-local, w-claude
        ");
    }

    #[test]
    fn a_narrow_terminal_breaks_it_at_words() {
        let failure = Failure::Unreachable { url: "http://127.0.0.1:7717".into(), why: "nobody listens there".into() };
        insta::assert_snapshot!(draw(&failure, &plain(40)), @"
        error: no fleetd answers at
               http://127.0.0.1:7717: nobody
               listens there
        hint: start one: fleetd serve
        ");
    }

    #[test]
    fn colours_are_only_where_they_are_shown() {
        let colour = Look { colour: true, ..plain(80) };
        assert!(draw(&refused(), &colour).contains("\u{1b}[31m"));
        assert!(!draw(&refused(), &plain(80)).contains('\u{1b}'));
    }

    #[test]
    fn the_lines_of_a_charter_error_stay() {
        let message = "team.lua:3: no 'recpie'\n  3 | fleet.recpie(\"x\")";
        insta::assert_snapshot!(lines("error", message, &[], &plain(80)), @r#"
        error: team.lua:3: no 'recpie'
                 3 | fleet.recpie("x")
        "#);
    }
}
