//! From what is written to what is meant: every value of fleetd.toml is checked here, once.
//! Pure: no file, no clock, no variable is read here.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use toml::Spanned;

use super::error::{ConfigError, Source, nearest};
use super::raw::{Raw, RawEndpoint, RawLaunch, RawLimits, RawNudge};
use super::token::{Token, TokenError};
use super::url::host_of;
use super::{Auth, Endpoint, EndpointName, Host, Limits, Machine, Nudge, OnRestart, PaneHost, ScreenWords, TokenAuth};
use crate::fleet::time::Span;

/// Checks everything that no argument can replace; `listen` and `charter` are checked where they are chosen.
pub(super) fn pane_host(source: Source<'_>, raw: &Raw) -> Result<PaneHost, ConfigError> {
    const VALID: [&str; 4] = ["auto", "herdr", "embedded", "agentapi"];
    match raw.pane_host.as_ref().map(|word| (word, word.get_ref().as_str())) {
        None | Some((_, "auto")) => Ok(PaneHost::Auto),
        Some((_, "herdr")) => Ok(PaneHost::Herdr),
        Some((_, "embedded")) => Ok(PaneHost::Embedded),
        Some((word, name)) if VALID.contains(&name) => Err(source
            .refuse(
                &word.span(),
                format!("pane_host = \"{name}\": AgentAPI holds no panes for fleetd; it is a launcher"),
            )
            .hint("write \"auto\", \"herdr\" or \"embedded\", and profiles with launcher = \"agentapi\"")),
        Some((word, name)) => Err(one_of(source, word, "pane_host", name, &VALID)),
    }
}

pub(super) fn on_restart(source: Source<'_>, raw: &Raw) -> Result<OnRestart, ConfigError> {
    match raw.on_restart.as_ref().map(|word| (word, word.get_ref().as_str())) {
        None | Some((_, "adopt")) => Ok(OnRestart::Adopt),
        Some((_, "reap")) => Ok(OnRestart::Reap),
        Some((word, name)) => Err(one_of(source, word, "on_restart", name, &["adopt", "reap"])),
    }
}

pub(super) fn nudge(source: Source<'_>, raw: &RawNudge) -> Result<Nudge, ConfigError> {
    let list = |name: &str, words: &Option<Spanned<Vec<Spanned<String>>>>| {
        let Some(words) = words else { return Ok(None) };
        let texts = words.get_ref().iter();
        if let Some(empty) = texts.clone().find(|text| text.get_ref().trim().is_empty()) {
            return Err(source.refuse(&empty.span(), format!("nudge.{name}: an empty text is on every screen")));
        }
        Ok(Some(texts.map(|text| text.get_ref().clone()).collect()))
    };
    let screen = ScreenWords {
        prompt: list("prompt", &raw.prompt)?,
        placeholder: list("placeholder", &raw.placeholder)?,
        busy: list("busy", &raw.busy)?,
        dialog: list("dialog", &raw.dialog)?,
    };
    Ok(Nudge { on: raw.on.unwrap_or(true), screen })
}

pub(super) fn auth(source: Source<'_>, raw: &Raw, machine: &dyn Machine) -> Result<Auth, ConfigError> {
    const VALID: [&str; 2] = ["loopback-trust", "token"];
    match raw.auth.as_ref().map(|word| (word, word.get_ref().as_str())) {
        None | Some((_, "loopback-trust")) => {}
        Some((word, "token")) => return by_token(source, raw, word, machine).map(Auth::Token),
        Some((word, name)) => return Err(one_of(source, word, "auth", name, &VALID)),
    }
    let only_with_token = [
        ("token_file", raw.token_file.as_ref().map(Spanned::span)),
        ("token_env", raw.token_env.as_ref().map(Spanned::span)),
        ("seat_ttl", raw.seat_ttl.as_ref().map(Spanned::span)),
        ("hosts", raw.hosts.as_ref().map(Spanned::span)),
    ];
    for (name, at) in only_with_token {
        if let Some(at) = at {
            return Err(source
                .refuse(&at, format!("{name} is set, and auth is \"loopback-trust\", which uses no token"))
                .hint(format!("leave {name} out, or write auth = \"token\"")));
        }
    }
    Ok(Auth::LoopbackTrust)
}

fn by_token(
    source: Source<'_>,
    raw: &Raw,
    word: &Spanned<String>,
    machine: &dyn Machine,
) -> Result<TokenAuth, ConfigError> {
    let token = match (&raw.token_file, &raw.token_env) {
        (Some(file), None) => token_of_file(source, file, machine)?,
        (None, Some(name)) => token_of_variable(source, name, machine)?,
        (Some(_), Some(name)) => {
            return Err(source
                .refuse(&name.span(), "token_file and token_env are both set")
                .hint("leave one of them out"));
        }
        (None, None) => {
            return Err(source.refuse(&word.span(), "auth = \"token\" is set, and no token").hint(
                "name a private file with token_file = \"token\", or a variable with token_env = \"FLEETD_TOKEN\"",
            ));
        }
    };
    let seat_ttl = match &raw.seat_ttl {
        None => Span::minutes(10),
        Some(span) => length(source, span, "seat_ttl", Span::seconds(1)..=Span::days(7))?,
    };
    let hosts = raw.hosts.as_ref().map_or(&[][..], |hosts| hosts.get_ref());
    let hosts = hosts.iter().map(|host| own_host(source, host)).collect::<Result<_, _>>()?;
    Ok(TokenAuth { token, seat_ttl, hosts })
}

