//! fleetd.toml as it is written, with the place of each value, and the two ways in which its shape can be wrong: not
//! TOML, or not ours. What the values mean is checked in `check`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::error::{ConfigError, Source, nearest};
use super::size::Size;
use crate::fleet::time::Span;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub listen: Option<Spanned<String>>,
    pub charter: Option<Spanned<String>>,
    pub pane_host: Option<Spanned<String>>,
    pub auth: Option<Spanned<String>>,
    pub token_file: Option<Spanned<String>>,
    pub token_env: Option<Spanned<String>>,
    pub seat_ttl: Option<Spanned<Span>>,
    pub hosts: Option<Spanned<Vec<Spanned<String>>>>,
    pub endpoints: BTreeMap<Spanned<String>, RawEndpoint>,
    pub launch: RawLaunch,
    pub commands: RawCommands,
    pub nudge: RawNudge,
    pub broker: Option<RawBroker>,
    pub on_restart: Option<Spanned<String>>,
    pub limits: RawLimits,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEndpoint {
    pub url: Spanned<String>,
    pub key_env: Option<Spanned<String>>,
    pub allowed_hosts: Option<Spanned<Vec<Spanned<String>>>>,
    pub max_busy: Option<Spanned<i64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLaunch {
    pub executables: Vec<Spanned<String>>,
    pub trash_ttl: Option<Spanned<Span>>,
    pub allow_exposed: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawCommands {
    pub allow: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawNudge {
    pub on: Option<bool>,
    pub prompt: Option<Spanned<Vec<Spanned<String>>>>,
    pub placeholder: Option<Spanned<Vec<Spanned<String>>>>,
    pub busy: Option<Spanned<Vec<Spanned<String>>>>,
    pub dialog: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBroker {
    pub url: Spanned<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawLimits {
    pub max_workers: Option<Spanned<i64>>,
    pub max_prompt_bytes: Option<Spanned<i64>>,
    pub retention: Option<Spanned<Span>>,
    pub drain: Option<Spanned<Span>>,
    pub start_stagger: Option<Spanned<Span>>,
    pub memory_floor: Option<Spanned<Size>>,
}

/// Reads the text, or says what in its shape is wrong.
pub(super) fn read(source: Source<'_>) -> Result<Raw, ConfigError> {
    toml::from_str(source.text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        let message = error.message();
        match unknown_field(message) {
            Some((field, valid)) => {
                let refused = source.refuse(&at, format!("there is no setting '{field}'"));
                match nearest(field, valid.iter().copied()) {
                    Some(meant) => refused.hint(format!("did you mean '{meant}'?")),
                    None => refused.hint(format!("valid here: {}", valid.join(", "))),
                }
            }
            None if message.starts_with("invalid type: ") => wrong_type(source, &at, message),
            None => source.refuse(&at, message.lines().collect::<Vec<_>>().join("; ").replace('`', "'")),
        }
    })
}

/// Says in which setting a value of another kind stands, and how it is written.
fn wrong_type(source: Source<'_>, at: &Range<usize>, message: &str) -> ConfigError {
    let line = source.text.get(..at.start).and_then(|before| before.lines().last()).unwrap_or_default();
    let setting = line.split_once('=').map_or("", |(name, _)| name.trim());
    let says = message.lines().next().unwrap_or_default().replace('`', "'");
    if setting.is_empty() {
        return source.refuse(at, says);
    }
    let refused = source.refuse(at, format!("{setting}: {says}"));
    match (setting, message.contains("expected a string")) {
        ("listen", _) => refused.hint("write an address and a port in quotes, such as \"127.0.0.1:7717\""),
        (_, true) => refused.hint(format!("write a text in quotes: {setting} = \"...\"")),
        _ => refused,
    }
}

/// Returns the field and the valid ones from serde's sentence: "unknown field `x`, expected one of `a`, `b`".
fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (field, rest) = rest.split_once('`')?;
    let valid = rest.split('`').skip(1).step_by(2).collect();
    Some((field, valid))
}
