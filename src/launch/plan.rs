//! A launch plan made ready for one start: argv, directory, environment, limit, its markers filled in. Checked against
//! the operator's policy. Nothing is started here.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::env::{EnvError, Provenance, of_worker};
use super::fill::{Fill, FillError};
use super::policy::Policy;
use crate::fleet::commands::COMMAND;
use crate::fleet::team::Profile;

/// How a program is started: that of one turn, or that of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs; else where the daemon does.
    pub cwd: Option<PathBuf>,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// Why a profile cannot be started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Its command is empty.
    #[error("profile {0} names no command")]
    NoCommand(String),
    /// An argument holds a zero byte.
    #[error("argument {1} of the command of profile {0} holds a zero byte")]
    ZeroByte(String, usize),
    /// The operator did not allow the program.
    #[error("profile {profile} starts {program}, and [launch] executables allows only: {allowed}")]
    NotAllowed {
        /// The profile.
        profile: String,
        /// What it starts.
        program: String,
        /// What may be started.
        allowed: String,
    },
    /// An allowed program is nowhere.
    #[error("cannot start {0}: no directory of PATH has it")]
    NotFound(String),
    /// Its environment cannot be made.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// A marker in it cannot be filled in.
    #[error("the plan of profile {profile}: {field}: {error}")]
    Marker {
        /// The profile.
        profile: String,
        /// Where the marker stands.
        field: String,
        /// What is wrong with it.
        error: FillError,
    },
    /// fleetd.toml does not list its endpoint.
    #[error("profile {profile}: there is no endpoint '{name}' in fleetd.toml; valid: {valid}")]
    NoEndpoint {
        /// The profile.
        profile: String,
        /// What it names.
        name: String,
        /// Those that are listed.
        valid: String,
    },
    /// The key of its endpoint is not there.
    #[error("endpoint '{name}' has its key in the variable {variable}, which is not set where fleetd was started")]
    NoKey {
        /// The endpoint.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Other machines could reach what it starts.
    #[error(
        "profile {0} starts a program that other machines can reach without any proof of who they are; write allow_exposed = true under [launch] in fleetd.toml if nobody else is on this network"
    )]
    Exposed(String),
    /// It names an address itself.
    #[error(
        "profile {profile}: {field} names the host {host}, which is not one of its endpoint: a charter names no address; list it as [endpoints.NAME] in fleetd.toml, and let the profile say endpoint = \"NAME\""
    )]
    Address {
        /// The profile.
        profile: String,
        /// Where the address stands.
        field: String,
        /// Its host.
        host: String,
    },
}

impl Prepared {
    /// Makes the plan of a profile ready, with what its markers stand for.
    ///
    /// # Errors
    ///
    /// Fails when the profile cannot be started as it is, or may not be.
    pub fn of(profile: &Profile, provenance: &Provenance, policy: &Policy, fill: &Fill) -> Result<Self, PlanError> {
        let name = || profile.name.to_string();
        // Rows of older versions have no plan: they are commands.
        let command = profile.plan.as_ref().map_or(&profile.command, |plan| &plan.argv);
        let program = command.first().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| PlanError::NoCommand(name()))?;
        if let Some(at) = command.iter().position(|word| word.contains('\0')) {
            return Err(PlanError::ZeroByte(name(), at));
        }
        policy.check(profile)?;
        let wrong = |field: String| move |error| PlanError::Marker { profile: profile.name.to_string(), field, error };
        let words = command.iter().enumerate();
        let words = words.map(|(n, word)| Ok(fill.text(word).map_err(wrong(format!("argv[{}]", n + 1)))?.into()));
        let mut argv = words.collect::<Result<Vec<OsString>, PlanError>>()?;
        let planned = profile.plan.iter().flat_map(|plan| &plan.env);
        // What the profile says goes over what its launcher thought.
        let variables = planned.chain(&profile.env);
        let variables = variables.map(|(name, value)| {
            let filled = fill.variable(value).map_err(wrong(format!("env.{name}")))?;
            Ok((name.clone(), filled))
        });
        let variables = variables.collect::<Result<BTreeMap<_, _>, PlanError>>()?;
        // A command of a run is from another list of the operator's, and was held against that.
        if !policy.executables.is_empty() && profile.launcher != COMMAND {
            argv[0] = permitted(profile, program, &policy.executables)?;
        }
        Ok(Self {
            argv,
            cwd: profile.cwd.clone(),
            env: of_worker(|name| env::var_os(name), &variables, provenance)?,
            timeout: profile.timeout.map(|span| span.std()),
        })
    }
}

