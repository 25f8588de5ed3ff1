//! Where a task should go: what a rubric is shown of it, what the rubrics said, and what a turn keeps of that.
//! No rubric is called here; who asks them and what becomes of a broken one is the charter's matter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::RoleName;
use super::refusal::Refusal;
use super::team::Address;
use super::time::Time;

/// Files that a message may name at most.
pub const MOST_FILES: usize = 64;
/// Length of a file's name at most, in bytes.
const LONGEST_FILE: usize = 512;

/// Letters of the word for a kind of work at most.
const LONGEST_KIND: usize = 200;

/// How many rubrics a turn keeps the words of.
const MOST_KEPT: usize = 16;
/// How many characters it keeps of each.
const LONGEST_KEPT: usize = 200;

/// A send as a rubric sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The prompt.
    pub prompt: String,
    /// The sender's free word for the kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The files that it is about, as its sender named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Who sends: `leader`, `operator`, `run r3`.
    pub from: String,
    /// True when it asks to go first.
    pub urgent: bool,
    /// When it is asked.
    pub now: Time,
}

/// Where a task should go, by a rubric or by its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Routed {
    /// Where it goes.
    pub to: Address,
    /// Why, in the rubric's words, cut to 200 characters.
    pub because: String,
    /// The rubric that decided, by its reason text.
    pub rubric: String,
    /// The role of the worker that it decided for: where the message goes if that worker is gone before it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// What each rubric that was asked said, in order.
    pub asked: Vec<Asked>,
    /// The generation that decided.
    pub generation: u64,
}

/// What one rubric said when it was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The rubric, by its reason text.
    pub rubric: String,
    /// Where it stands, such as `routes.lua:7`.
    #[serde(default)]
    pub at: String,
    /// What came of it.
    #[serde(default)]
    pub verdict: Verdict,
    /// What it said: `nothing`, an address with the reason, or its error with file and line.
    pub said: String,
}

/// What came of asking a rubric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It left the decision to the next one.
    #[default]
    Nothing,
    /// It decided.
    Decided,
    /// It has a mistake, or answered with one, and was skipped.
    Failed,
    /// It ran over its time or its memory, and was skipped.
    Stopped,
}

impl Verdict {
    /// Returns whether the rubric was skipped for a fault of its own.
    pub fn is_fault(self) -> bool {
        matches!(self, Verdict::Failed | Verdict::Stopped)
    }
}

/// What a turn keeps of how it was routed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The rubric that decided, by its reason text.
    pub rubric: String,
    /// The role of the worker that it decided for: where the turn goes if that worker is gone before it has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// What each rubric that was asked said, in order: the last 16, cut to 200 characters each.
    pub asked: Vec<Asked>,
    /// The generation that decided.
    pub generation: u64,
}

impl From<Routed> for Decision {
    fn from(routed: Routed) -> Decision {
        let mut asked = routed.asked;
        asked.drain(..asked.len().saturating_sub(MOST_KEPT));
        for one in &mut asked {
            cut(&mut one.rubric);
            cut(&mut one.said);
        }
        let mut rubric = routed.rubric;
        cut(&mut rubric);
        Decision { rubric, role: routed.role, asked, generation: routed.generation }
    }
}

/// Cuts what a rubric said to what is kept of it.
pub fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_KEPT) {
        text.truncate(end);
        text.push('…');
    }
}

/// Checks the word for the kind of work, which is kept with its turn in memory.
pub fn check_kind(kind: Option<&str>) -> Result<(), Refusal> {
    match kind.map_or(0, |kind| kind.chars().count()) {
        letters if letters > LONGEST_KIND => {
            Err(Refusal::invalid(format!("'kind' has {letters} letters, the limit is {LONGEST_KIND}"))
                .hint("it is a word that rubrics look at; what is to be done stands in the prompt"))
        }
        _ => Ok(()),
    }
}

/// Checks the files that a message names.
pub fn check_files(files: &[String]) -> Result<(), Refusal> {
    if files.len() > MOST_FILES {
        let message = format!("the message names {} files, the limit is {MOST_FILES}", files.len());
        return Err(Refusal::invalid(message).hint("name the directory they are in"));
    }
    for file in files {
        let letters = file.chars().count();
        if letters > LONGEST_FILE {
            return Err(Refusal::invalid(format!(
                "the name of a file has {letters} letters, the limit is {LONGEST_FILE}"
            )));
        }
        if file.trim().is_empty() || file.chars().any(char::is_control) {
            return Err(Refusal::invalid(format!("{file:?} cannot be the name of a file"))
                .hint("name files as paths in the repository, such as \"src/main.rs\""));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::refusal::RefusalKind;
    use super::*;

    #[test]
    fn a_turn_keeps_a_bounded_part_of_what_was_said() {
        let asked = |n: usize| Asked {
            rubric: format!("r{n}"),
            at: "routes.lua:1".into(),
            verdict: Verdict::Failed,
            said: "é".repeat(1_000),
        };
        let routed = Routed {
            to: Address::Role("w".into()),
            because: "so".into(),
            rubric: "r99".into(),
            role: None,
            asked: (0..100).map(asked).collect(),
            generation: 3,
        };
        let kept = Decision::from(routed);
        assert_eq!((kept.asked.len(), kept.asked[15].rubric.as_str(), kept.generation), (16, "r99", 3));
        assert_eq!(kept.asked[0].said, format!("{}…", "é".repeat(200)));
    }

    #[test]
    fn names_of_files_are_bounded() {
        let refused = |files: &[&str]| check_files(&files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>());
        assert_eq!(refused(&["src/a.rs", "docs/"]), Ok(()));
        assert!(refused(&["a"; 65]).is_err_and(|refusal| refusal.kind == RefusalKind::Invalid));
        assert!(refused(&["x".repeat(513).as_str()]).is_err_and(|refusal| refusal.kind == RefusalKind::Invalid));
        for file in ["", " ", "a\nb", "\u{1b}[2J"] {
            assert!(refused(&[file]).is_err_and(|refusal| refusal.kind == RefusalKind::Invalid), "{file:?}");
        }
    }
}
