//! What a project gets from `fleetd init`: every file, its text, and how a file that is there already is treated.
//! The skills are those of this repository's own `.claude`, so that they are what its developers work with.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::charter;
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

const EDITOR: &str = include_str!("luarc.json");
/// What an editor needs to know the verbs of a charter; `.luarc.json` names its folder.
const META: &str = "charters/meta/fleet.lua";
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

/// How much of a file is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Something to begin with: from then on it is the user's.
    Begun,
    /// All of it, as it is in this version.
    Whole,
    /// One section between two marks.
    Section,
    /// One server among others.
    Server,
}

/// One file that a project gets.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its path below the project.
    pub name: String,
    /// How much of it is ours.
    pub share: Share,
    /// Our share: a text, or for a server its address.
    pub text: Cow<'static, str>,
}

/// Returns everything that is written, for a daemon that listens there.
pub fn parts(listen: SocketAddr) -> Vec<Part> {
    let part =
        |name: &str, share, text: &'static str| Part { name: name.to_string(), share, text: Cow::Borrowed(text) };
    let mut parts = vec![part(CONFIG_FILE, Share::Begun, CONFIG)];
    parts.push(Part { text: door(listen).into(), ..part(CLIENT, Share::Server, "") });
    parts.push(part(GUIDE, Share::Section, TEAM));
    parts.extend(SKILLS.map(|(name, text)| part(name, Share::Whole, text)));
    parts.push(part(".luarc.json", Share::Begun, EDITOR));
    parts.push(Part { text: charter::meta().into(), ..part(META, Share::Whole, "") });
    let charter = DEFAULT_CHARTER.iter().map(|(name, text)| part(&format!("{CHARTER}/{name}"), Share::Begun, text));
    parts.extend(charter);
    parts
}

/// Returns the address of the tools, as a session on this machine reaches them.
fn door(listen: SocketAddr) -> String {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}/mcp", SocketAddr::new(ip, listen.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_one_that_can_be_called() {
        let door = |listen: &str| door(listen.parse().expect("an address"));
        assert_eq!(door("127.0.0.1:7717"), "http://127.0.0.1:7717/mcp");
        assert_eq!(door("0.0.0.0:80"), "http://127.0.0.1:80/mcp");
        assert_eq!(door("[::]:1"), "http://[::1]:1/mcp");
        assert_eq!(door("192.0.2.7:1"), "http://192.0.2.7:1/mcp");
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
