//! The hours of a role: from when until when, on which days and by the clock on the wall of a place, it may be handed
//! anything, and how much of it.
//!
//! What a place's clock shows is told as plain numbers, worked out when the charter is read: how far it is from UTC, and
//! at which moments that changes. So nothing here knows of time zones, and the days on which clocks are put on or back
//! are days like all others: what counts is what the clock shows.

mod days;
mod stretch;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use days::Days;
pub use stretch::Between;

use super::time::Time;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// How many changes of the clock are looked through for the next change of the hours: between two of them lies at least a
/// day, on which the hours begin.
const MOST_CHANGES: usize = 4;

/// After so many days, the same hours come again.
const WEEK: i64 = 7;

/// How many windows a role may have.
pub const MOST_WINDOWS: usize = 20;

/// When a role may be handed anything, and how many of it may be busy then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    /// The first one that holds counts.
    pub windows: Vec<Window>,
    /// What counts where none holds: nothing is handed out, or else the role's own cap.
    pub closes: bool,
    /// By which clock.
    pub clock: WallClock,
}

/// Some hours of some days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Which part of a day; none = all of it.
    pub between: Option<Between>,
    /// The days on which it begins.
    pub days: Days,
    /// How many may be busy in it, 0 = nothing is handed out; none = the role's own cap.
    pub max_busy: Option<u32>,
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
    /// Returns how many may be busy at a moment, of a role with this cap of its own.
    pub fn cap(&self, own: u32, at: Time) -> u32 {
        let (day, minute) = self.clock.day_and_minute(at);
        self.cap_at(own, day, minute)
    }

    /// Returns how many may be busy at most, whenever that is.
    pub fn most(&self, own: u32) -> u32 {
        let outside = if self.closes { 0 } else { own };
        self.windows.iter().map(|window| window.max_busy.unwrap_or(own)).fold(outside, u32::max)
    }

    /// Returns the first moment after this one at which the cap is another one, as wanted.
    pub fn next(&self, own: u32, now: Time, wanted: impl Fn(u32) -> bool) -> Option<Time> {
        let fits = |at: &Time| wanted(self.cap(own, *at));
        let mut at = now;
        for _ in 0..MOST_CHANGES {
            let end = self.clock.next_change(at);
            let found = self.edges(at).filter(|edge| end.is_none_or(|end| *edge < end)).find(fits);
            match (found, end) {
                (Some(found), _) => return Some(found),
                (None, Some(end)) if fits(&end) => return Some(end),
                (None, Some(end)) => at = end,
                (None, None) => return None,
            }
        }
        None
    }

    /// Returns the window that never counts, since those before it hold at all of its times.
    pub fn idle_window(&self) -> Option<usize> {
        let mut counts = vec![false; self.windows.len()];
        for day in 0..WEEK {
            for minute in 0..DAY {
                if let Some(first) = self.windows.iter().position(|window| window.holds(day, minute)) {
                    counts[first] = true;
                }
            }
        }
        counts.iter().position(|counts| !counts)
    }

    /// Returns what the clock shows at a moment, with its place's name, and with the day where that is a day away.
    pub fn clock(&self, at: Time, now: Time) -> String {
        let (day, minute) = self.clock.day_and_minute(at);
        let day = match at.since(now).0 < 86_400_000 {
            true => String::new(),
            false => format!("{} ", Days::name(day)),
        };
        let zone = self.clock.zone.as_ref().map(|zone| format!(" {zone}")).unwrap_or_default();
        format!("{day}{:02}:{:02}{zone}", minute / 60, minute % 60)
    }

    fn cap_at(&self, own: u32, day: i64, minute: u16) -> u32 {
        match self.windows.iter().find(|window| window.holds(day, minute)) {
            Some(window) => window.max_busy.unwrap_or(own),
            None if self.closes => 0,
            None => own,
        }
    }

    /// Returns the moments after this one, within a week, at which the clock shows the begin or the end of a stretch, if
    /// it is not put on or back before; in order.
    fn edges(&self, after: Time) -> impl Iterator<Item = Time> {
        let local = self.clock.local(after);
        let day = local.div_euclid(86_400_000) * 86_400_000;
        let minutes = self.windows.iter().flat_map(|window| match window.between {
            Some(between) => [between.from, between.to],
            None => [0, DAY],
        });
        let mut minutes: Vec<i64> = minutes.map(i64::from).collect();
        minutes.sort_unstable();
        minutes.dedup();
        // A day after the other, since most often the first one has it.
        (0..=WEEK)
            .flat_map(move |later| {
                let of_day = minutes.iter().map(move |minute| day + later * 86_400_000 + minute * 60_000);
                of_day.collect::<Vec<_>>()
            })
            .filter(move |edge| *edge > local)
            .map(move |edge| Time(after.0.saturating_add_signed(edge - local)))
    }
}

impl Window {
    /// Returns whether it holds at a minute of a day. What goes over midnight belongs to the day on which it began.
    fn holds(&self, day: i64, minute: u16) -> bool {
        match self.between {
            None => self.days.holds(day),
            Some(between) if between.from < between.to => {
                (between.from..between.to).contains(&minute) && self.days.holds(day)
            }
            Some(between) => {
                (minute >= between.from && self.days.holds(day)) || (minute < between.to && self.days.holds(day - 1))
            }
        }
    }
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

    /// Returns the day, counted from a Monday, and the minute of it.
    fn day_and_minute(&self, at: Time) -> (i64, u16) {
        let minutes = self.local(at).div_euclid(60_000);
        // 1970-01-01 was a Thursday.
        (minutes.div_euclid(i64::from(DAY)) + 3, minutes.rem_euclid(i64::from(DAY)) as u16)
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, window) in self.windows.iter().enumerate() {
            f.write_str(if n > 0 { ", " } else { "" })?;
            window.fmt(f)?;
        }
        self.clock.zone.as_ref().map_or(Ok(()), |zone| write!(f, " {zone}"))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(between) = self.between {
            write!(f, "{between}")?;
        }
        if self.days != Days::ALL {
            write!(f, "{}{}", if self.between.is_some() { " " } else { "" }, self.days)?;
        }
        self.max_busy.map_or(Ok(()), |most| write!(f, ": {most}"))
    }
}

#[cfg(test)]
mod tests;
