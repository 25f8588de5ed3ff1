//! What panes show: reads, which may turn the wheel of the program,
//! and waits for a text.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::house::House;
use super::super::params::{Failed, Params, failed};
use super::super::{Server, ids, pause};
use super::{Answer, panes};

const DEFAULT_ROWS: u64 = 80;
const MOST_ROWS: u64 = 1_000;

/// What a text is searched for.
pub struct Matcher(String);

impl Matcher {
    /// Reads it. Patterns are searched as plain text here; one that is broken is refused.
    pub fn read(p: Params<'_>) -> Result<Self, Failed> {
        let matching = p.needed_object("match")?;
        let value = matching.text("value")?;
        if matching.text("type")? == "regex" && value.matches('(').count() != value.matches(')').count() {
            return failed("invalid_regex", format!("regex parse error: {value}"));
        }
        Ok(Self(value.to_owned()))
    }

    /// Returns the last line that has it.
    pub fn find(&self, text: &str) -> Option<String> {
        text.lines().rev().find(|line| line.contains(&self.0)).map(str::to_owned)
    }
}

/// Reads a pane.
pub fn read(
    server: &Server,
    house: &House,
    id: &str,
    source: &str,
    lines: Option<u64>,
    format: &str,
) -> Result<Value, Failed> {
    let (id, place) = panes::place(house, id)?;
    let terminal = &house.panes[&id].terminal;
    let (rows, truncated) = match source {
        "visible" | "detection" => {
            let mut rows = terminal.visible();
            let wanted = lines.map_or(usize::MAX, |lines| usize::try_from(lines).unwrap_or(usize::MAX));
            let left_out = rows.len() > wanted;
            (rows.split_off(rows.len().saturating_sub(wanted)), left_out)
        }
        "recent" | "recent_unwrapped" => {
            let wanted = lines.unwrap_or(DEFAULT_ROWS).min(MOST_ROWS);
            if wanted > u64::from(server.options.version.size().1) && terminal.scrolls_by_wheel() {
                // This is what makes such a read dangerous: the program sees it.
                terminal.write(&b"\x1b[<64;10;10M".repeat(5));
                pause(Duration::from_millis(400));
                terminal.write(&b"\x1b[<65;10;10M".repeat(5));
            }
            terminal.recent(usize::try_from(wanted).unwrap_or(usize::MAX))
        }
        other => {
            return Err(Failed::Invalid(format!("unknown variant `{other}`, expected one of `visible`, `recent`")));
        }
    };
    let is_plain = source == "detection" || format == "text";
    let mut text = rows.join(if is_plain { "\n" } else { "\r\n" });
    if !text.is_empty() {
        text.push_str(if is_plain { "\n" } else { "\r\n" });
    }
    Ok(json!({
        "pane_id": id, "workspace_id": ids::workspace(house.workspaces[place.0].number),
        "tab_id": house.tab_id(place), "source": source, "format": format,
        "text": text, "revision": 0, "truncated": truncated,
    }))
}

pub fn pane_read(server: &Server, p: Params<'_>) -> Answer {
    let (id, source, lines) = (p.text("pane_id")?, p.text("source")?, p.number("lines")?);
    let format = p.maybe_text("format")?.unwrap_or("text");
    if !matches!(format, "text" | "ansi") {
        return Err(Failed::Invalid(format!("unknown variant `{format}`, expected `text` or `ansi`")));
    }
    let house = server.house();
    Ok(json!({"type": "pane_read", "read": read(server, &house, id, source, lines, format)?}))
}

pub fn wait_for_output(server: &Server, p: Params<'_>) -> Answer {
    let (id, source, lines) = (p.text("pane_id")?, p.text("source")?, p.number("lines")?);
    let matcher = Matcher::read(p)?;
    let end = p.number("timeout_ms")?.map(|ms| Instant::now() + Duration::from_millis(ms));
    let told = if source == "recent" { "recent_unwrapped" } else { source };
    loop {
        let house = server.house();
        let read = read(server, &house, id, told, lines, "text")?;
        drop(house);
        if let Some(line) = read["text"].as_str().and_then(|text| matcher.find(text)) {
            return Ok(json!({
                "type": "output_matched", "pane_id": read["pane_id"], "revision": 0, "matched_line": line, "read": read,
            }));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return failed("timeout", "timed out waiting for output match");
        }
        pause(Duration::from_millis(100));
    }
}