fn token_of_file(source: Source<'_>, file: &Spanned<String>, machine: &dyn Machine) -> Result<Token, ConfigError> {
    let path = source.file.parent().unwrap_or(Path::new("")).join(file.get_ref());
    let read = machine.read_private(&path).and_then(|text| Token::of(&text));
    read.map_err(|wrong| no_token(source, &file.span(), &format!("token_file {}", path.display()), wrong))
}

fn token_of_variable(source: Source<'_>, name: &Spanned<String>, machine: &dyn Machine) -> Result<Token, ConfigError> {
    let text = name.get_ref();
    if !is_variable(text) {
        // Not repeated: who misunderstands this setting writes the token itself.
        return Err(source.refuse(&name.span(), "token_env is not the name of a variable").hint(
            "write the name of the variable that holds the token, such as FLEETD_TOKEN, never the token itself",
        ));
    }
    let Some(value) = machine.variable(text) else {
        return Err(source
            .refuse(&name.span(), format!("token_env {text}: the variable is not set where fleetd is started"))
            .hint("set it there, or name a private file with token_file"));
    };
    Token::of(&value).map_err(|wrong| no_token(source, &name.span(), &format!("token_env {text}"), wrong))
}

fn no_token(source: Source<'_>, at: &Range<usize>, what: &str, (wrong, right): TokenError) -> ConfigError {
    source.refuse(at, format!("{what}: {wrong}")).hint(right)
}

/// Checks a name under which fleetd is reached.
fn own_host(source: Source<'_>, written: &Spanned<String>) -> Result<Host, ConfigError> {
    let text = written.get_ref();
    let name = match text.contains('/') {
        true => Err("it is more than a host and a port".to_owned()),
        false => host_of(&format!("http://{text}")).map(str::to_ascii_lowercase),
    };
    let name = name.map_err(|why| {
        let shown: String = text.chars().take(100).collect();
        source
            .refuse(&written.span(), format!("'{}' in hosts is no host: {why}", shown.escape_debug()))
            .hint("write what clients call fleetd by, such as \"fleet.example\" or \"fleet.example:8443\"")
    })?;
    let port = text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).and_then(|(_, port)| port.parse().ok());
    Ok(Host { name, port })
}

pub(super) fn no_broker(source: Source<'_>, raw: &Raw) -> Result<(), ConfigError> {
    let Some(broker) = &raw.broker else { return Ok(()) };
    Err(source
        .refuse(&broker.url.span(), "a broker is not in this version")
        .hint("leave [broker] out; what waits for the leader is kept in the state directory"))
}

pub(super) fn endpoints(source: Source<'_>, raw: &Raw) -> Result<BTreeMap<EndpointName, Endpoint>, ConfigError> {
    raw.endpoints.iter().map(|(name, raw)| endpoint(source, name, raw)).collect()
}

fn endpoint(
    source: Source<'_>,
    name: &Spanned<String>,
    raw: &RawEndpoint,
) -> Result<(EndpointName, Endpoint), ConfigError> {
    let text = name.get_ref();
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return Err(source
            .refuse(&name.span(), format!("'{text}' is not a name for an endpoint"))
            .hint("use letters, digits, '-', '_' and '.'"));
    }
    let host = host_of(raw.url.get_ref()).map_err(|why| {
        // Not repeated: an address may hold a password, and this text ends in logs.
        source
            .refuse(&raw.url.span(), format!("the url of endpoint '{text}' is not usable: {why}"))
            .hint("write for example url = \"https://llm.example/v1\"")
    })?;
    let allowed_hosts = match &raw.allowed_hosts {
        None => vec![host.to_ascii_lowercase()],
        Some(hosts) => {
            let listed: Vec<String> = hosts.get_ref().iter().map(|host| host.get_ref().to_ascii_lowercase()).collect();
            if !listed.contains(&host.to_ascii_lowercase()) {
                return Err(source
                    .refuse(&hosts.span(), format!("allowed_hosts of endpoint '{text}' lacks its own host '{host}'"))
                    .hint(format!("add \"{host}\", or leave allowed_hosts out")));
            }
            listed
        }
    };
    let max_busy = match &raw.max_busy {
        None => None,
        Some(n) => u32::try_from(number(source, n, "max_busy", 1..=10_000)?).ok(),
    };
    let key_env = raw.key_env.as_ref().map(|key| key_env(source, text, key)).transpose()?;
    let endpoint = Endpoint { url: raw.url.get_ref().clone(), key_env, allowed_hosts, max_busy };
    Ok((EndpointName(text.as_str().into()), endpoint))
}

