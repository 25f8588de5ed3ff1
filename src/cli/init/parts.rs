//! What a project gets from `fleetd init`: every file, its text, and how a file that is there already is treated.
//! The skills are those of this repository's own `.claude`, so that they are what its developers work with.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::server::Server;
use crate::charter;
use crate::config::Reached;
use crate::daemon::DEFAULT_CHARTER;

/// Where the settings are.
pub const CONFIG_FILE: &str = "fleetd.toml";
pub const CONFIG: &str = include_str!("fleetd.toml");
/// Where the charter is.
pub const CHARTER: &str = "charters/default";
/// What leading agents read in the project whose leader they are: each for itself, and their servers of tools.
pub const GUIDE: &str = "CLAUDE.md";
pub const CLIENT: &str = ".mcp.json";
/// The same guide, where some keep it.
pub const OTHER_GUIDE: &str = ".claude/CLAUDE.md";

/// Where the verbs of a charter lie for editors; their settings stand above it, those of linters beside it.
const META: &str = "charters/meta";
const LINTERS: &str = "charters";
const TEAM: &str = include_str!("team.md");

macro_rules! skills {
    ($($name:literal),*) => {
        [$((
            concat!(".claude/skills/", $name, "/SKILL.md"),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/.claude/skills/", $name, "/SKILL.md")),
        )),*]
    };
}

const SKILLS: [(&str, &str); 3] = skills!["delegate", "implementer", "reviewer"];

/// What of a file is ours.
#[derive(Clone, Debug)]
pub enum Share {
    /// Something to begin with: from then on it is the user's.
    Begun(Cow<'static, str>),
    /// All of it, as it is in this version.
    Whole(Cow<'static, str>),
    /// One section between two marks.
    Section(&'static str),
    /// One server among others; none where nobody can know how it is reached.
    Server(Option<Server>),
}

/// One file that a project gets.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its path below the project.
    pub name: String,
    pub share: Share,
}

/// Returns everything that is written, for a daemon that is reached so.
pub fn parts(reached: Reached) -> Vec<Part> {
    let part = |name: &str, share| Part { name: name.to_string(), share };
    let mut parts = vec![
        part(CONFIG_FILE, Share::Begun(CONFIG.into())),
        part(CLIENT, Share::Server(server(reached))),
        part(GUIDE, Share::Section(TEAM)),
    ];
    parts.extend(SKILLS.map(|(name, text)| part(name, Share::Whole(text.into()))));
    parts.extend(charter::editor_files(META).into_iter().map(|(name, text)| editor_part(name, text)));
    let charter = DEFAULT_CHARTER.iter();
    parts.extend(charter.map(|(name, text)| part(&format!("{CHARTER}/{name}"), Share::Begun((*text).into()))));
    parts
}

/// Returns a file for editors or linters: what is made from the verbs is ours, settings are there to begin with.
fn editor_part(name: String, text: String) -> Part {
    let name = match name.starts_with('.') || name.starts_with(META) {
        true => name,
        false => format!("{LINTERS}/{name}"),
    };
    let is_made = name.starts_with(META) || name.ends_with("fleet.yml");
    let share = if is_made { Share::Whole(text.into()) } else { Share::Begun(text.into()) };
    Part { name, share }
}

/// Returns the server of the tools, as a session on this machine reaches it.
fn server(Reached { listen, by_token }: Reached) -> Option<Server> {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let url = format!("http://{}/mcp", SocketAddr::new(ip, listen.port()));
    // A port of the system's choice is another one each time.
    (listen.port() != 0).then_some(Server { url, by_token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_one_that_can_be_called() {
        let url = |listen: &str| {
            let listen = listen.parse().expect("an address");
            server(Reached { listen, by_token: false }).map(|server| server.url)
        };
        assert_eq!(url("127.0.0.1:7717").as_deref(), Some("http://127.0.0.1:7717/mcp"));
        assert_eq!(url("0.0.0.0:80").as_deref(), Some("http://127.0.0.1:80/mcp"));
        assert_eq!(url("[::]:1").as_deref(), Some("http://[::1]:1/mcp"));
        assert_eq!(url("192.0.2.7:1").as_deref(), Some("http://192.0.2.7:1/mcp"));
        assert_eq!(url("127.0.0.1:0"), None);
    }

    #[test]
    fn every_skill_says_what_it_is_called_like_its_folder_and_when_it_is_for() {
        for (path, text) in SKILLS {
            let folder = path.split('/').nth(2).expect("a folder");
            let (head, body) = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a head");
            assert!(head.lines().any(|line| line == format!("name: {folder}")), "{path}");
            assert!(head.lines().any(|line| line.starts_with("description: ")), "{path}");
            assert!(body.len() > 500 && text.ends_with('\n') && !text.contains('\r'), "{path}");
        }
    }

    #[test]
    fn the_team_section_is_short_since_every_request_pays_for_it() {
        assert!(TEAM.len() < 2_000, "{} bytes", TEAM.len());
    }
}
