//! How one turn of an `exec` worker is started, as plain data; checked against policy before anything is made.
//!
//! A later issue has plans written in Lua; then this file only checks them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::env;
use crate::fleet::turn::Turn;
use crate::fleet::worker::Worker;

/// What is started for one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Where it runs; the daemon's own directory if absent.
    pub cwd: Option<PathBuf>,
    /// From process start to exit.
    pub timeout: Option<Duration>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// Why a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The profile names no program.
    #[error("profile '{0}' has an empty command")]
    NoCommand(String),
    /// The operator did not list the program.
    #[error("profile '{profile}' wants to start '{program}', which launch.executables does not list (it lists: {listed})")]
    NotListed {
        /// The profile.
        profile: String,
        /// Its program.
        program: String,
        /// What is listed.
        listed: String,
    },
    /// The working directory is not there.
    #[error("the working directory {0} of its profile does not exist")]
    NoCwd(PathBuf),
}

impl Plan {
    /// Returns the plan for a worker's turn, if policy allows it. `executables` empty = whatever a profile names.
    pub fn of(worker: &Worker, turn: &Turn, executables: &[String]) -> Result<Plan, PlanError> {
        let profile = &worker.profile;
        let Some(program) = profile.command.first() else {
            return Err(PlanError::NoCommand(profile.name.to_string()));
        };
        if !executables.is_empty() && !executables.contains(program) {
            return Err(PlanError::NotListed {
                profile: profile.name.to_string(),
                program: program.clone(),
                listed: executables.join(", "),
            });
        }
        Ok(Plan {
            argv: profile.command.iter().map(OsString::from).collect(),
            cwd: profile.cwd.clone(),
            timeout: profile.timeout.map(|span| span.std()),
            env: env::of_worker(worker, turn),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::fleet::caller::Sender;
    use crate::fleet::ids::TurnId;
    use crate::fleet::team::{Address, Profile};
    use crate::fleet::time::{Span, Time};
    use crate::fleet::turn::{Priority, TurnState};
    use crate::fleet::worker::WorkerState;

    fn worker(command: &[&str]) -> Worker {
        let profile = Profile {
            name: "upper".into(),
            about: None,
            launcher: "exec".into(),
            command: command.iter().map(|word| word.to_string()).collect(),
            cwd: None,
            env: BTreeMap::from([("GREETING".to_string(), "hello".to_string())]),
            timeout: Some(Span::seconds(2)),
            idle_ttl: None,
        };
        Worker {
            name: "w-upper-1".into(),
            role: "w-upper".into(),
            profile: Arc::new(profile),
            generation: 1,
            state: WorkerState::Busy,
            since: Time(0),
            turn: Some(TurnId(7)),
            elastic: true,
            process: None,
            turns: 0,
        }
    }

    fn turn() -> Turn {
        Turn {
            id: TurnId(7),
            sender: Sender::Operator,
            to: Address::Role("w-upper".into()),
            because: None,
            kind: None,
            priority: Priority::Normal,
            prompt_bytes: 1,
            prompt_of: TurnId(7),
            key: None,
            accepted: Time(0),
            deadline: None,
            timeout: None,
            retry_of: None,
            step: None,
            generation: 1,
            state: TurnState::Handed,
            receipt: Vec::new(),
            worker: Some("w-upper-1".into()),
            questions: Vec::new(),
            outcome: None,
            why: None,
            message: None,
        }
    }

    #[test]
    fn the_environment_is_built_and_never_inherited() {
        let plan = Plan::of(&worker(&["tr", "a-z", "A-Z"]), &turn(), &[]).expect("nothing is forbidden");
        let value = |name: &str| plan.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        assert_eq!(value("GREETING"), Some("hello".into()));
        assert_eq!(value("FLEET_TURN"), Some("t7".into()));
        assert_eq!(value("FLEET_FROM"), Some("operator".into()));
        assert_eq!(value("FLEET_WORKER"), Some("w-upper-1".into()));
        // This process has it, as every process that cargo starts.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert_eq!(value("CARGO_MANIFEST_DIR"), None);
    }

    #[test]
    fn a_program_that_the_operator_did_not_list_is_refused_by_name() {
        let refused = Plan::of(&worker(&["rm", "-rf"]), &turn(), &["tr".to_string(), "awk".to_string()]);
        let text = refused.expect_err("rm is not listed").to_string();
        assert_eq!(
            text,
            "profile 'upper' wants to start 'rm', which launch.executables does not list (it lists: tr, awk)"
        );
    }
}
