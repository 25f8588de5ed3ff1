//! What is wrong with a charter: `file:line: message`, the source line below it, and a hint.
//!
//! Every refusal of a script or of a whole generation ends in this type. Nothing here knows Lua's own errors
//! beyond their text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::sources::Sources;
use crate::fleet::refusal::{Refusal, RefusalKind};

/// One mistake in a charter, with where it is as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharterError {
    /// The file, relative to the charter directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// The text of that line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_line: Option<String>,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How many bytes of an error's text are kept: a script may raise an error of any length, and it is shown at every
/// door and kept with the run that it ended.
const MESSAGE: usize = 4096;
/// How many bytes of its line are shown.
const LINE: usize = 240;

impl CharterError {
    /// Returns an error that belongs to no line.
    pub fn plain(message: impl Into<String>) -> CharterError {
        let mut message = message.into();
        if message.len() > MESSAGE {
            message = cut(&message, MESSAGE).into_owned();
        }
        CharterError { message, ..CharterError::default() }
    }

    /// Returns an error at a line, with that line's text.
    pub fn at(sources: &Sources, file: &str, line: u32, message: impl Into<String>) -> CharterError {
        CharterError {
            file: Some(file.to_owned()),
            line: Some(line),
            source_line: sources.line(file, line).map(|text| cut(text, LINE).into_owned()),
            ..CharterError::plain(message)
        }
    }

    /// Reads the position that Lua writes before a message, `file:line: message`.
    pub fn read(sources: &Sources, text: &str) -> CharterError {
        let text = text.split_once("\nstack traceback:").map_or(text, |(message, _)| message).trim_end();
        match position(sources, text) {
            Some((file, line, message)) => CharterError::at(sources, file, line, message),
            None => CharterError::plain(text),
        }
    }

    /// Returns its `file:line`, if that is known.
    pub fn place(&self) -> Option<String> {
        Some(format!("{}:{}", self.file.as_ref()?, self.line?))
    }

    /// Returns the error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> CharterError {
        self.hint = Some(hint.into());
        self
    }
}

/// Returns the beginning of a text, with a mark if it is not all of it.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.len() > most {
        true => Cow::Owned(format!("{}… ({} bytes)", &text[..text.floor_char_boundary(most)], text.len())),
        false => Cow::Borrowed(text),
    }
}

fn position<'a>(sources: &Sources, text: &'a str) -> Option<(&'a str, u32, &'a str)> {
    let (file, rest) = text.split_once(':')?;
    let (line, message) = rest.split_once(": ")?;
    let line = line.parse().ok()?;
    sources.text(file).map(|_| (file, line, message))
}

impl fmt::Display for CharterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.message)?,
            (Some(file), None) => write!(f, "{file}: {}", self.message)?,
            _ => f.write_str(&self.message)?,
        }
        if let (Some(text), Some(line)) = (&self.source_line, self.line) {
            write!(f, "\n  {line} | {}", text.trim_end())?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CharterError {}

/// Why a whole generation was refused: every mistake that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CharterErrors(pub Vec<CharterError>);

impl fmt::Display for CharterErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for CharterErrors {}

impl From<CharterError> for CharterErrors {
    fn from(error: CharterError) -> CharterErrors {
        CharterErrors(vec![error])
    }
}

impl From<CharterErrors> for Refusal {
    fn from(errors: CharterErrors) -> Refusal {
        Refusal::new(RefusalKind::Invalid, errors.to_string())
    }
}
