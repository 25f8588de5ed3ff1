//! What a request is about, as far as the audit may tell it: ids, names and the size of its text.
//!
//! A name counts only if the fleet has it; what else somebody wrote where a name belongs may be anything, also a key
//! that was pasted into the wrong field. No field of free text is ever looked into but for its length.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::requests::{AskRequest, ReplyRequest, RouteRequest, RunRequest, SendRequest, SpawnRequest};
use crate::fleet::Fleet;

/// What stands for a name that the fleet does not have.
const STRANGE: &str = "?";
/// How many targets a line names.
const MOST: usize = 20;
/// How long a name may be in a line.
const LONGEST: usize = 100;

/// A request that tells what it is about.
pub trait Subject {
    /// Returns it; most have nothing to tell.
    fn subject(&self) -> About {
        About::default()
    }
}

/// Ids, names and a size.
#[derive(Clone, Debug, Default)]
pub struct About {
    ids: Vec<String>,
    names: Vec<String>,
    bytes: Option<usize>,
}

impl About {
    /// Adds an id: a turn's, run's, message's or question's.
    pub fn id(mut self, id: impl Display) -> About {
        self.ids.push(id.to_string());
        self
    }

    /// Adds ids that may be there.
    pub fn ids(self, ids: impl IntoIterator<Item = impl Display>) -> About {
        ids.into_iter().fold(self, About::id)
    }

    /// Adds what stands where a name of a role, worker, profile or recipe belongs.
    pub fn name(mut self, name: &str) -> About {
        self.names.push(name.chars().take(LONGEST).collect());
        self
    }

    /// Adds names that may be there.
    pub fn names<'n>(self, names: impl IntoIterator<Item = &'n String>) -> About {
        names.into_iter().fold(self, |about, name| about.name(name))
    }

    /// Adds the size of a text.
    pub fn bytes(self, bytes: usize) -> About {
        About { bytes: Some(bytes), ..self }
    }
}

/// What is known of a request while it is answered. Clones are of the same one; doors put one into the request.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<Mutex<About>>);

impl Noted {
    /// Adds what a request or its outcome tells.
    pub fn add(&self, more: About) {
        let mut about = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        about.ids.extend(more.ids);
        about.names.extend(more.names);
        about.bytes = more.bytes.or(about.bytes);
    }

    /// Returns the targets, names before ids, and the size; to be asked once.
    pub fn told(&self, fleet: &Fleet) -> (Vec<String>, Option<usize>) {
        let about = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let names = about.names.into_iter().map(|name| match is_known(fleet, &name) {
            true => name,
            false => STRANGE.into(),
        });
        let mut target: Vec<String> = names.chain(about.ids).collect();
        if target.len() > MOST {
            let more = target.len() - MOST;
            target.truncate(MOST);
            target.push(format!("+{more}"));
        }
        (target, about.bytes)
    }
}

fn is_known(fleet: &Fleet, name: &str) -> bool {
    let in_team = fleet.team().is_some_and(|team| {
        let roles = team.roles.keys().map(|role| role.as_str());
        let profiles = team.profiles.keys().map(|profile| profile.as_str());
        let recipes = team.recipes.keys().map(|recipe| recipe.as_str());
        roles.chain(profiles).chain(recipes).any(|known| known == name)
    });
    in_team || name == "auto" || fleet.worker(&name.into()).is_some()
}

impl Subject for SendRequest {
    fn subject(&self) -> About {
        About::default().names(self.to.iter().chain(&self.role)).bytes(self.prompt.len())
    }
}

impl Subject for RouteRequest {
    fn subject(&self) -> About {
        About::default().bytes(self.prompt.len())
    }
}

impl Subject for RunRequest {
    fn subject(&self) -> About {
        About::default().name(&self.recipe).bytes(serde_json::to_vec(&self.job).map_or(0, |job| job.len()))
    }
}

impl Subject for ReplyRequest {
    fn subject(&self) -> About {
        About::default().ids(self.question).ids(self.turn).bytes(self.text.len())
    }
}

impl Subject for AskRequest {
    fn subject(&self) -> About {
        About::default().ids(self.turn).bytes(self.text.len())
    }
}

impl Subject for SpawnRequest {
    fn subject(&self) -> About {
        About::default().name(&self.role).names(&self.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Limits;
    use crate::fleet::ids::TurnId;

    #[test]
    fn only_what_the_fleet_has_is_named_and_lists_are_cut() {
        let fleet = Fleet::new(Limits::default());
        let noted = Noted::default();
        noted.add(About::default().name("auto").name("sk-s3cret").bytes(3));
        noted.clone().add(About::default().ids((1..=40).map(TurnId)));
        let (target, bytes) = noted.told(&fleet);
        assert_eq!((target.len(), bytes), (21, Some(3)));
        assert_eq!((&target[..3], target[20].as_str()), (&["auto".into(), "?".into(), "t1".into()][..], "+22"));
    }
}
