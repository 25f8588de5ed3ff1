//! The hours of a role: from when until when, by the clock on the wall of a place, it may be handed anything.
//!
//! What a place's clock shows is told as plain numbers, worked out when the charter is read: how far it is from UTC, and
//! at which moments that changes. So nothing here knows of time zones, and the days on which clocks are put on or back
//! are days like all others: what counts is what the clock shows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::time::Time;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// How many changes of the clock are looked through for the next change of the hours: between two of them lies at least a
/// day, on which the hours begin.
const MOST_CHANGES: usize = 4;

/// When a role may be handed anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    /// Each from a minute of the day to another, which it does not include; over midnight if that is earlier.
    pub between: Vec<Between>,
    /// By which clock.
    pub clock: WallClock,
}

/// One stretch of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// The first minute of the day in it.
    pub from: u16,
    /// The first one after it: 1 to 1440, and never `from`.
    pub to: u16,
}

/// What the clock of a place shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallClock {
    /// The place's name as it was written; none = the machine's own.
    pub zone: Option<String>,
    /// Seconds that it is before UTC, before the first change.
    pub offset: i32,
    /// When that changes, and to what; in order.
    pub changes: Vec<(Time, i32)>,
}

impl Hours {
    /// Returns whether it is within the hours.
    pub fn is_open(&self, now: Time) -> bool {
        let minute = self.clock.minute(now);
        self.between.iter().any(|between| between.holds(minute))
    }

    /// Returns when the hours begin or end next; none if they never do.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        let open = self.is_open(now);
        let mut at = now;
        for _ in 0..MOST_CHANGES {
            let end = self.clock.next_change(at);
            let found =
                self.edges(at).filter(|edge| end.is_none_or(|end| *edge < end)).find(|at| self.is_open(*at) != open);
            match (found, end) {
                (Some(found), _) => return Some(found),
                (None, Some(end)) if self.is_open(end) != open => return Some(end),
                (None, Some(end)) => at = end,
                (None, None) => return None,
            }
        }
        None
    }

    /// Returns the moments after this one, within a day, at which the clock shows the begin or the end of a stretch, if
    /// it is not put on or back before; in order.
    fn edges(&self, after: Time) -> impl Iterator<Item = Time> {
        let local = self.clock.local(after);
        let day = local.div_euclid(86_400_000) * 86_400_000;
        let minutes = self.between.iter().flat_map(|between| [between.from, between.to]);
        let mut edges: Vec<u64> = minutes
            .flat_map(|minute| [0, 86_400_000].map(|later| day + later + i64::from(minute) * 60_000))
            .filter(|edge| *edge > local)
            .map(|edge| after.0.saturating_add_signed(edge - local))
            .collect();
        edges.sort_unstable();
        edges.into_iter().map(Time)
    }

    /// Returns what the clock shows at a moment, with its place's name.
    pub fn clock(&self, at: Time) -> String {
        let minute = self.clock.minute(at);
        let zone = self.clock.zone.as_ref().map(|zone| format!(" {zone}")).unwrap_or_default();
        format!("{:02}:{:02}{zone}", minute / 60, minute % 60)
    }
}

impl Between {
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

