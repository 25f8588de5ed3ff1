//! Hours by the clock of a place: nights, days of the week, caps inside of windows, and days on which clocks are put on or
//! back. Only tests.

use super::*;

const HOUR: u64 = 3_600_000;
/// 2026-01-01T00:00:00Z.
const NEW_YEAR: u64 = 1_767_225_600_000;

fn hours(between: &[&str], clock: WallClock) -> Hours {
    let window =
        |text: &&str| Window { between: Some(Between::parse(text).expect("valid")), days: Days::ALL, max_busy: None };
    Hours { windows: between.iter().map(window).collect(), closes: true, clock }
}

/// Windows as `(between, days, max_busy)`; an empty text is all of it. Where none holds, the role's own cap counts.
fn windows(windows: &[(&str, &str, u32)], clock: WallClock) -> Hours {
    let window = |(between, days, most): &(&str, &str, u32)| Window {
        between: (!between.is_empty()).then(|| Between::parse(between).expect("valid")),
        days: if days.is_empty() { Days::ALL } else { Days::parse(days).expect("valid") },
        max_busy: Some(*most),
    };
    Hours { windows: windows.iter().map(window).collect(), closes: false, clock }
}

impl Hours {
    fn is_open(&self, at: Time) -> bool {
        self.cap(1, at) > 0
    }

    fn next_change(&self, now: Time) -> Option<Time> {
        let cap = self.cap(1, now);
        self.next(1, now, |next| next != cap)
    }
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
    assert_eq!((night.clock(at(22), at(12)), night.to_string()), ("22:00".into(), "22:00-06:00".into()));
}

#[test]
fn several_stretches_are_one_or_the_other() {
    let split = hours(&["08:00-12:00", "13:30-18:00"], berlin());
    let at = |minutes: u64| Time(NEW_YEAR + minutes * 60_000 - HOUR);
    assert_eq!([8 * 60, 12 * 60, 13 * 60 + 30].map(|minutes| split.is_open(at(minutes))), [true, false, true]);
    assert_eq!(split.next_change(at(12 * 60)), Some(at(13 * 60 + 30)));
    assert_eq!(split.clock(at(13 * 60 + 30), at(60)), "13:30 Europe/Berlin");
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
    assert_eq!(missing.clock(tomorrow, before), "02:10 Europe/Berlin");
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

#[test]
fn a_window_belongs_to_the_day_on_which_it_begins() {
    // 2026-01-01 was a Thursday.
    let night = windows(&[("22:00-06:00", "mon-fri", 12)], WallClock::default());
    let at = |day: u64, hour: u64| Time(NEW_YEAR + (day * 24 + hour) * HOUR);
    let cap = |day: u64, hour: u64| night.cap(2, at(day, hour));
    assert_eq!([cap(0, 21), cap(0, 22), cap(1, 5), cap(1, 6)], [2, 12, 12, 2], "Thursday night");
    assert_eq!([cap(1, 23), cap(2, 5), cap(2, 22), cap(3, 5)], [12, 12, 2, 2], "Friday's goes into Saturday");
    assert_eq!([cap(3, 23), cap(4, 5), cap(4, 22)], [2, 2, 12], "and Monday morning belongs to Sunday");
    assert_eq!(night.next(2, at(2, 6), |cap| cap > 2), Some(at(4, 22)));
    assert_eq!(night.clock(at(4, 22), at(2, 6)), "mon 22:00");
    assert_eq!((night.most(2), night.most(20)), (12, 20));
}

#[test]
fn the_first_window_that_holds_counts_and_outside_of_all_the_cap_of_the_role() {
    let shifts =
        windows(&[("12:00-13:00", "", 0), ("08:00-18:00", "mon-fri", 4), ("", "sat", 9)], WallClock::default());
    let at = |day: u64, minutes: u64| Time(NEW_YEAR + day * 24 * HOUR + minutes * 60_000);
    let cap = |day: u64, hour: u64| shifts.cap(1, at(day, hour * 60));
    assert_eq!([cap(0, 7), cap(0, 8), cap(0, 12), cap(0, 13), cap(0, 18)], [1, 4, 0, 4, 1]);
    assert_eq!([cap(2, 0), cap(2, 12), cap(2, 23), cap(3, 0)], [9, 0, 9, 1], "a whole Saturday, but for its noon");
    let mut changes = vec![at(1, 0)];
    for _ in 0..7 {
        let last = *changes.last().expect("one");
        let cap = shifts.cap(1, last);
        changes.push(shifts.next(1, last, |next| next != cap).expect("it goes on"));
    }
    assert_eq!(changes[1..], [at(1, 480), at(1, 720), at(1, 780), at(1, 1080), at(2, 0), at(2, 720), at(2, 780)]);
    assert_eq!(shifts.idle_window(), None);
    assert_eq!(shifts.to_string(), "12:00-13:00: 0, 08:00-18:00 mon-fri: 4, sat: 9");
}

#[test]
fn a_window_that_never_counts_is_found() {
    let never = |list: &[(&str, &str, u32)]| windows(list, WallClock::default()).idle_window();
    assert_eq!(never(&[("22:00-06:00", "", 3), ("23:00-01:00", "fri", 9)]), Some(1));
    assert_eq!(never(&[("", "mon-fri", 3), ("", "sat-sun", 2), ("08:00-09:00", "", 1)]), Some(2));
    assert_eq!(never(&[("22:00-06:00", "mon-fri", 3), ("22:00-06:00", "", 9)]), None);
    // Saturday's early hours belong to Friday.
    assert_eq!(never(&[("22:00-06:00", "mon-fri", 3), ("00:00-06:00", "sat", 9)]), Some(1));
}

#[test]
fn a_night_on_which_clocks_are_put_on_ends_by_the_clock() {
    let night = windows(&[("22:00-06:00", "sat", 12)], berlin());
    // Saturday 2026-03-28, 22:00 in Berlin; on Sunday at 02:00 clocks are put on.
    let begins = Time(1_774_746_000_000 - 4 * HOUR);
    assert_eq!((night.cap(1, Time(begins.0 - 1)), night.cap(1, begins)), (1, 12));
    let ends = night.next(1, begins, |cap| cap == 1).expect("it ends");
    assert_eq!(ends.since(begins).0 / HOUR, 7, "an hour is missing");
    let next = night.next(1, ends, |cap| cap == 12).expect("it comes again");
    assert_eq!(next.since(begins).0 / HOUR, 7 * 24 - 1);
}
