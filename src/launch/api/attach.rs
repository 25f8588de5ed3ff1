//! Workers whose program somebody else has started: found at the address of their endpoint, one worker a program, and left
//! as it is at the end. It may go and come back; nothing of it is started or ended here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::super::session::dir::{Facts, SessionDir};
use super::http::Address;
use super::keeper::Keeper;
use crate::fleet::ids::WorkerName;
use crate::fleet::input::Sighting;
use crate::fleet::worker::WorkerState;

/// How often a program is asked that is not ready.
const ASK: Duration = Duration::from_millis(200);

/// Which programs have which worker, by where they are.
#[derive(Clone, Default)]
pub(super) struct Taken(Arc<Mutex<HashMap<String, Owner>>>);

/// A worker with its session: the next one may be there before the one before has let go.
type Owner = (WorkerName, u64);

/// Keeps a program for one worker until it is dropped.
pub(super) struct Hold {
    taken: Taken,
    place: String,
    owner: Owner,
}

impl Taken {
    /// Takes a program for a worker's session. The error is the worker that has it.
    fn take(&self, address: &Address, owner: Owner) -> Result<Hold, WorkerName> {
        let place = address.place();
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get(&place) {
            // An earlier session of the same worker is about to let go.
            Some((other, _)) if *other != owner.0 => Err(other.clone()),
            _ => {
                taken.insert(place.clone(), owner.clone());
                Ok(Hold { taken: self.clone(), place, owner })
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut taken = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.get(&self.place) == Some(&self.owner) {
            taken.remove(&self.place);
        }
    }
}

impl Keeper {
    /// Returns whether its program is somebody else's.
    pub(super) fn is_attached(&self) -> bool {
        self.plan().and_then(|plan| plan.api.as_ref()).is_some_and(|api| api.attach)
    }

    /// Returns where that is.
    pub(super) fn address_of_others(&self) -> Result<Address, String> {
        let url = self.url_of_others()?;
        let rest = url.strip_prefix("http://");
        let rest = rest.ok_or_else(|| format!("{url}: fleetd speaks no TLS to workers; name an http address"))?;
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let has_port = authority.rsplit_once(']').map_or(authority, |(_, after)| after).contains(':');
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Address::new(authority, prefix.trim_end_matches('/').to_owned(), None))
    }

    fn url_of_others(&self) -> Result<String, String> {
        let endpoint = self.desk.common.policy.endpoint(&self.worker.profile).map_err(|error| error.to_string())?;
        let url = endpoint.map(|endpoint| endpoint.url.trim_end_matches('/').to_owned());
        url.ok_or_else(|| "its profile names no endpoint".into())
    }

    /// Finds the program and takes it for this worker; returns false when the session is over already.
    pub(super) async fn attach(&mut self, may_start: bool) -> bool {
        let known = self.dir.facts();
        if known.is_none() && !may_start {
            let (worker, session) = (self.worker.name.clone(), self.worker.session);
            let why = "nobody knows any more what it was attached to".into();
            self.desk.common.tell(Sighting::Gone { worker, session, why }).await;
            return false;
        }
        if let Err(why) = self.take_it(known).await {
            self.not_attached(why).await;
            return false;
        }
        if self.worker.state != WorkerState::Starting {
            return true;
        }
        let timeout = self.worker.profile.typing().ready_timeout;
        let until = Instant::now() + timeout.std();
        loop {
            if self.stop.is_cancelled() {
                self.end(None, "it was stopped").await;
                return false;
            }
            let Some(api) = self.api() else { return false };
            let missing = match self.shows(&api.ready).await {
                Ok(true) => {
                    self.desk.common.tell(Sighting::Up { worker: self.worker.name.clone() }).await;
                    return true;
                }
                Ok(false) => "it answers otherwise than it would".to_owned(),
                Err(error) => error.to_string(),
            };
            if Instant::now() >= until {
                self.not_attached(format!("not ready within {timeout}: {missing}")).await;
                return false;
            }
            match tokio::time::timeout(ASK, self.orders.recv()).await {
                Ok(Some(order)) => self.take(order).await,
                Ok(None) => return false,
                Err(_) => {}
            }
        }
    }

    async fn take_it(&mut self, known: Option<Facts>) -> Result<(), String> {
        let (address, url) = (self.address_of_others()?, self.url_of_others()?);
        if let Some(server) = known.as_ref().and_then(|facts| facts.server.as_ref()).filter(|server| **server != url) {
            return Err(format!("it was attached to {server}, and its endpoint names {url} now"));
        }
        let hold = self.desk.taken.take(&address, (self.worker.name.clone(), self.worker.session));
        self.hold = Some(hold.map_err(|other| format!("the program at {url} has a worker already: {other}"))?);
        self.facts = known.unwrap_or_else(|| Facts { cwd: "/".into(), server: Some(url), ..Facts::default() });
        self.dir.on_disk(SessionDir::create).await.map_err(|error| error.to_string())?;
        self.keep_facts().await;
        self.learn_signs();
        Ok(())
    }

    async fn not_attached(&mut self, why: String) {
        let why = why + &self.clear_away().await;
        let (worker, session) = (self.worker.name.clone(), self.worker.session);
        let sighting = match self.worker.state {
            WorkerState::Starting => Sighting::NotUp { worker, why },
            // It had been; what became of its turn cannot be asked for any more.
            _ => Sighting::Gone { worker, session, why },
        };
        self.desk.common.tell(sighting).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_worker_however_its_address_is_spelt() {
        let at = |authority: &str| Address::new(authority.into(), "/v1".into(), None);
        let (taken, first, second) = (Taken::default(), WorkerName::from("w-1"), WorkerName::from("w-2"));
        let held = taken.take(&at("LocalHost:4000"), (first.clone(), 1)).expect("nobody has it");
        assert_eq!(taken.take(&at("127.0.0.1:4000"), (second.clone(), 2)).err(), Some(first.clone()));
        assert!(taken.take(&at("127.0.0.1:4001"), (second.clone(), 2)).is_ok(), "another port is another program");
        let next = taken.take(&at("localhost:4000"), (first.clone(), 3)).expect("its own next session");
        drop(held);
        let other = taken.take(&at("localhost:4000"), (second.clone(), 2)).err();
        assert_eq!(other, Some(first), "the session before let go of its own hold alone");
        drop(next);
        assert!(taken.take(&at("localhost:4000"), (second, 2)).is_ok(), "it was let go");
    }
}
