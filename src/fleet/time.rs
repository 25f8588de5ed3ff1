//! Time as the fleet sees it: a number that is handed in, never read from a clock.
//! Spans as people write them are read here for JSON, TOML and Lua alike. No `Instant` or `SystemTime` may come in.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A moment: milliseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time in milliseconds. In JSON, TOML and Lua a text such as `"90s"`, `"8m"`, `"250ms"`, or a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Span {
    /// Returns a span of whole seconds.
    pub const fn seconds(n: u64) -> Span {
        Span(n * 1000)
    }

    /// Returns a span of whole minutes.
    pub const fn minutes(n: u64) -> Span {
        Span::seconds(n * 60)
    }

    /// Returns a span of whole days.
    pub const fn days(n: u64) -> Span {
        Span::minutes(n * 24 * 60)
    }

    /// Returns the span as the standard library's type.
    pub const fn std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }

    /// Reads `"90s"`, `"8m"`, `"2h"`, `"7d"`, `"250ms"`; the error names the valid forms.
    pub fn parse(text: &str) -> Result<Span, String> {
        let wrong =
            || format!("'{text}' is not a length of time; write for example \"90s\", \"8m\", \"2h\", \"250ms\"");
        let text = text.trim();
        let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(split);
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let scale = match unit {
            "ms" => 1.0,
            "s" => 1e3,
            "m" | "min" => 60e3,
            "h" => 3_600e3,
            "d" => 86_400e3,
            _ => return Err(wrong()),
        };
        Span::from_millis_f64(number * scale).ok_or_else(wrong)
    }

    /// Returns a span of so many seconds, or `None` for a negative, endless or absurd number.
    pub fn from_seconds_f64(seconds: f64) -> Option<Span> {
        Span::from_millis_f64(seconds * 1e3)
    }

    fn from_millis_f64(ms: f64) -> Option<Span> {
        // Ten years bound every span, so that adding one to a moment can never overflow.
        (ms.is_finite() && (0.0..=3.2e11).contains(&ms)).then_some(Span(ms.round() as u64))
    }
}

impl Time {
    /// Returns how long after `earlier` this is; nothing if the clock went backwards in between.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;

    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;

    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms < 1_000 => write!(f, "{ms}ms"),
            ms if ms < 60_000 => write!(f, "{}s", (ms as f64 / 100.0).round() / 10.0),
            ms if ms < 3_600_000 => write!(f, "{}m{:02}s", ms / 60_000, ms / 1000 % 60),
            ms if ms < 172_800_000 => write!(f, "{}h{:02}m", ms / 3_600_000, ms / 60_000 % 60),
            ms => write!(f, "{}d", ms / 86_400_000),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{}ms", self.0))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Seconds(f64),
            Text(String),
        }
        match Raw::deserialize(d).map_err(|_| {
            D::Error::custom("expected a length of time such as \"90s\", \"8m\", \"2h\", or a number of seconds")
        })? {
            Raw::Text(text) => Span::parse(&text).map_err(D::Error::custom),
            Raw::Seconds(n) => Span::from_seconds_f64(n)
                .ok_or_else(|| D::Error::custom(format!("{n} seconds is not a usable length of time"))),
        }
    }
}

impl JsonSchema for Span {
    // What is written is narrower than what is read, so the two cannot share a name.
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            return json_schema!({
                "description": "A length of time in milliseconds.",
                "type": "string",
                "pattern": "^[0-9]+ms$",
                "examples": ["480000ms"],
            });
        }
        // So many digits that no text of this form is longer than ten years.
        let text = "^([0-9]{1,8}(\\.[0-9]+)?(ms|s)|[0-9]{1,6}(\\.[0-9]+)?(m|min)|[0-9]{1,4}(\\.[0-9]+)?h|[0-9]{1,3}(\\.[0-9]+)?d)$";
        json_schema!({
            "description": "A length of time: a text such as \"250ms\", \"90s\", \"8m\", \"2h\", \"7d\", or a number of seconds.",
            "type": ["string", "number"],
            "pattern": text,
            "minimum": 0,
            "maximum": 320_000_000,
            "examples": ["8m", 480],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_what_people_write() {
        for (text, ms) in [("90s", 90_000), ("8m", 480_000), ("1.5h", 5_400_000), ("250ms", 250), ("7d", 604_800_000)] {
            assert_eq!(Span::parse(text), Ok(Span(ms)), "{text}");
        }
        for text in ["", "s", "8", "-1s", "1 fortnight", "1e400s", "999999d"] {
            assert!(Span::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_print_for_people_and_read_back_from_json() {
        assert_eq!(Span(1_240).to_string(), "1.2s");
        assert_eq!(Span(61_000).to_string(), "1m01s");
        let json = serde_json::to_string(&Span(1_240)).expect("plain");
        assert_eq!(serde_json::from_str::<Span>(&json).expect("its own form"), Span(1_240));
        assert_eq!(serde_json::from_str::<Span>("2").expect("seconds"), Span(2_000));
    }
}
