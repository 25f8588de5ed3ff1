//! fleetd.toml and the arguments of `serve`, as checked types: raw → checked, and after that nobody validates.
//!
//! Every refusal to start that a setting can cause is here. Pure but for `load`: it looks for the file and reads
//! it, and reads the token that the file names.

mod around;
mod check;
mod error;
mod last_good;
mod machine;
mod raw;
mod size;
#[cfg(test)]
mod tests;
mod token;
mod url;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::around::Surroundings;
pub use self::error::ConfigError;
pub use self::last_good::LastGood;
pub use self::machine::Machine;
pub use self::token::{Token, TokenError};

use self::error::Source;
use self::machine::This;
use self::raw::Raw;
use crate::fleet::time::Span;

const FILE: &str = "fleetd.toml";
const PORT: u16 = 7717;
const CHARTER: &str = "charters/default";

/// Everything that is set for one daemon. Read once at the start: a change takes effect at the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file it was read from; none when everything is a default.
    pub file: Option<PathBuf>,
    /// Where to listen. Default: `127.0.0.1:7717`.
    pub listen: SocketAddr,
    /// The state directory. Default: `$XDG_STATE_HOME/fleetd`, else `~/.local/state/fleetd`.
    pub state: PathBuf,
    /// The charter. Default: `charters/default` where the daemon is started, else the one in the program.
    pub charter: CharterSource,
    /// Where sessions live. Default: `auto`.
    pub pane_host: PaneHost,
    /// How the leader is told that something waits. Default: in its pane, where one is known.
    pub nudge: Nudge,
    /// How callers are known. Default: `loopback-trust`.
    pub auth: Auth,
    /// The model addresses that a profile may name. Default: none.
    pub endpoints: BTreeMap<EndpointName, Endpoint>,
    /// Programs that a profile may start. Default: none listed, which means whatever a profile names.
    pub executables: Vec<String>,
    /// How long removed worktrees lie in the trash before they are deleted. Default: 14 days.
    pub trash_ttl: Span,
    /// Whether programs may be started that listen where other machines reach them without any proof.
    pub allow_exposed: bool,
    /// Programs that `run:command` may start. Default: none.
    pub commands: Vec<String>,
    /// What becomes of the sessions that the last daemon left. Default: `adopt`.
    pub on_restart: OnRestart,
    /// Bounds.
    pub limits: Limits,
}

/// Where the charter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CharterSource {
    /// In this directory, which was there when the settings were read.
    Dir(PathBuf),
    /// In the program itself.
    Embedded,
}

/// Where sessions live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaneHost {
    /// herdr if it answers at the start, else the embedded pane server.
    #[default]
    Auto,
    /// herdr, however late it comes.
    Herdr,
    /// The embedded pane server.
    Embedded,
}

/// What becomes of the sessions that the last daemon left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRestart {
    /// They go on, with their names and their turns.
    #[default]
    Adopt,
    /// They are stopped, and what they worked at is lost.
    Reap,
}

/// How the leader is told in its own pane that something waits for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Nudge {
    /// Whether it is told at all. Default: true.
    pub on: bool,
    /// What its screen shows, where the operator says so.
    pub screen: ScreenWords,
}

/// What the operator says of the leader's screen. What is left out is what is known of its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenWords {
    /// What the line begins with into which people write.
    pub prompt: Option<Vec<String>>,
    /// What an empty composer may show.
    pub placeholder: Option<Vec<String>>,
    /// What stands near the composer while it works.
    pub busy: Option<Vec<String>>,
    /// What stands near the composer while it asks for a key.
    pub dialog: Option<Vec<String>>,
}

/// How callers are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// By what the kernel says of a connection on this machine.
    #[default]
    LoopbackTrust,
    /// By a token that everybody but a worker must give.
    Token(TokenAuth),
}

/// What belongs to `auth = "token"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAuth {
    /// What is kept of the token of `token_file` or `token_env`.
    pub token: Token,
    /// How long the seat is kept for a leader by token that says nothing. Default: 10 min.
    pub seat_ttl: Span,
    /// Names under which fleetd is reached besides those of this machine. Default: none.
    pub hosts: Vec<Host>,
}

/// A name under which fleetd is reached, such as that of a proxy before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// In lower case; an IPv6 address without brackets.
    pub name: String,
    /// Only with this port; none = with any.
    pub port: Option<u16>,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]", self.name)?,
            false => f.write_str(&self.name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The name of an endpoint, such as `local-llm`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointName(pub Arc<str>);

/// A model address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub url: String,
    /// The name of the variable with its key; never the key.
    pub key_env: Option<String>,
    /// Hosts that a worker on this endpoint may be sent to, in lower case. Default: the address's own.
    pub allowed_hosts: Vec<String>,
    /// How many workers may be busy on it at once. Default: no limit of its own.
    pub max_busy: Option<u32>,
}

impl Endpoint {
    /// Returns where its address leads: the host, an IPv6 address without brackets, and the port.
    pub fn host_and_port(&self) -> (String, u16) {
        (url::host_of(&self.url).unwrap_or_default().to_owned(), url::port_of(&self.url))
    }
}

/// Bounds of the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Living workers at most. Default: 64.
    pub max_workers: usize,
    /// Length of a prompt at most. Default: 1 MiB.
    pub max_prompt_bytes: usize,
    /// How long history, keys and shown replies are kept. Default: 7 days.
    pub retention: Span,
    /// How long a shutdown waits for open turns. Default: 10 s.
    pub drain: Span,
    /// How long after the start of a session the next one is started at the earliest. Default: 500 ms.
    pub start_stagger: Span,
    /// Bytes of memory that must be available when a session is started; 0 = nobody looks. Default: 512 MiB.
    pub memory_floor: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_workers: 64,
            max_prompt_bytes: 1 << 20,
            retention: Span::days(7),
            drain: Span::seconds(10),
            start_stagger: Span(500),
            memory_floor: 512 << 20,
        }
    }
}

