//! What a daemon is started with, taken from the checked configuration.
//! Nothing is checked here again, and no file of settings is read: whoever builds a `Settings` answers for it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::embedded;
use crate::config::{Auth, CharterSource, Config, Nudge, OnRestart, PaneHost};
use crate::fleet::Limits;
use crate::fleet::time::Span;
use crate::launch::policy::Policy;

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the doors listen.
    pub listen: SocketAddr,
    /// How callers are known.
    pub auth: Auth,
    /// The state directory.
    pub state: PathBuf,
    /// The charter.
    pub charter: Charter,
    /// Where sessions live.
    pub pane_host: PaneHost,
    /// How the leader is told that something waits.
    pub nudge: Nudge,
    /// What a plan may start, and which addresses it may name.
    pub policy: Arc<Policy>,
    /// What becomes of the sessions that the last daemon left.
    pub on_restart: OnRestart,
    /// How long removed worktrees lie in the trash.
    pub trash_ttl: Span,
    /// Bounds of the fleet.
    pub limits: Limits,
    /// How long collected turns and runs are kept.
    pub retention: Span,
    /// How long a shutdown waits for open turns.
    pub drain: Span,
}

/// Where the charter is read from.
#[derive(Clone, Debug)]
pub enum Charter {
    /// This directory.
    Dir(PathBuf),
    /// The one inside the program, written out into the state directory so that it can be looked at.
    BuiltIn,
}

impl Charter {
    /// Returns the directory to read.
    pub(super) fn directory(&self, state: &Path) -> io::Result<PathBuf> {
        match self {
            Charter::Dir(dir) => Ok(dir.clone()),
            Charter::BuiltIn => embedded::write_out(state),
        }
    }
}

impl From<Config> for Settings {
    fn from(config: Config) -> Settings {
        let seat_ttl = match &config.auth {
            Auth::LoopbackTrust => Limits::default().seat_ttl,
            Auth::Token(of) => of.seat_ttl,
        };
        let caps = config.endpoints.iter().map(|(name, endpoint)| (name.0.to_string(), endpoint.max_busy)).collect();
        Settings {
            listen: config.listen,
            auth: config.auth,
            state: config.state,
            charter: match config.charter {
                CharterSource::Dir(dir) => Charter::Dir(dir),
                CharterSource::Embedded => Charter::BuiltIn,
            },
            pane_host: config.pane_host,
            nudge: config.nudge,
            policy: Arc::new(Policy {
                executables: config.executables,
                endpoints: config.endpoints,
                allow_exposed: config.allow_exposed,
            }),
            on_restart: config.on_restart,
            trash_ttl: config.trash_ttl,
            limits: Limits {
                max_workers: config.limits.max_workers,
                max_prompt_bytes: config.limits.max_prompt_bytes,
                commands: config.commands,
                key_ttl: config.limits.retention,
                seat_ttl,
                start_stagger: config.limits.start_stagger,
                memory_floor: config.limits.memory_floor,
                endpoints: caps,
                ..Limits::default()
            },
            retention: config.limits.retention,
            drain: config.limits.drain,
        }
    }
}
