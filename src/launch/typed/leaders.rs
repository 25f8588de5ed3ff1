//! What the screen of a leader shows, by the name of its program: data (`lua/screens.json`), since no agent is named in
//! Rust. Of a program that is not in it, what most of them show is looked for; what the operator says comes before both.

use serde::Deserialize;

use crate::config::ScreenWords;
use crate::fleet::typing::Typing;
use crate::process::{ProcessId, name_of};

const SCREENS: &str = include_str!("../../../lua/screens.json");

/// What is known of the screen of one program.
#[derive(Debug, Deserialize)]
struct Known {
    program: String,
    #[serde(flatten)]
    typing: Typing,
}

/// Returns how the screen of this leader is read.
pub(super) fn typing(leader: ProcessId, words: &ScreenWords) -> Typing {
    told(of_program(name_of(leader).as_deref()), words)
}

fn of_program(name: Option<&str>) -> Typing {
    let known: Vec<Known> = serde_json::from_str(SCREENS).expect("the table of screens is tested");
    let found = known.into_iter().find(|known| name == Some(known.program.as_str()));
    found.map_or_else(Typing::default, |known| known.typing)
}

fn told(known: Typing, words: &ScreenWords) -> Typing {
    let or = |told: &Option<Vec<String>>, known| told.clone().unwrap_or(known);
    Typing {
        prompt: or(&words.prompt, known.prompt),
        placeholder: or(&words.placeholder, known.placeholder),
        busy: or(&words.busy, known.busy),
        dialog: or(&words.dialog, known.dialog),
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_is_believed_before_the_table_and_the_table_before_what_is_usual() {
        let known: Vec<Known> = serde_json::from_str(SCREENS).expect("a list");
        let first = &known[0];
        let found = of_program(Some(&first.program));
        assert_eq!(found, first.typing);
        assert_ne!(found, Typing::default());
        assert_eq!(of_program(Some("another")), Typing::default());
        let words = ScreenWords { prompt: Some(vec!["$ ".into()]), ..ScreenWords::default() };
        assert_eq!(told(found.clone(), &words), Typing { prompt: vec!["$ ".into()], ..found });
    }
}
