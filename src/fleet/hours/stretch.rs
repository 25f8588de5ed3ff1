//! A stretch of a day, as authors write it: `22:00-06:00`.
//! Of which days it is one, and by which clock, its owner knows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::DAY;

/// One stretch of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// The first minute of the day in it.
    pub from: u16,
    /// The first one after it: 1 to 1440, and never `from`.
    pub to: u16,
}

impl Between {
    /// Reads a time of day, such as `22:00`, as the minute of the day.
    pub fn minute(text: &str) -> Option<u16> {
        minute(text).filter(|minute| *minute < DAY)
    }

    /// Reads `"22:00-06:00"`; the error names the valid form.
    pub fn parse(text: &str) -> Result<Between, String> {
        let wrong = || format!("'{text}' is no stretch of a day; write for example \"22:00-06:00\"");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let (from, to) = (minute(from).ok_or_else(wrong)?, minute(to).ok_or_else(wrong)?);
        match (from, to) {
            (from, to) if from == to || (from, to) == (0, DAY) => {
                Err(format!("'{text}' is the whole day or nothing of it; leave it out for the whole day"))
            }
            (DAY, to) => Ok(Between { from: 0, to }),
            (from, 0) => Ok(Between { from, to: DAY }),
            (from, to) => Ok(Between { from, to }),
        }
    }
}

/// Reads `22:00`, up to `24:00`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let digits = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours, 2) || !digits(minutes, 2) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    (minutes < 60 && hours * 60 + minutes <= DAY).then_some(hours * 60 + minutes)
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from, self.to);
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}
