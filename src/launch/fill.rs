//! The markers of a launch plan and what they stand for: `@{fleet.home}` becomes the worker's private folder.
//!
//! A secret is filled in only where a variable is made, so that none gets into arguments, files or logs. What a marker
//! is worth is decided by whoever starts the worker.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fleet::plan::MARKER;

/// What the markers stand for.
#[derive(Clone, Default)]
pub struct Fill {
    plain: BTreeMap<&'static str, String>,
    secret: BTreeMap<&'static str, String>,
}

/// A marker that cannot be filled in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// There is none of this name for this worker.
    #[error("there is no marker {MARKER}{name}}} here; valid: {valid}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        valid: String,
    },
    /// It is a secret, and this is no variable.
    #[error("the marker {MARKER}{0}}} stands for a secret, which may go into a variable and nowhere else")]
    Secret(String),
    /// Its end is missing.
    #[error("a marker that begins with {MARKER} has no end")]
    Open,
}

impl Fill {
    /// Returns the fill with one more marker.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Fill {
        self.plain.insert(name, value.into());
        self
    }

    /// Returns the fill with one more marker that stands for a secret.
    pub fn with_secret(mut self, name: &'static str, value: impl Into<String>) -> Fill {
        self.secret.insert(name, value.into());
        self
    }

    /// Fills a text that others may see.
    pub fn text(&self, text: &str) -> Result<String, FillError> {
        self.fill(text, false)
    }

    /// Fills the value of a variable.
    pub fn variable(&self, text: &str) -> Result<String, FillError> {
        self.fill(text, true)
    }

    /// Fills every text in a piece of JSON, names of fields included.
    pub fn json(&self, value: &Value) -> Result<Value, FillError> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.json(item)).collect::<Result<_, _>>()?),
            Value::Object(map) => {
                let filled = map.iter().map(|(name, value)| Ok((self.text(name)?, self.json(value)?)));
                Value::Object(filled.collect::<Result<_, FillError>>()?)
            }
            other => other.clone(),
        })
    }

    fn fill(&self, text: &str, with_secrets: bool) -> Result<String, FillError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(MARKER) {
            let (name, after) = after.split_once('}').ok_or(FillError::Open)?;
            out.push_str(before);
            match (self.plain.get(name), self.secret.get(name)) {
                (Some(value), _) => out.push_str(value),
                (None, Some(value)) if with_secrets => out.push_str(value),
                (None, Some(_)) => return Err(FillError::Secret(name.into())),
                (None, None) => return Err(self.unknown(name)),
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn unknown(&self, name: &str) -> FillError {
        let valid: Vec<&str> = self.plain.keys().chain(self.secret.keys()).copied().collect();
        FillError::Unknown { name: name.into(), valid: valid.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill() -> Fill {
        Fill::default().with("home", "/h").with("cwd", "/w").with_secret("endpoint.key", "s3cret")
    }

    #[test]
    fn markers_become_what_they_stand_for_and_everything_else_stays() {
        assert_eq!(fill().text("@{fleet.home}/a:@{fleet.cwd}").as_deref(), Ok("/h/a:/w"));
        assert_eq!(fill().text("git diff @{u} ${HOME}").as_deref(), Ok("git diff @{u} ${HOME}"));
        let filled = fill().json(&json!({"p": {"@{fleet.cwd}": [1, "@{fleet.home}"]}}));
        assert_eq!(filled, Ok(json!({"p": {"/w": [1, "/h"]}})));
        let twice = Fill::default().with("cwd", "@{fleet.home}").text("@{fleet.cwd}");
        assert_eq!(twice.as_deref(), Ok("@{fleet.home}"), "what was filled in is not filled again");
    }

    #[test]
    fn a_secret_goes_into_a_variable_and_nowhere_else() {
        assert_eq!(fill().variable("Bearer @{fleet.endpoint.key}").as_deref(), Ok("Bearer s3cret"));
        assert_eq!(fill().text("@{fleet.endpoint.key}"), Err(FillError::Secret("endpoint.key".into())));
        let refused = fill().text("@{fleet.hom}").expect_err("there is none").to_string();
        assert_eq!(refused, "there is no marker @{fleet.hom} here; valid: cwd, home, endpoint.key");
        assert_eq!(fill().text("@{fleet.home"), Err(FillError::Open));
    }
}
