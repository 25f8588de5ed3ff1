//! The place of a session: the directory in which it works, its private folder, its secrets, and what the markers of its
//! plan stand for. Made before each start, and recalled by a daemon that adopts it.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::super::env::Provenance;
use super::super::fill::Fill;
use super::super::plan::Prepared;
use super::super::policy::{Policy, variable};
use super::super::{guard, home};
use super::dir::{Facts, SessionDir};
use crate::fleet::ids::TurnId;
use crate::fleet::team::Profile;
use crate::fleet::worker::Worker;

/// Where a session is made, and for whom.
pub(in crate::launch) struct Site<'a> {
    /// Whose session it is.
    pub worker: &'a Worker,
    /// Its directory.
    pub dir: &'a SessionDir,
    /// What the operator allows.
    pub policy: &'a Policy,
    /// Where the doors are.
    pub url: &'a str,
    /// A program that has `pane-exec` and `hook`.
    pub program: &'a Path,
}

impl Site<'_> {
    /// Makes everything that a start needs; the error says what stands in the way of any start.
    pub(in crate::launch) async fn prepare(&self) -> Result<(Prepared, Facts), String> {
        let cwd = self.worker.profile.cwd.clone().unwrap_or_else(|| ".".into());
        let cwd = cwd.canonicalize().map_err(|error| format!("{}: {error}", cwd.display()))?;
        // One that is on its way may still come up: it must be the session that is known.
        let known = self.dir.facts().filter(|facts| !facts.id.is_empty());
        let mut facts = match &known {
            Some(facts) => facts.clone(),
            None => {
                let [id, token, password] = [(); 3].map(|()| random());
                let (id, token) = (uuid(id.map_err(unfit)?), hex(&token.map_err(unfit)?));
                let mut facts = Facts { cwd, id, url: self.url.to_owned(), token, ..Facts::default() };
                if self.worker.profile.plan.as_ref().is_some_and(|plan| plan.api.is_some()) {
                    facts.password = hex(&password.map_err(unfit)?);
                    facts.port = Some(free_port().map_err(|error| format!("no port is free on loopback: {error}"))?);
                }
                facts
            }
        };
        let (profile, policy) = (&self.worker.profile, self.policy);
        let fill = policy.fill(self.fill(&facts, None), profile, variable).map_err(|error| error.to_string())?;
        // A session's directory is two below the daemon's state.
        let state = self.dir.path().parent().and_then(Path::parent).unwrap_or(Path::new(""));
        let provenance = Provenance {
            turn: None,
            worker: self.worker.name.to_string(),
            state: state.display().to_string(),
            token: Some(facts.token.clone()),
        };
        let prepared = Prepared::of(profile, &provenance, policy, &fill).map_err(|error| error.to_string())?;
        if known.is_some() {
            return Ok((prepared, facts));
        }
        let plan = profile.plan.clone();
        let unwanted = plan.as_ref().and_then(|plan| plan.guard.as_ref()).map(|guard| guard.unwanted.clone());
        if let Some(found) = guard::unwanted::find(&unwanted.unwrap_or_default(), &facts.cwd) {
            return Err(format!(
                "its program would run something of the project inside itself: {found}; see the options of its launcher, or take that away"
            ));
        }
        let made = self.dir.on_disk(move |dir| {
            if let Some(plan) = plan {
                home::make(&dir.home(), &plan, &fill, &facts.cwd).map_err(|error| error.to_string())?;
                facts.found = plan.guard.as_ref().map(|one| guard::look(one, &fill, &facts.cwd)).unwrap_or_default();
            }
            dir.write_facts(&facts).map_err(|error| format!("{}: {error}", dir.path().display()))?;
            Ok::<_, String>(facts)
        });
        Ok((prepared, made.await?))
    }

    /// Takes up what an earlier daemon wrote down of the session.
    pub(in crate::launch) fn recall(&self, facts: &mut Facts) {
        if facts.id.is_empty()
            && let Some(written) = self.dir.facts()
        {
            *facts = written;
        }
        if facts.cwd.as_os_str().is_empty() {
            facts.cwd = self.worker.profile.cwd.clone().unwrap_or_else(|| ".".into());
        }
    }

    /// Says why it cannot reach the daemon, if it cannot: it was started for another address.
    pub(in crate::launch) fn astray(&self, facts: &Facts) -> Option<String> {
        let (then, now) = (&*facts.url, self.url);
        let plan = self.worker.profile.plan.as_deref();
        // Events come to us; hooks look for us.
        let needs = plan.is_some_and(|plan| plan.lists_tools || (plan.api.is_none() && !plan.signs.is_empty()));
        (needs && !then.is_empty() && then != now).then(|| {
            format!("it was started when fleetd was at {then}, and finds nobody there now that it is at {now}: stop it, or start fleetd there again")
        })
    }

    /// Returns what the markers of its plan stand for, without the endpoint; `at` is the turn it is at, with its text.
    pub(in crate::launch) fn fill(&self, facts: &Facts, at: Option<(TurnId, &str)>) -> Fill {
        Fill::default()
            .with("name", self.worker.name.as_str())
            .with("role", self.worker.role.as_str())
            .with("cwd", facts.cwd.display().to_string())
            .with("home", self.dir.home().display().to_string())
            .with("id", &facts.id)
            .with("url", self.url)
            .with("fleetd", self.program.display().to_string())
            .with("identity", self.identity(at))
            .with("user_home", user_home(&self.worker.profile))
            .with("turn", at.map(|(turn, _)| turn.to_string()).unwrap_or_default())
            .with("port", facts.port.map(|port| port.to_string()).unwrap_or_default())
            .with("conversation", facts.conversation.as_deref().unwrap_or_default())
            .with_secret("password", &facts.password)
    }

    /// Tells the program who it is and what it is at: it may have forgotten.
    fn identity(&self, at: Option<(TurnId, &str)>) -> String {
        let worker = self.worker;
        let mut identity = format!(
            "You are {}, a worker of the role {} in a fleet. A message from it begins with a line such as \
             [fleet turn t1 from leader]; your last answer in that turn is your reply to whoever sent it.",
            worker.name, worker.role
        );
        if let Some((turn, text)) = at {
            identity.push_str(&format!("\nYou are at turn {turn}, which is not answered yet. Its text was:\n{text}"));
        }
        identity
    }
}

/// Returns the home directory that a worker is given.
fn user_home(profile: &Profile) -> String {
    profile.env.get("HOME").cloned().or_else(|| variable("HOME")).unwrap_or_default()
}

/// Returns a port on which nobody listens. Somebody else may be faster to take it: whoever is called there is asked for
/// the session's password, so that is seen.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
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
