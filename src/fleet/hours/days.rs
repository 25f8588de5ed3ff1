//! Days of the week, as authors write them: `mon`, `mon-fri`, over the week's end too (`fri-mon`).
//! Which day it is, the clock knows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Their names, from Monday.
const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Some days of the week; never none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Days(u8);

impl Days {
    /// All of them.
    pub const ALL: Days = Days(0b111_1111);

    /// Reads a day, or from a day to another; the error names the valid form.
    pub fn parse(text: &str) -> Result<Days, String> {
        let (from, to) = match text.split_once('-') {
            Some((from, to)) => (day(text, from)?, day(text, to)?),
            None => (day(text, text)?, day(text, text)?),
        };
        let last = if to < from { to + NAMES.len() } else { to };
        let days = Days((from..=last).fold(0, |days, day| days | 1 << (day % NAMES.len())));
        match days == Days::ALL {
            true => Err(format!("'{text}' is every day; leave it out for that")),
            false => Ok(days),
        }
    }

    /// Returns these and those.
    pub fn or(self, other: Days) -> Days {
        Days(self.0 | other.0)
    }

    /// Returns whether a day is one of them, counted from any Monday.
    pub fn holds(self, day: i64) -> bool {
        self.0 & (1 << day.rem_euclid(NAMES.len() as i64)) != 0
    }

    /// Returns the name of a day, counted from any Monday.
    pub fn name(day: i64) -> &'static str {
        NAMES[day.rem_euclid(NAMES.len() as i64) as usize]
    }
}

fn day(text: &str, name: &str) -> Result<usize, String> {
    let name = name.trim();
    NAMES.iter().position(|day| *day == name).ok_or_else(|| {
        let meant = NAMES.iter().find(|day| name.to_ascii_lowercase().starts_with(*day));
        let hint = meant.map(|day| format!("did you mean \"{day}\"? ")).unwrap_or_default();
        format!("'{text}' names no days; {hint}valid: {}, and such as \"mon-fri\"", NAMES.join(", "))
    })
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A run of days is told as one, and begins where the day before is none of them.
        let is_in = |day: usize| self.holds(day as i64);
        let begins = |day: &usize| is_in(*day) && !is_in(day + NAMES.len() - 1);
        for (n, first) in (0..NAMES.len()).filter(begins).enumerate() {
            let length = (first..).take_while(|day| is_in(*day)).count();
            let (first, last) = (NAMES[first], NAMES[(first + length - 1) % NAMES.len()]);
            f.write_str(if n > 0 { " " } else { "" })?;
            match length {
                1 => f.write_str(first)?,
                _ => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_told() {
        let all =
            |words: &[&str]| words.iter().map(|word| Days::parse(word).expect(word)).reduce(Days::or).expect("one");
        for (words, told) in [
            (&["mon-fri"][..], "mon-fri"),
            (&["sat", "sun"], "sat-sun"),
            (&["fri-mon"], "fri-mon"),
            (&["mon", "wed", "thu", "fri"], "mon wed-fri"),
            (&[" tue ", "sun - mon"], "sun-tue"),
            (&["thu-thu"], "thu"),
        ] {
            assert_eq!(all(words).to_string(), told);
        }
        let weekend = all(&["sat-sun"]);
        assert_eq!((0..9).filter(|day| weekend.holds(*day)).collect::<Vec<_>>(), [5, 6]);
        assert!(weekend.holds(-1) && !weekend.holds(-3));
    }

    #[test]
    fn what_names_no_day_is_refused_with_what_may_have_been_meant() {
        let refused = |text: &str| Days::parse(text).expect_err(text);
        let valid = "valid: mon, tue, wed, thu, fri, sat, sun, and such as \"mon-fri\"";
        assert_eq!(refused("Monday"), format!("'Monday' names no days; did you mean \"mon\"? {valid}"));
        assert_eq!(refused("mo-fr"), format!("'mo-fr' names no days; {valid}"));
        for text in ["", "-", "mon-", "mon-fri-sun", "weekdays", "1-5"] {
            assert!(refused(text).ends_with(valid), "{text}");
        }
        for text in ["mon-sun", "wed-tue"] {
            assert!(refused(text).ends_with("is every day; leave it out for that"), "{text}");
        }
    }
}
