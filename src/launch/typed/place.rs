//! The place of a session: the directory in which it works, its private folder, its secrets, and what the markers of its
//! plan stand for. Made before each start, and recalled by a daemon that adopts it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::super::env::Provenance;
use super::super::fill::Fill;
use super::super::plan::Prepared;
use super::super::policy::variable;
use super::super::{guard, home};
use super::files::Facts;
use super::keeper::Keeper;
use super::work::Doing;
use crate::fleet::plan::Plan;
use crate::fleet::team::Profile;

impl Keeper {
    /// Returns the launch plan; a worker of an older version has none.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.worker.profile.plan.as_deref()
    }

    /// Makes everything that a start needs; the error says what stands in the way of any start.
    pub(super) async fn prepare_place(&mut self) -> Result<Prepared, String> {
        let cwd = self.worker.profile.cwd.clone().unwrap_or_else(|| ".".into());
        let cwd = cwd.canonicalize().map_err(|error| format!("{}: {error}", cwd.display()))?;
        let [id, token] = [(); 2].map(|()| random());
        let (id, token) = (uuid(id.map_err(unfit)?), hex(&token.map_err(unfit)?));
        self.facts = Facts { cwd, id, url: self.desk.options.url.clone(), token, ..Facts::default() };
        let (profile, policy) = (&self.worker.profile, &self.desk.options.policy);
        let fill = policy.fill(self.fill(), profile, variable).map_err(|error| error.to_string())?;
        let provenance = Provenance {
            turn: None,
            worker: self.worker.name.to_string(),
            state: self.desk.options.sessions.parent().unwrap_or(Path::new("")).display().to_string(),
            token: Some(self.facts.token.clone()),
        };
        let prepared = Prepared::of(profile, &provenance, policy, &fill).map_err(|error| error.to_string())?;
        let (plan, mut facts) = (profile.plan.clone(), self.facts.clone());
        let made = self.dir.on_disk(move |dir| {
            if let Some(plan) = plan {
                home::make(&dir.home(), &plan, &fill, &facts.cwd).map_err(|error| error.to_string())?;
                facts.found = plan.guard.as_ref().map(|one| guard::look(one, &fill, &facts.cwd)).unwrap_or_default();
            }
            dir.write_facts(&facts).map_err(|error| format!("{}: {error}", dir.path().display()))?;
            Ok::<_, String>(facts)
        });
        self.facts = made.await?;
        Ok(prepared)
    }

    /// Takes up what an earlier daemon wrote down of the session.
    pub(super) fn recall(&mut self) {
        if self.facts.id.is_empty()
            && let Some(facts) = self.dir.facts()
        {
            self.facts = facts;
        }
        if self.facts.cwd.as_os_str().is_empty() {
            self.facts.cwd = self.worker.profile.cwd.clone().unwrap_or_else(|| ".".into());
        }
    }

    /// Says why it cannot reach the daemon, if it cannot: it was started for another address.
    pub(super) fn astray(&self) -> Option<String> {
        let (then, now) = (&self.facts.url, &self.desk.options.url);
        let needs = self.plan().is_some_and(|plan| plan.lists_tools || !plan.signs.is_empty());
        (needs && !then.is_empty() && then != now).then(|| {
            format!("it was started when fleetd was at {then}, and finds nobody there now that it is at {now}: stop it, or start fleetd there again")
        })
    }

    /// Returns what the markers of its plan stand for, without the endpoint.
    pub(super) fn fill(&self) -> Fill {
        Fill::default()
            .with("name", self.worker.name.as_str())
            .with("role", self.worker.role.as_str())
            .with("cwd", self.facts.cwd.display().to_string())
            .with("home", self.dir.home().display().to_string())
            .with("user_home", user_home(&self.worker.profile))
            .with("id", &self.facts.id)
            .with("url", &self.desk.options.url)
            .with("fleetd", self.desk.options.program.display().to_string())
            .with("identity", self.identity())
    }

    /// Tells the program who it is and what it is at: it may have forgotten.
    fn identity(&self) -> String {
        let worker = &self.worker;
        let mut text = format!(
            "You are {}, a worker of the role {} in a fleet. A message from it begins with a line such as \
             [fleet turn t1 from leader]; your last answer in that turn is your reply to whoever sent it.",
            worker.name, worker.role
        );
        if let Doing::Working(working) = &self.doing {
            text.push_str(&format!(
                "\nYou are at turn {}, which is not answered yet. Its text was:\n{}",
                working.turn, working.text
            ));
        }
        text
    }
}

/// Returns the home directory that a worker is given.
fn user_home(profile: &Profile) -> String {
    profile.env.get("HOME").cloned().or_else(|| variable("HOME")).unwrap_or_default()
}

fn unfit(error: io::Error) -> String {
    format!("the system gives no random bytes: {error}")
}

fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes random bytes as a UUID of version 4.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_marks() {
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_ne!(random().expect("there are some"), random().expect("there are some"));
    }
}
