//! What a profile grants its workers: which of a worker's few verbs it really has. The rules say what any worker may;
//! a grant can only narrow that. Which words a charter may write is said here too.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::refusal::{Refusal, RefusalKind};
use super::rules::Verb;
use super::state::Fleet;
use super::team::Profile;

/// One thing that a worker can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// To reply to its own turn.
    Reply,
    /// To ask inside its own turn.
    Ask,
}

impl Grant {
    /// All grants, in the order in which they are told.
    pub const ALL: [Grant; 2] = [Grant::Reply, Grant::Ask];

    /// Returns the word for this grant, which is that of its verb.
    pub fn word(self) -> &'static str {
        self.verb().word()
    }

    fn verb(self) -> Verb {
        match self {
            Grant::Reply => Verb::Reply,
            Grant::Ask => Verb::Ask,
        }
    }
}

/// What the workers of a profile are granted; everything unless the profile says less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// Returns no grant at all.
    pub fn none() -> Grants {
        Grants(BTreeSet::new())
    }

    /// Returns whether it is everything.
    pub fn is_everything(&self) -> bool {
        self.0.len() == Grant::ALL.len()
    }

    fn has(&self, verb: Verb) -> bool {
        Grant::ALL.into_iter().all(|grant| grant.verb() != verb || self.0.contains(&grant))
    }
}

impl Default for Grants {
    fn default() -> Grants {
        Grant::ALL.into_iter().collect()
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Grants {
        Grants(grants.into_iter().collect())
    }
}

impl Fleet {
    /// Returns whether a caller has a verb as far as grants go: everybody but a worker has them all, and a worker has
    /// what the profile grants that it was started by.
    pub fn is_granted(&self, caller: &Caller, verb: Verb) -> bool {
        self.profile_of(caller).is_none_or(|profile| profile.grants.has(verb))
    }

    /// Refuses a worker what its profile does not grant, naming what it does.
    pub fn check_grant(&self, caller: &Caller, verb: Verb) -> Result<(), Refusal> {
        let (Caller::Worker { name, .. }, Some(profile)) = (caller, self.profile_of(caller)) else { return Ok(()) };
        if profile.grants.has(verb) {
            return Ok(());
        }
        let granted: Vec<&str> = profile.grants.0.iter().map(|grant| grant.word()).collect();
        let granted = if granted.is_empty() { "nothing".to_string() } else { granted.join(", ") };
        let message =
            format!("worker {name} may not {}: its profile '{}' does not grant it", verb.word(), profile.name);
        Err(Refusal::new(RefusalKind::NotAllowed, message).hint(format!("granted: {granted}")))
    }

    fn profile_of(&self, caller: &Caller) -> Option<&Profile> {
        match caller {
            Caller::Worker { name, .. } => self.worker(name).map(|worker| &*worker.profile),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_narrows_its_own_verb_and_no_other() {
        let only: Grants = [Grant::Reply].into_iter().collect();
        for verb in Verb::ALL {
            assert!(Grants::default().has(verb), "{verb:?}");
            assert_eq!(only.has(verb), verb != Verb::Ask, "{verb:?}");
        }
        assert!(Grants::default().is_everything() && !only.is_everything());
    }

    #[test]
    fn a_stored_profile_without_grants_grants_everything() {
        let old = serde_json::json!({ "name": "p", "launcher": "exec", "command": ["cat"] });
        let profile: Profile = serde_json::from_value(old).expect("a row of an earlier version");
        assert_eq!(profile.grants, Grants::default());
        let narrowed = Profile { grants: [Grant::Ask].into_iter().collect(), ..profile };
        let row = serde_json::to_value(&narrowed).expect("a row");
        assert_eq!(row["grants"], serde_json::json!(["ask"]));
        assert_eq!(serde_json::from_value::<Profile>(row).expect("its row"), narrowed);
    }
}
