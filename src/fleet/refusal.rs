//! The one form in which every door says no.
//!
//! A refusal tells what was wrong and what would be right; `hints` name the valid choices. It never carries a
//! prompt or a reply.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What kind of mistake or state it is; for programs, and stable.
    pub kind: RefusalKind,
    /// What was tried and why it was refused; for people.
    pub message: String,
    /// What would be right: valid names, a near miss, a command to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// The kinds of refusal; REST maps each to a status in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request itself is wrong: a field, a type, a value.
    Invalid,
    /// It names something that does not exist.
    Unknown,
    /// The caller may not do this.
    NotAllowed,
    /// The same key was used with another body.
    KeyConflict,
    /// It does not fit the present state: settled already, answered already, name taken.
    Conflict,
    /// A cap on waiting things is reached; try again later.
    QueueFull,
    /// The text is larger than the limit.
    TooLarge,
    /// The daemon cannot do this now: charter broken, shutting down, store failing.
    Unavailable,
    /// A worker did not come up or does not answer.
    PeerUnreachable,
    /// A recipe left the path that its journal records.
    Divergence,
    /// A fault of fleetd.
    Internal,
}

impl Refusal {
    /// Returns a refusal without hints.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), hints: Vec::new() }
    }

    /// Returns a refusal of a request that is wrong in itself.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Invalid, message)
    }

    /// Returns a refusal of a name, with the near miss first and then all valid names.
    pub fn unknown<'a>(what: &str, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Refusal {
        let valid: Vec<&str> = valid.into_iter().collect();
        let shown: String = name.chars().take(100).collect();
        let cut = if shown.len() < name.len() { "…" } else { "" };
        let refusal = Refusal::new(RefusalKind::Unknown, format!("there is no {what} '{shown}{cut}'"));
        let refusal = match nearest(name, valid.iter().copied()) {
            Some(near) => refusal.hint(format!("did you mean '{near}'?")),
            None => refusal,
        };
        match valid.len() {
            0 => refusal.hint(format!("there is no {what} at all yet")),
            _ => refusal.hint(format!("valid: {}", list(&valid))),
        }
    }

    /// Returns the refusal with one more hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for hint in &self.hints {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Returns the valid name that is nearest to a misspelt one, if any is near enough to be meant.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The comparison costs length times length, and a name may be whatever a caller sends.
    const LONGEST: usize = 100;
    let near = |a: usize, b: usize| a.abs_diff(b) <= (a.max(b) / 3).max(1);
    if name.len() > LONGEST {
        return None;
    }
    valid
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST && near(candidate.len(), name.len()))
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), !is_within(name, candidate), candidate))
        .filter(|(distance, _, candidate)| *distance <= (candidate.len().max(name.len()) / 3).max(1))
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// Returns whether only letters are missing in one of two words: of two that are as near, that one is meant more often.
fn is_within(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut letters = long.chars();
    short.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// Returns names joined for reading, cut after twenty.
pub fn list(names: &[&str]) -> String {
    const MOST: usize = 20;
    match names.len() {
        n if n <= MOST => names.join(", "),
        n => format!("{} and {} more", names[..MOST].join(", "), n - MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_the_near_miss_and_the_choices() {
        let refusal = Refusal::unknown("role", "w-locl", ["w-local", "w-claude"]);
        assert_eq!(refusal.to_string(), "there is no role 'w-locl'; did you mean 'w-local'?; valid: w-local, w-claude");
    }

    #[test]
    fn a_name_as_long_as_a_book_is_neither_compared_nor_repeated() {
        let book = "x".repeat(8 << 20);
        let refusal = Refusal::unknown("role", &book, ["w-local"]);
        assert!(refusal.message.len() < 200, "{} bytes", refusal.message.len());
        assert_eq!(nearest(&book, [book.as_str()]), None);
    }

    #[test]
    fn a_name_far_from_all_gets_no_guess() {
        assert_eq!(nearest("zebra", ["w-local", "w-claude"]), None);
        assert_eq!(nearest("recpie", ["recipe", "role"]), Some("recipe"));
    }
}
