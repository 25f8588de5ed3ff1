//! The cross-checks of a generation: what only shows when all files have been read.
//! The fields of a single spec are `spec`'s matter. No Lua is called here, and the first mistake hides no other.

use super::declare::{At, Registry};
use super::error::CharterError;
use super::point;
use super::sources::Sources;
use crate::fleet::ids::WorkerName;
use crate::fleet::refusal::nearest;

/// Returns every mistake that a whole charter has.
pub(super) fn generation(registry: &Registry, sources: &Sources) -> Vec<CharterError> {
    let mut errors = Vec::new();
    let mut wrong = |at: &At, text: Option<&str>, message: String| {
        let mut error = CharterError::at(sources, &at.file, at.line, message);
        if let Some(text) = text {
            point::at_text(&mut error, sources, text);
        }
        errors.push(error);
    };
    let profiles: Vec<&str> = registry.profiles.iter().map(|(p, _)| p.profile.name.as_str()).collect();
    for (role, at) in &registry.roles {
        for profile in &role.profiles {
            if profiles.contains(&profile.as_str()) {
                continue;
            }
            let hint = match nearest(profile.as_str(), profiles.iter().copied()) {
                Some(near) => format!("did you mean '{near}'? "),
                None => String::new(),
            };
            let valid = match profiles.is_empty() {
                true => "no profile is declared".to_owned(),
                false => format!("valid: {}", profiles.join(", ")),
            };
            wrong(
                at,
                Some(profile.as_str()),
                format!("role '{}': there is no profile '{profile}'; {hint}{valid}", role.name),
            );
        }
        if role.name.as_str() == "auto" {
            wrong(at, None, "a role cannot be called 'auto': that word asks the rubrics".to_owned());
        }
        let name = role.name.as_str();
        if WorkerName::from(name).role().is_some() {
            wrong(
                at,
                None,
                format!(
                    "role '{name}' is named like a worker: workers of a role 'x' are called 'x-1', 'x-2'; let it not end in a number"
                ),
            );
        }
    }
    for (profile, at) in registry.profiles.iter().map(|(p, at)| (&p.profile, at)) {
        let used = registry.roles.iter().any(|(role, _)| role.profiles.contains(&profile.name));
        if !used {
            wrong(at, None, format!("profile '{}' is in no role, so that no worker could ever have it", profile.name));
        }
    }
    errors
}