/// What `serve` was told on its command line; each goes before the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// `--config FILE`
    pub config: Option<PathBuf>,
    /// `--charter DIR`
    pub charter: Option<PathBuf>,
    /// `--state DIR`
    pub state: Option<PathBuf>,
    /// `--listen ADDR`
    pub listen: Option<String>,
}

/// Finds the file, reads it, and checks everything.
pub fn load(args: &Args, around: &Surroundings) -> Result<Config, ConfigError> {
    if let Some(named) = &args.config {
        let file = around.cwd.join(named);
        let text = read(&file)?.ok_or_else(|| {
            ConfigError::outside(
                format!("there is no config file {}", file.display()),
                "name one that exists with --config FILE, leave it out, or make one with fleetd init",
            )
        })?;
        return resolve(args, around, Some((&file, &text)), &This);
    }
    for file in around.config_files() {
        if let Some(text) = read(&file)? {
            return resolve(args, around, Some((&file, &text)), &This);
        }
    }
    resolve(args, around, None, &This)
}

/// Checks arguments, surroundings and the text of a file; `machine` knows what the settings only name.
pub fn resolve(
    args: &Args,
    around: &Surroundings,
    file: Option<(&Path, &str)>,
    machine: &dyn Machine,
) -> Result<Config, ConfigError> {
    let source = file.map_or(Source { file: Path::new(""), text: "" }, |(file, text)| Source { file, text });
    let raw = raw::read(source)?;
    let auth = check::auth(source, &raw, machine)?;
    let state = around.state_dir(args.state.as_deref())?;
    Ok(Config {
        file: file.map(|(file, _)| file.into()),
        pane_host: check::pane_host(source, &raw)?,
        nudge: check::nudge(source, &raw.nudge)?,
        endpoints: check::endpoints(source, &raw)?,
        executables: check::programs(source, "launch.executables", &raw.launch.executables)?,
        trash_ttl: check::trash_ttl(source, &raw.launch)?,
        allow_exposed: raw.launch.allow_exposed.unwrap_or(false),
        commands: check::programs(source, "commands.allow", &raw.commands.allow)?,
        on_restart: check::on_restart(source, &raw)?,
        limits: check::limits(source, &raw.limits)?,
        listen: listen(args, source, &raw, &auth)?,
        charter: charter(args, around, source, &raw, (machine, &state))?,
        state,
        auth,
    })
    .and_then(|config| check::no_broker(source, &raw).map(|()| config))
}

/// How a daemon is reached by those who know its file alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Whether it wants a token.
    pub by_token: bool,
}

/// Returns how a daemon with this file would be reached, whatever else it would need to start.
pub fn reached(file: &Path, text: &str) -> Result<Reached, ConfigError> {
    let source = Source { file, text };
    let raw = raw::read(source)?;
    let by_token = raw.auth.as_ref().is_some_and(|auth| auth.get_ref() == "token");
    Ok(Reached { listen: written_listen(source, &raw, check::address)?, by_token })
}

fn listen(args: &Args, source: Source<'_>, raw: &Raw, auth: &Auth) -> Result<SocketAddr, ConfigError> {
    match &args.listen {
        Some(told) => check::listen(told, auth)
            .map_err(|(message, hint)| ConfigError::outside(format!("--listen {told}: {message}"), hint)),
        None => written_listen(source, raw, |text| check::listen(text, auth)),
    }
}

fn written_listen(
    source: Source<'_>,
    raw: &Raw,
    check: impl Fn(&str) -> Result<SocketAddr, (String, String)>,
) -> Result<SocketAddr, ConfigError> {
    let Some(written) = &raw.listen else { return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT)) };
    check(written.get_ref())
        .map_err(|(message, hint)| source.refuse(&written.span(), format!("listen: {message}")).hint(hint))
}

/// A charter that was named must be there, or a copy of it: with another one the team would be somebody else's. A disk that
/// comes late must not keep a daemon from its workers.
fn charter(
    args: &Args,
    around: &Surroundings,
    source: Source<'_>,
    raw: &Raw,
    (machine, state): (&dyn Machine, &Path),
) -> Result<CharterSource, ConfigError> {
    const HINT: &str = "name a directory that exists, or make one with fleetd init";
    let is_there = |dir: &Path| machine.is_dir(dir) || machine.has_copy(state, dir);
    if let Some(told) = &args.charter {
        let dir = around.cwd.join(told);
        let missing = || ConfigError::outside(format!("there is no charter directory {}", dir.display()), HINT);
        return if is_there(&dir) { Ok(CharterSource::Dir(dir)) } else { Err(missing()) };
    }
    if let Some(written) = &raw.charter {
        let dir = source.file.parent().unwrap_or(source.file).join(written.get_ref());
        let missing =
            || source.refuse(&written.span(), format!("there is no charter directory {}", dir.display())).hint(HINT);
        return if is_there(&dir) { Ok(CharterSource::Dir(dir)) } else { Err(missing()) };
    }
    let dir = around.cwd.join(CHARTER);
    Ok(if machine.is_dir(&dir) { CharterSource::Dir(dir) } else { CharterSource::Embedded })
}

/// Returns nothing when there is no such file.
fn read(file: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let why = match error.kind() {
                std::io::ErrorKind::InvalidData => "it is not UTF-8 text".into(),
                _ => error.to_string(),
            };
            let says = format!("the config file {} cannot be read: {why}", file.display());
            Err(ConfigError::outside(says, "name another one with --config FILE"))
        }
    }
}
