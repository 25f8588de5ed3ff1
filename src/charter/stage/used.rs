//! What scripted turns use: tokens, money and time, as a test says, each counted for the run and those above it when its
//! turn ends in virtual time.

use mlua::Value as LuaValue;
use serde_json::Value;

use super::play::Play;
use crate::charter::spec::{Fields, Wrong, plain};
use crate::charter::{describe, json};
use crate::fleet::envelope::Usage;
use crate::fleet::ids::RunId;
use crate::fleet::time::Span;

/// What a turn used, and how long it took if that was said.
pub(in crate::charter) type Used = (Option<Usage>, Option<Span>);

/// Reads what a scripted worker said of its turn.
pub(in crate::charter) fn read(used: &LuaValue) -> Result<Used, String> {
    let value = json::to_json(used, json::STEP_BYTES)?;
    if value.is_null() {
        return Ok((None, None));
    }
    fields(&value).map_err(|wrong| wrong.message)
}

fn fields(value: &Value) -> Result<Used, Wrong> {
    let fields = Fields::of("what a turn used".to_owned(), value, describe::TEST_USED)?;
    let tokens = |name: &str| match fields.get(name) {
        None => Ok(0),
        Some(n) => match n.as_u64() {
            Some(n) => Ok(n),
            None => fields.refuse(name, format!("expected a whole number from 0, got {n}")),
        },
    };
    let cost = match fields.get("cost") {
        None => None,
        Some(n) => match n.as_f64().filter(|cost| *cost >= 0.0) {
            Some(cost) => Some(cost),
            None => return fields.refuse("cost", format!("expected US dollars, got {n}")),
        },
    };
    let usage = Usage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_read: tokens("cache_read")?,
        cache_write: tokens("cache_write")?,
        context: None,
        cost,
    };
    let took = fields.span("took")?;
    if usage == Usage::default() && took.is_none() {
        let names: Vec<&str> = describe::TEST_USED.iter().map(|field| field.name).collect();
        return Err(plain(format!("what a turn used: say something of it; valid: {}", names.join(", "))));
    }
    Ok((Some(usage).filter(|usage| *usage != Usage::default()), took))
}

impl Play<'_, '_> {
    /// Counts what a turn of a run used.
    pub(super) fn uses(&mut self, run: RunId, usage: &Usage) {
        for id in self.up_from(run) {
            if let Some(playing) = self.playing.get_mut(&id) {
                playing.usage = Usage::sum(playing.usage.iter().chain([usage]));
            }
        }
    }
}