fn key_env(source: Source<'_>, endpoint: &str, key: &Spanned<String>) -> Result<String, ConfigError> {
    let name = key.get_ref();
    if is_variable(name) {
        return Ok(name.clone());
    }
    // Not repeated either: who misunderstands this setting writes the key itself.
    Err(source
        .refuse(&key.span(), format!("key_env of endpoint '{endpoint}' is not the name of a variable"))
        .hint("write the name of the variable that holds the key, such as LOCAL_LLM_KEY, never the key itself"))
}

fn is_variable(name: &str) -> bool {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Checks a list of programs.
pub(super) fn programs(source: Source<'_>, setting: &str, raw: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
    let checked = raw.iter().map(|program| match program.get_ref() {
        name if name.trim().is_empty() || name.contains('\0') => Err(source
            .refuse(&program.span(), format!("'{}' in {setting} is not a program", name.escape_debug()))
            .hint("write a name that is found in PATH, such as \"rg\", or an absolute path")),
        name if name.contains('/') && !name.starts_with('/') => Err(source
            .refuse(&program.span(), format!("'{name}' in {setting} is a relative path"))
            .hint("write a name that is found in PATH, such as \"rg\", or an absolute path")),
        name => Ok(name.clone()),
    });
    checked.collect()
}

pub(super) fn limits(source: Source<'_>, raw: &RawLimits) -> Result<Limits, ConfigError> {
    let mut limits = Limits::default();
    if let Some(n) = &raw.max_workers {
        limits.max_workers = number(source, n, "max_workers", 1..=10_000)?;
    }
    if let Some(n) = &raw.max_prompt_bytes {
        limits.max_prompt_bytes = number(source, n, "max_prompt_bytes", 1_024..=(64 << 20))?;
    }
    if let Some(span) = &raw.retention {
        limits.retention = length(source, span, "retention", Span::minutes(60)..=Span::days(3_650))?;
    }
    if let Some(span) = &raw.drain {
        limits.drain = length(source, span, "drain", Span(0)..=Span::minutes(60))?;
    }
    if let Some(span) = &raw.start_stagger {
        limits.start_stagger = length(source, span, "start_stagger", Span(0)..=Span::minutes(1))?;
    }
    if let Some(size) = &raw.memory_floor {
        limits.memory_floor = size.get_ref().0;
    }
    Ok(limits)
}

/// Reads an address to listen on. Without a token only this machine may be listened to.
pub(super) fn listen(text: &str, auth: &Auth) -> Result<SocketAddr, (String, String)> {
    let address = address(text)?;
    if !address.ip().is_loopback() && *auth == Auth::LoopbackTrust {
        let says = format!(
            "'{text}' is not a loopback address: other machines could reach it, and auth is \"loopback-trust\""
        );
        return Err((
            says,
            format!("listen on \"127.0.0.1:{}\", or set auth = \"token\" in fleetd.toml", address.port()),
        ));
    }
    Ok(address)
}

/// Reads an address with its port.
pub(super) fn address(text: &str) -> Result<SocketAddr, (String, String)> {
    let read = match text.strip_prefix("localhost:") {
        Some(port) => port.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        None => text.parse().ok(),
    };
    read.ok_or_else(|| {
        let says = format!("'{text}' is not an address to listen on");
        (says, "write an address and a port, such as \"127.0.0.1:7717\" or \"[::1]:7717\"".into())
    })
}

fn number(
    source: Source<'_>,
    n: &Spanned<i64>,
    setting: &str,
    valid: RangeInclusive<usize>,
) -> Result<usize, ConfigError> {
    let (least, most) = (valid.start(), valid.end());
    usize::try_from(*n.get_ref()).ok().filter(|n| valid.contains(n)).ok_or_else(|| {
        let says = format!("{setting} = {} is not between {least} and {most}", n.get_ref());
        source.refuse(&n.span(), says)
    })
}

/// How long removed worktrees are kept, if nothing is said.
const TRASH_TTL: Span = Span::days(14);

/// Returns how long removed worktrees are kept.
pub(super) fn trash_ttl(source: Source<'_>, raw: &RawLaunch) -> Result<Span, ConfigError> {
    let Some(span) = &raw.trash_ttl else { return Ok(TRASH_TTL) };
    length(source, span, "trash_ttl", Span::minutes(60)..=Span::days(3_650))
}

fn length(
    source: Source<'_>,
    span: &Spanned<Span>,
    setting: &str,
    valid: RangeInclusive<Span>,
) -> Result<Span, ConfigError> {
    if valid.contains(span.get_ref()) {
        return Ok(*span.get_ref());
    }
    let (least, most) = (valid.start(), valid.end());
    Err(source.refuse(&span.span(), format!("{setting} = {} is not between {least} and {most}", span.get_ref())))
}

fn one_of(source: Source<'_>, word: &Spanned<String>, setting: &str, name: &str, valid: &[&str]) -> ConfigError {
    let refused = source.refuse(&word.span(), format!("{setting} = \"{name}\" does not exist"));
    match nearest(name, valid.iter().copied()) {
        Some(meant) => refused.hint(format!("did you mean \"{meant}\"?")),
        None => refused.hint(format!("valid: {}", valid.join(", "))),
    }
}
