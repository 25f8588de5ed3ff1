//! Why the daemon does not start with these settings: where, what, and what would be right.
//! Nothing is read or checked here.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A refusal to start because of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file it stands in; none for an argument or a variable.
    pub file: Option<PathBuf>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// What is wrong, with what was written.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl ConfigError {
    /// Returns a refusal of an argument, a variable or the surroundings.
    pub(super) fn outside(message: impl Into<String>, hint: impl Into<String>) -> ConfigError {
        ConfigError { file: None, line: None, message: message.into(), hint: Some(hint.into()) }
    }

    /// Adds what would be right.
    pub(super) fn hint(self, hint: impl Into<String>) -> ConfigError {
        ConfigError { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A file's name and text, to say where something stands.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub file: &'t Path,
    pub text: &'t str,
}

impl Source<'_> {
    /// Returns a refusal of what stands at a place in the text.
    pub fn refuse(&self, at: &Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = 1 + before.matches('\n').count();
        ConfigError { file: Some(self.file.into()), line: Some(line), message: message.into(), hint: None }
    }
}

/// Returns the valid word that was probably meant.
pub(super) fn nearest<'w>(word: &str, valid: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let scored = valid.into_iter().map(|valid| (strsim::jaro_winkler(word, valid), valid));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}
