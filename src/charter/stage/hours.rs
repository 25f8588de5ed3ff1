//! Hours on the stage: the time of day to which a test goes on, and what closed roles do to what is sent to them.
//! Until a test says what time it is, every role is open. Roles without a zone go by UTC here, on every machine.

use std::borrow::Cow;
use std::sync::Arc;

use super::Stage;
use crate::charter::{testing, zones};
use crate::fleet::hours::{Between, Days, Hours, WallClock, Window};
use crate::fleet::ids::RoleName;
use crate::fleet::load::TeamLoad;
use crate::fleet::team::Role;
use crate::fleet::time::Time;

impl Stage<'_> {
    /// Goes on to the next moment at which a clock shows this.
    pub(in crate::charter) fn goes_on_to(&mut self, clock: &str, zone: Option<&str>) -> Result<(), String> {
        let (day, time) = clock.trim().rsplit_once(' ').unwrap_or(("", clock.trim()));
        let wrong = || format!("'{clock}' is no time of a clock; write for example \"23:00\" or \"sat 23:00\"");
        let minute = Between::minute(time).ok_or_else(wrong)?;
        let days = match day {
            "" => Days::ALL,
            day => Days::parse(day).map_err(|why| format!("{}: {why}", wrong()))?,
        };
        let moment = Window { between: Some(Between { from: minute, to: minute + 1 }), days, max_busy: None };
        let clock_of_zone = zones::clock_of(Some(zone.unwrap_or("UTC")))?;
        let hours = Hours { windows: vec![moment], closes: true, clock: clock_of_zone };
        let at = hours.next(1, self.now, |cap| cap > 0).ok_or_else(wrong)?;
        self.goes_on_at(at);
        self.timed = true;
        self.say(format!("it is {clock} {}", zone.unwrap_or("UTC")));
        Ok(())
    }

    /// Returns when a role opens, and that in words, if it is closed at a moment.
    pub(super) fn opens(&self, role: &RoleName, at: Time) -> Option<(Time, String)> {
        let role = by_utc(self.world.team.roles.get(role).filter(|_| self.timed)?);
        let hours = role.hours.as_ref().filter(|_| !role.is_open(at))?;
        let opens = role.next_cap(at, |cap| cap > 0)?;
        Some((opens, format!("closed: '{}' is handed nothing until {}", role.name, hours.clock(opens, at))))
    }

    /// Returns how the team stands: all of it free, but for what hours say.
    pub(in crate::charter) fn standing(&self) -> TeamLoad {
        let mut load = testing::all_free(&self.world.team);
        for (name, load) in load.roles.iter_mut().filter(|_| self.timed) {
            let Some(role) = self.world.team.roles.get(name).map(by_utc) else { continue };
            let cap = role.cap(self.now);
            load.open = cap > 0;
            load.max_busy = if load.open { cap } else { role.max_busy };
            load.free = cap;
            load.until = role.next_cap(self.now, |next| next != cap);
        }
        load
    }
}

fn by_utc(role: &Role) -> Cow<'_, Role> {
    match role.hours.as_ref().filter(|hours| hours.clock.zone.is_none()) {
        None => Cow::Borrowed(role),
        Some(hours) => {
            let hours = Hours { clock: WallClock::default(), ..(**hours).clone() };
            Cow::Owned(Role { hours: Some(Arc::new(hours)), ..role.clone() })
        }
    }
}