    fn holds(self, minute: u16) -> bool {
        match self.from < self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
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

impl WallClock {
    fn offset_at(&self, at: Time) -> i32 {
        let before = self.changes.partition_point(|(since, _)| *since <= at);
        before.checked_sub(1).map_or(self.offset, |last| self.changes[last].1)
    }

    fn next_change(&self, after: Time) -> Option<Time> {
        self.changes.get(self.changes.partition_point(|(since, _)| *since <= after)).map(|(since, _)| *since)
    }

    /// Returns what it shows, as milliseconds of its own.
    fn local(&self, at: Time) -> i64 {
        at.0 as i64 + i64::from(self.offset_at(at)) * 1000
    }

    fn minute(&self, at: Time) -> u16 {
        (self.local(at).div_euclid(60_000).rem_euclid(i64::from(DAY))) as u16
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, between) in self.between.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            let (from, to) = (between.from, between.to);
            write!(f, "{comma}{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)?;
        }
        self.clock.zone.as_ref().map_or(Ok(()), |zone| write!(f, " {zone}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: u64 = 1_767_225_600_000;

    fn hours(between: &[&str], clock: WallClock) -> Hours {
        Hours { between: between.iter().map(|text| Between::parse(text).expect("valid")).collect(), clock }
    }

    /// A place an hour before UTC, two in the summer of 2026: from the end of March to the end of October.
    fn berlin() -> WallClock {
        let (spring, autumn) = (Time(1_774_746_000_000), Time(1_792_890_000_000));
        WallClock { zone: Some("Europe/Berlin".into()), offset: 3_600, changes: vec![(spring, 7_200), (autumn, 3_600)] }
    }

    #[test]
    fn a_night_goes_over_midnight() {
        let night = hours(&["22:00-06:00"], WallClock::default());
        let at = |hour: u64| Time(NEW_YEAR + hour * HOUR);
        let open: Vec<bool> = [0, 5, 6, 12, 21, 22, 23, 24, 30].map(|hour| night.is_open(at(hour))).into();
        assert_eq!(open, [true, true, false, false, false, true, true, true, false]);
        assert_eq!(night.next_change(at(12)), Some(at(22)));
        assert_eq!(night.next_change(at(23)), Some(at(30)));
        assert_eq!(night.next_change(at(22)), Some(at(30)), "an edge is over when it is there");
        assert_eq!((night.clock(at(22)), night.to_string()), ("22:00".into(), "22:00-06:00".into()));
    }

    #[test]
    fn several_stretches_are_one_or_the_other() {
        let split = hours(&["08:00-12:00", "13:30-18:00"], berlin());
        let at = |minutes: u64| Time(NEW_YEAR + minutes * 60_000 - HOUR);
        assert_eq!([8 * 60, 12 * 60, 13 * 60 + 30].map(|minutes| split.is_open(at(minutes))), [true, false, true]);
        assert_eq!(split.next_change(at(12 * 60)), Some(at(13 * 60 + 30)));
        assert_eq!(split.clock(at(13 * 60 + 30)), "13:30 Europe/Berlin");
    }

    #[test]
    fn on_the_day_on_which_clocks_are_put_on_the_missing_hour_is_not_there() {
        let early = hours(&["02:30-04:00"], berlin());
        let spring = Time(1_774_746_000_000);
        let before = Time(spring.0 - 60_000);
        assert!(!early.is_open(before), "01:59");
        assert!(early.is_open(spring), "03:00 comes after 01:59");
        assert_eq!(early.next_change(before), Some(spring));
        assert_eq!(early.next_change(spring), Some(Time(spring.0 + HOUR)));
        let missing = hours(&["02:10-02:50"], berlin());
        let tomorrow = Time(spring.0 + 23 * HOUR + 10 * 60_000);
        assert_eq!(missing.next_change(before), Some(tomorrow), "that night it does not come");
        assert_eq!(missing.clock(tomorrow), "02:10 Europe/Berlin");
    }

    #[test]
    fn on_the_day_on_which_clocks_are_put_back_the_hour_comes_twice() {
        let early = hours(&["02:15-02:45"], berlin());
        let autumn = Time(1_792_890_000_000);
        let mut changes = vec![Time(autumn.0 - HOUR)];
        for _ in 0..4 {
            changes.push(early.next_change(*changes.last().expect("one")).expect("it goes on"));
        }
        let minutes: Vec<i64> = changes[1..].iter().map(|at| (at.0 as i64 - autumn.0 as i64) / 60_000).collect();
        assert_eq!(minutes, [-45, -15, 15, 45]);
    }

    #[test]
    fn what_is_no_stretch_of_a_day_is_refused() {
        for text in
            ["", "22:00", "22-6", "22:00-25:00", "22:60-06:00", "22:0-06:00", "a:00-b:00", "24:01-06:00", "22:00--6:00"]
        {
            assert!(Between::parse(text).expect_err(text).contains("22:00-06:00"), "{text}");
        }
        for text in ["06:00-06:00", "00:00-24:00", "0:00-00:00"] {
            assert!(Between::parse(text).expect_err(text).contains("leave it out"), "{text}");
        }
        assert_eq!(Between::parse(" 9:00 - 24:00 "), Ok(Between { from: 540, to: 1_440 }));
        assert_eq!(Between::parse("22:00-00:00"), Ok(Between { from: 1_320, to: 1_440 }));
        assert_eq!(Between::parse("24:00-06:00"), Ok(Between { from: 0, to: 360 }));
    }
}
