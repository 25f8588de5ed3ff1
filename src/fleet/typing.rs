//! How an agent is typed to, as plain data: what its screen shows when it can take a text, and what when it cannot.
//! A charter says it in a profile; reading a screen by it is the launcher's matter.

use serde::{Deserialize, Serialize};

use super::time::Span;

/// What is known of an agent that is typed to. Every list holds plain texts, none a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Typing {
    /// What the line begins with into which people write; one that shows none of them takes no text.
    pub prompt: Vec<String>,
    /// What an empty composer may show.
    pub placeholder: Vec<String>,
    /// What stands near the composer while the agent works.
    pub busy: Vec<String>,
    /// What stands near the composer while the agent asks for a key.
    pub dialog: Vec<String>,
    /// How many rows above the composer may show that it works or asks; below it all do.
    pub near: usize,
    /// How the composer shows a paste that it does not write out.
    pub pasted: Vec<String>,
    /// The keys that make it stop, pressed one after the other.
    pub interrupt: Vec<String>,
    /// The keys that empty its composer, pressed once where a text of ours came back into it.
    pub clear: Vec<String>,
    /// How long it may take to show an empty composer after its start.
    pub ready_timeout: Span,
    /// How long an idle screen must have stayed the same for the turn to be over.
    pub quiet: Span,
    /// Bytes of a message that are typed at most; a longer one is given as a file.
    pub limit: usize,
}

impl Default for Typing {
    fn default() -> Self {
        let list = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        Typing {
            prompt: list(&["> ", "❯ ", "› "]),
            placeholder: Vec::new(),
            busy: list(&["esc to interrupt"]),
            dialog: list(&["1. Yes"]),
            near: 6,
            pasted: list(&["[Pasted text"]),
            interrupt: list(&["esc"]),
            clear: Vec::new(),
            ready_timeout: Span::minutes(1),
            quiet: Span::seconds(2),
            limit: 8 * 1024,
        }
    }
}
