//! The hours of a role as authors write them: `between` and `days` for a role that is closed outside of them, or `hours`,
//! a list of windows each with a cap of its own. What they mean is in `fleet/hours.rs`.

use serde_json::Value;

use super::{Fields, Wrong, plain};
use crate::charter::{describe, zones};
use crate::fleet::hours::{Between, Days, Hours, MOST_WINDOWS, Window};

/// Reads when a role may be handed anything, and how much.
pub(super) fn read(fields: &Fields) -> Result<Option<Hours>, Wrong> {
    let stretches = between(fields)?;
    let days = days(fields)?;
    let (windows, closes) = match fields.get("hours") {
        Some(_) if !stretches.is_empty() => {
            return fields.refuse("between", "write it inside of the windows of 'hours', or leave 'hours' out");
        }
        Some(_) if days.is_some() => {
            return fields.refuse("days", "write it inside of the windows of 'hours', or leave 'hours' out");
        }
        Some(list) => (windows(fields, list)?, false),
        None => {
            let days_or_all = days.unwrap_or(Days::ALL);
            let window = |between| Window { between, days: days_or_all, max_busy: None };
            match (stretches.is_empty(), days) {
                (true, None) => (Vec::new(), true),
                (true, Some(_)) => (vec![window(None)], true),
                (false, _) => (stretches.into_iter().map(|between| window(Some(between))).collect(), true),
            }
        }
    };
    let zone = fields.text("zone")?;
    if windows.is_empty() {
        return match zone {
            Some(_) => fields.refuse("zone", "it is the zone of 'between', 'days' or 'hours', which are missing"),
            None => Ok(None),
        };
    }
    let clock = zones::clock_of(zone.as_deref()).or_else(|why| fields.refuse("zone", why))?;
    let hours = Hours { windows, closes, clock };
    match hours.idle_window().filter(|_| !closes) {
        Some(n) => Err(Wrong {
            field: Some(format!("hours[{}]", n + 1)),
            message: format!(
                "{}: field 'hours': window {} never counts: those before it hold at all of its times, and the first one counts",
                fields.what(),
                n + 1
            ),
        }),
        None => Ok(Some(hours)),
    }
}

fn windows(fields: &Fields, list: &Value) -> Result<Vec<Window>, Wrong> {
    const WANTED: &str = "a list of windows, such as { { between = \"22:00-06:00\", max_busy = 12 } }";
    let Value::Array(list) = list else { return fields.wrong("hours", WANTED, list) };
    if list.is_empty() || list.len() > MOST_WINDOWS {
        return fields.refuse("hours", format!("expected {WANTED}, of 1 to {MOST_WINDOWS}"));
    }
    if fields.get("max_busy").is_none() {
        return Err(plain(format!(
            "{}: field 'max_busy' is missing: with 'hours' it says how many outside of them; 0 for none",
            fields.what()
        )));
    }
    let mut windows = Vec::new();
    for (n, entry) in list.iter().enumerate() {
        let place = format!("hours[{}]", n + 1);
        let read = window(format!("{}: {place}", fields.what()), entry);
        windows.push(read.map_err(|wrong| Wrong {
            field: Some(wrong.field.map_or_else(|| place.clone(), |field| format!("{place}.{field}"))),
            ..wrong
        })?);
    }
    Ok(windows)
}

fn window(what: String, entry: &Value) -> Result<Window, Wrong> {
    let fields = Fields::of(what, entry, describe::WINDOW)?;
    let between = match fields.get("between") {
        None => None,
        Some(Value::String(text)) => Some(Between::parse(text).or_else(|why| fields.refuse("between", why))?),
        Some(other) => return fields.wrong("between", "one stretch of a day, such as \"22:00-06:00\"", other),
    };
    let days = days(&fields)?;
    if between.is_none() && days.is_none() {
        let why = format!("{}: it says neither 'between' nor 'days', so it would always hold", fields.what());
        return Err(plain(why));
    }
    let max_busy = fields.get("max_busy").map(|_| fields.count("max_busy", 0, 0)).transpose()?;
    let max_busy = fields.need("max_busy", max_busy, "say how many may be busy then; 0 for none")?;
    Ok(Window { between, days: days.unwrap_or(Days::ALL), max_busy: Some(max_busy) })
}

fn between(fields: &Fields) -> Result<Vec<Between>, Wrong> {
    let texts = match fields.get("between") {
        None => return Ok(Vec::new()),
        Some(Value::String(one)) => vec![one.clone()],
        Some(_) => fields.texts("between")?.unwrap_or_default(),
    };
    if texts.is_empty() || texts.len() > MOST_WINDOWS {
        return fields
            .refuse("between", format!("name 1 to {MOST_WINDOWS} stretches of a day, such as \"22:00-06:00\""));
    }
    let read: Result<Vec<Between>, String> = texts.iter().map(|text| Between::parse(text)).collect();
    read.or_else(|why| fields.refuse("between", why))
}

fn days(fields: &Fields) -> Result<Option<Days>, Wrong> {
    let texts = match fields.get("days") {
        None => return Ok(None),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(_)) => fields.texts("days")?.unwrap_or_default(),
        Some(other) => return fields.wrong("days", "days such as \"mon-fri\", or a list of them", other),
    };
    let read: Result<Vec<Days>, String> = texts.iter().map(|text| Days::parse(text)).collect();
    match read.map(|days| days.into_iter().reduce(Days::or)) {
        Ok(None) => fields.refuse("days", "name days, such as \"mon-fri\""),
        Ok(Some(Days::ALL)) => fields.refuse("days", "these are all days; leave it out for that"),
        Ok(days) => Ok(days),
        Err(why) => fields.refuse("days", why),
    }
}
