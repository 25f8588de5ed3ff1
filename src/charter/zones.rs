//! Time zones: what the clock of a place shows, worked out once when a charter is read, for the hours of roles.
//! The fleet gets plain numbers; what the machine's database of zones says comes in nowhere else.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::fleet::hours::WallClock;
use crate::fleet::time::Time;

/// Where machines keep their database of zones.
const DATABASES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// Changes of a clock are worked out from 2020 to 2100: no daemon lives longer on one charter.
const FROM: i64 = 1_577_836_800;
const TO: i64 = 4_102_444_800;

/// Returns what the clock of a place shows, or that of the machine.
pub(super) fn clock_of(zone: Option<&str>) -> Result<WallClock, String> {
    let found = match zone {
        None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
        Some("UTC") => TimeZone::UTC,
        Some(name) => read(name, &DATABASES.map(Path::new)).ok_or_else(|| {
            format!("there is no zone '{name}' on this machine; write for example \"Europe/Berlin\" or \"UTC\", or leave it out for the machine's own")
        })?,
    };
    Ok(worked_out(&found, zone))
}

fn read(name: &str, databases: &[&Path]) -> Option<TimeZone> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-');
    if name.is_empty() || name.starts_with('/') || !name.chars().all(good) {
        return None;
    }
    let data = databases.iter().find_map(|database| fs::read(database.join(name)).ok())?;
    TimeZone::tzif(name, &data).ok()
}

fn worked_out(zone: &TimeZone, name: Option<&str>) -> WallClock {
    let from = Timestamp::from_second(FROM).expect("a moment of the calendar");
    let to = Timestamp::from_second(TO).expect("a moment of the calendar");
    let changes = zone.following(from).take_while(|change| change.timestamp() < to);
    let changes = changes.map(|change| (moment(change.timestamp()), change.offset().seconds()));
    WallClock { zone: name.map(str::to_owned), offset: zone.to_offset(from).seconds(), changes: changes.collect() }
}

fn moment(at: Timestamp) -> Time {
    Time(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_of_a_clock_are_worked_out_for_decades() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule");
        let clock = worked_out(&zone, Some("Europe/Berlin"));
        assert_eq!((clock.zone.as_deref(), clock.offset, clock.changes.len()), (Some("Europe/Berlin"), 3_600, 160));
        let spring_2026 = (Time(1_774_746_000_000), 7_200);
        assert!(clock.changes.contains(&spring_2026), "{:?}", &clock.changes[..14]);
    }

    #[test]
    fn a_zone_is_a_name_and_no_path() {
        assert_eq!(clock_of(Some("UTC")).expect("always there").changes, []);
        for name in ["", "/etc/passwd", "../../../etc/passwd", "Mars/Olympus", "Europe/Berlin\0"] {
            assert!(clock_of(Some(name)).expect_err(name).starts_with("there is no zone '"), "{name}");
        }
        clock_of(None).expect("the machine has a clock");
    }
}