/// Tells whether the operator allows what a profile would start; nothing is filled in, and no key is looked for.
///
/// # Errors
///
/// Fails with what is not allowed, by the name of the field.
pub fn allowed(profile: &Profile, policy: &Policy) -> Result<(), PlanError> {
    policy.check(profile)?;
    let program = profile.plan.as_ref().map_or(&profile.command, |plan| &plan.argv).first();
    program.map_or(Ok(()), |program| permitted(profile, program, &policy.executables).map(drop))
}

/// Returns the program that a profile names as it is started, if the operator allows it.
///
/// # Errors
///
/// Fails when it is not allowed, or allowed and nowhere.
pub(super) fn permitted(profile: &Profile, program: &str, executables: &[String]) -> Result<OsString, PlanError> {
    if executables.is_empty() {
        return Ok(program.into());
    }
    if !executables.iter().any(|allowed| allowed == program) {
        let (program, allowed) = (program.to_owned(), executables.join(", "));
        return Err(PlanError::NotAllowed { profile: profile.name.to_string(), program, allowed });
    }
    allowed_program(program)
}

/// Where a list is in force, a name means the program on the daemon's own PATH: a profile that sets PATH must not
/// be able to turn an allowed name into another program.
fn allowed_program(program: &str) -> Result<OsString, PlanError> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    find(OsStr::new(program), &path).map(Into::into).ok_or_else(|| PlanError::NotFound(program.into()))
}

/// Returns where a program lies on a PATH.
pub fn find(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let is_program =
        |file: &Path| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    // Only full paths: the directory in which the worker runs is not the one in which this looks.
    let places = env::split_paths(path).filter(|directory| directory.is_absolute());
    places.map(|directory| directory.join(program)).find(|file| is_program(file))
}

#[cfg(test)]
pub(in crate::launch) mod tests {
    use super::*;
    use crate::fleet::time::Span;

    pub(in crate::launch) fn profile(command: &[&str]) -> Profile {
        Profile {
            name: "upper".into(),
            about: None,
            launcher: "exec".into(),
            command: command.iter().map(|word| word.to_string()).collect(),
            cwd: Some("/tmp".into()),
            env: BTreeMap::from([("PATH".into(), "/evil".into())]),
            timeout: Some(Span::seconds(30)),
            idle_ttl: None,
            context_cap: None,
            restarts: None,
            grants: Default::default(),
            typing: None,
            model: None,
            endpoint: None,
            plan: None,
            worktree: None,
        }
    }

    fn plan(command: &[&str], executables: &[&str]) -> Result<Prepared, PlanError> {
        let provenance = Provenance {
            turn: Some(("t1".into(), "run r2".into())),
            worker: "w-1".into(),
            state: "/s".into(),
            token: None,
        };
        let executables = executables.iter().map(|word| word.to_string()).collect();
        let policy = Policy { executables, ..Policy::default() };
        Prepared::of(&profile(command), &provenance, &policy, &Fill::default())
    }

    #[test]
    fn without_a_list_the_command_is_taken_as_it_is() {
        let plan = plan(&["tr", "a-z", "A-Z"], &[]).expect("it is a plan");
        assert_eq!(plan.argv, ["tr", "a-z", "A-Z"]);
        assert_eq!(plan.timeout, Some(Duration::from_secs(30)));
        assert_eq!(plan.cwd.as_deref(), Some(Path::new("/tmp")));
        assert_eq!(plan.env.get(OsStr::new("FLEET_FROM")).map(OsString::as_os_str), Some(OsStr::new("run r2")));
    }

    #[test]
    fn with_a_list_only_what_is_on_it_and_only_from_the_daemons_path() {
        let allowed = plan(&["sh"], &["sh"]).expect("it is allowed");
        assert!(Path::new(&allowed.argv[0]).is_absolute(), "{:?}", allowed.argv);
        let refused = plan(&["/tmp/sh"], &["sh", "tr"]).expect_err("another program of the same name");
        let said = "profile upper starts /tmp/sh, and [launch] executables allows only: sh, tr";
        assert_eq!(refused.to_string(), said);
        assert_eq!(plan(&["no-such-prog"], &["no-such-prog"]), Err(PlanError::NotFound("no-such-prog".into())));
    }

    #[test]
    fn a_command_that_is_none_is_refused() {
        assert_eq!(plan(&[], &[]), Err(PlanError::NoCommand("upper".into())));
        assert_eq!(plan(&[""], &[]), Err(PlanError::NoCommand("upper".into())));
        assert_eq!(plan(&["sh", "a\0b"], &[]), Err(PlanError::ZeroByte("upper".into(), 1)));
    }
}
