//! The only place that writes a worker's environment.
//!
//! It is built from an allow-list and never inherited, so that no value of the leader's or the operator's session
//! reaches a worker by accident. No value is ever logged here, and none is kept.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

use crate::process::ProcessId;

/// The variable by which a worker's processes are known as pane-exec's, wherever they went.
pub const ROOT: &str = "FLEET_ROOT";

/// What a worker gets of the daemon's own environment, when it is set there.
const ALLOWED: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];

/// Also allowed: the locale, each variable by its name, since the environment is never listed.
const LOCALE: &[&str] = &[
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// What fleetd itself tells a worker.
#[derive(Clone)]
pub struct Provenance {
    /// The turn and who sent it; none for a session, which has many one after the other.
    pub turn: Option<(String, String)>,
    /// The worker that has it.
    pub worker: String,
    /// The daemon's state directory, by which `fleetd ask` and `fleetd reply` find it.
    pub state: String,
    /// What its hooks are known by besides their process, for a session that has hooks.
    pub token: Option<String>,
}

/// A variable of a profile that cannot be set.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// The name is empty or holds `=` or a zero byte.
    #[error("env {0:?} is no name of a variable")]
    Name(String),
    /// The value holds a zero byte.
    #[error("the value of env {0} holds a zero byte")]
    Value(String),
    /// The name is one that fleetd sets.
    #[error("env {0} is set by fleetd and cannot be set by a profile")]
    Ours(String),
}

/// Returns the whole environment of a worker: what is allowed of `ambient`, then the profile's, then fleetd's own.
///
/// # Errors
///
/// Fails when the profile sets what cannot be set.
pub fn of_worker(
    ambient: impl Fn(&str) -> Option<OsString>,
    profile: &BTreeMap<String, String>,
    provenance: &Provenance,
) -> Result<BTreeMap<OsString, OsString>, EnvError> {
    let allowed = ALLOWED.iter().chain(LOCALE);
    let mut environment: BTreeMap<OsString, OsString> =
        allowed.filter_map(|name| Some(((*name).into(), ambient(name)?))).collect();
    for (name, value) in profile {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(EnvError::Name(name.clone()));
        }
        if name.starts_with("FLEET_") {
            return Err(EnvError::Ours(name.clone()));
        }
        if value.contains('\0') {
            return Err(EnvError::Value(name.clone()));
        }
        environment.insert(name.into(), value.into());
    }
    let of_turn = provenance.turn.iter().flat_map(|(turn, from)| [("FLEET_TURN", turn), ("FLEET_FROM", from)]);
    let ours = [("FLEET_WORKER", &provenance.worker), ("FLEET_STATE", &provenance.state)];
    let token = provenance.token.iter().map(|token| ("FLEET_TOKEN", token));
    environment.extend(of_turn.chain(ours).chain(token).map(|(name, value)| (name.into(), value.into())));
    Ok(environment)
}

/// Returns the mark of a pane-exec in the environment of its worker: of one pane-exec only, in one boot.
pub fn root_mark(root: ProcessId) -> String {
    format!("{ROOT}={}", root_value(root))
}

/// Marks the program that pane-exec is about to start. The rest is as the daemon made it for pane-exec.
pub(super) fn mark(command: &mut Command, root: ProcessId) {
    command.env(ROOT, root_value(root));
}

fn root_value(root: ProcessId) -> String {
    format!("{}.{}", root.pid, root.start_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(ambient: &[(&str, &str)], profile: &[(&str, &str)]) -> Result<Vec<String>, EnvError> {
        let ambient: BTreeMap<&str, &str> = ambient.iter().copied().collect();
        let profile = profile.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let provenance = Provenance {
            turn: Some(("t1".into(), "operator".into())),
            worker: "w-1".into(),
            state: "/s".into(),
            token: None,
        };
        let built = of_worker(|name| ambient.get(name).map(OsString::from), &profile, &provenance)?;
        Ok(built.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect())
    }

    #[test]
    fn only_what_is_listed_comes_through() {
        let ambient = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("ANTHROPIC_API_KEY", "secret"),
            ("CLAUDECODE", "1"),
            ("LD_PRELOAD", "x"),
            ("FLEET_WORKER", "w-outer"),
            ("PATHX", "no"),
        ];
        let built = build(&ambient, &[("TZ", "UTC"), ("PATH", "/opt")]).expect("all can be set");
        let ours = ["FLEET_FROM=operator", "FLEET_STATE=/s", "FLEET_TURN=t1", "FLEET_WORKER=w-1"];
        assert_eq!(built[..4], ours);
        assert_eq!(built[4..], ["LC_ALL=C", "PATH=/opt", "TZ=UTC"]);
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        assert_eq!(build(&[], &[("A=B", "x")]), Err(EnvError::Name("A=B".into())));
        assert_eq!(build(&[], &[("", "x")]), Err(EnvError::Name(String::new())));
        assert_eq!(build(&[], &[("A", "x\0y")]), Err(EnvError::Value("A".into())));
        assert_eq!(build(&[], &[("FLEET_TURN", "t2")]), Err(EnvError::Ours("FLEET_TURN".into())));
    }
}
