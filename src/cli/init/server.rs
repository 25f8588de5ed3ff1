//! One server among those of a `.mcp.json`: found, added or renewed in the text itself, so that all others stay as they
//! are written, order, spaces and line ends included. Pure: no file is known here.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::section::{Broken, eol};

/// Where the servers stand, and what ours is called there: tools are `mcp__fleet__…` to the leader.
const SERVERS: &str = "mcpServers";
const NAME: &str = "fleet";
const HEADERS: &str = "headers";
const AUTH: &str = "Authorization";
/// Clients fill in the variable; fleetd's own commands read it, too.
const BEARER: &str = "Bearer ${FLEETD_TOKEN}";

/// How the server is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub url: String,
    /// Whether it wants a token: its variable is named, for the client to look into.
    pub by_token: bool,
}

impl Server {
    fn entry(&self) -> Value {
        match self.by_token {
            true => json!({ "type": "http", "url": self.url, HEADERS: { AUTH: BEARER } }),
            false => json!({ "type": "http", "url": self.url }),
        }
    }
}

/// Returns a file with our server alone.
pub fn alone(server: &Server) -> String {
    let whole = json!({ SERVERS: { NAME: server.entry() } });
    format!("{whole:#}\n")
}

/// Returns the text with our server in it. Of an entry that is there, only what would lead elsewhere is changed.
pub fn put(text: &str, server: &Server) -> Result<String, Broken> {
    let whole = members(text, text, "the whole file")?;
    let Some(servers) = find(&whole, SERVERS) else {
        return Ok(added(text, text.trim(), &whole, SERVERS, &json!({ NAME: server.entry() })));
    };
    let each = members(text, servers, SERVERS)?;
    let Some(entry) = find(&each, NAME) else { return Ok(added(text, servers, &each, NAME, &server.entry())) };
    let ours = members(text, entry, NAME).unwrap_or_default();
    if find(&ours, "type") != Some("\"http\"") {
        let at = place(text, entry);
        let pretty = pretty(&server.entry(), &indent_of_line(text, at), &unit(text), eol(text.as_bytes()));
        return Ok(replaced(text, entry, &pretty));
    }
    match (find(&ours, "url"), find(&ours, HEADERS)) {
        (None, _) => put(&added(text, entry, &ours, "url", &json!(server.url)), server),
        (Some(url), _) if !is_same(url, &server.url) => {
            put(&replaced(text, url, &json!(server.url).to_string()), server)
        }
        (_, None) if server.by_token => Ok(added(text, entry, &ours, HEADERS, &json!({ AUTH: BEARER }))),
        (_, Some(headers)) if server.by_token => {
            let all = members(text, headers, HEADERS)?;
            let has = all.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTH));
            Ok(if has { text.to_string() } else { added(text, headers, &all, AUTH, &json!(BEARER)) })
        }
        _ => Ok(text.to_string()),
    }
}

/// Tells whether an address, as it is written, is this one, by whichever of its names.
fn is_same(written: &str, url: &str) -> bool {
    let plain = |url: &str| url.replace("://localhost:", "://127.0.0.1:");
    serde_json::from_str::<String>(written).is_ok_and(|written| plain(&written) == plain(url))
}

fn replaced(text: &str, piece: &str, new: &str) -> String {
    let at = place(text, piece);
    [&text[..at], new, &text[at + piece.len()..]].concat()
}

/// The members of an object as they are written, in their order.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object in braces")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.iter().any(|(before, _)| *before == name) {
                        return Err(A::Error::custom(format!("'{name}' stands here for the second time")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// Returns the members of an object that is a piece of the text.
fn members<'t>(text: &'t str, piece: &'t str, what: &str) -> Result<Vec<(String, &'t str)>, Broken> {
    let read = serde_json::from_str::<Members<'t>>(piece).map_err(|error| {
        let before = text[..place(text, piece)].matches('\n').count();
        // The place is told beside it.
        let says = error.to_string();
        let says = says.split(" at line ").next().unwrap_or_default();
        let what = if error.is_data() { what } else { "not JSON" };
        Broken { line: before + error.line().max(1), says: format!("{what}: {says}") }
    })?;
    Ok(read.0.into_iter().map(|(name, value)| (name, value.get())).collect())
}

fn find<'t>(members: &[(String, &'t str)], name: &str) -> Option<&'t str> {
    members.iter().find(|(one, _)| one == name).map(|(_, value)| *value)
}

/// Returns where a piece of a text begins.
fn place(text: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Returns the text with one more member in an object that is a piece of it, spaced as the others are.
fn added(text: &str, object: &str, members: &[(String, &str)], name: &str, value: &Value) -> String {
    let (at, unit, eol) = (place(text, object), unit(text), eol(text.as_bytes()));
    let Some((_, last)) = members.last() else {
        let base = indent_of_line(text, at);
        let value = pretty(value, &format!("{base}{unit}"), &unit, eol);
        let new = format!("{{{eol}{base}{unit}\"{name}\": {value}{eol}{base}}}");
        return replaced(text, object, &new);
    };
    let inside = &object[1..];
    let space = &inside[..inside.len() - inside.trim_start().len()];
    let value = match space.rsplit_once('\n') {
        Some((_, base)) => pretty(value, base, &unit, eol),
        None => value.to_string(),
    };
    let (end, space) = (place(text, last) + last.len(), if space.is_empty() { " " } else { space });
    [&text[..end], ",", space, &format!("\"{name}\": {value}"), &text[end..]].concat()
}

fn indent_of_line(text: &str, at: usize) -> String {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line[..line.len() - line.trim_start().len()].to_string()
}

/// Returns by how much the text indents: what stands before its first indented line.
fn unit(text: &str) -> String {
    let mut indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
    indents.find(|indent| !indent.is_empty()).unwrap_or("  ").to_string()
}

fn pretty(value: &Value, base: &str, unit: &str, eol: &str) -> String {
    format!("{value:#}").lines().enumerate().fold(String::new(), |whole, (n, line)| {
        let depth = (line.len() - line.trim_start().len()) / 2;
        match n {
            0 => line.to_string(),
            _ => format!("{whole}{eol}{base}{}{}", unit.repeat(depth), line.trim_start()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:7717/mcp";

    fn plain() -> Server {
        Server { url: URL.into(), by_token: false }
    }

    /// Puts it, and holds that all others are as before, that JSON agrees, and that a second time changes nothing.
    fn puts(text: &str) -> String {
        let new = put(text, &plain()).expect("it is a file of servers");
        let (mut before, mut after) = (parsed(text), parsed(&new));
        assert_eq!(after[SERVERS][NAME]["url"], URL, "{new}");
        for value in [&mut before, &mut after] {
            let servers = value[SERVERS].as_object_mut().map(|servers| servers.shift_remove(NAME));
            if servers.is_none() || value[SERVERS] == json!({}) {
                value.as_object_mut().expect("an object").shift_remove(SERVERS);
            }
        }
        assert_eq!(before.to_string(), after.to_string(), "all others, in their order: {new}");
        assert_eq!(put(&new, &plain()).as_deref(), Ok(new.as_str()), "a second time");
        new
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn alone_it_is_what_it_would_be_among_others() {
        assert_eq!(put(&alone(&plain()), &plain()), Ok(alone(&plain())));
        assert_eq!(puts("{}\n"), alone(&plain()));
    }

    #[test]
    fn it_comes_after_the_others_and_is_spaced_as_they_are() {
        insta::assert_snapshot!(puts("{\n\t\"mcpServers\": {\n\t\t\"docs\": { \"command\":  \"x\" }\n\t},\n\t\"more\": 1.50\n}"), @r#"
        {
        	"mcpServers": {
        		"docs": { "command":  "x" },
        		"fleet": {
        			"type": "http",
        			"url": "http://127.0.0.1:7717/mcp"
        		}
        	},
        	"more": 1.50
        }
        "#);
        insta::assert_snapshot!(puts("{\"mcpServers\":{\"docs\":{\"command\":\"x\"}},\"b\":[1 ,2]}"), @r#"{"mcpServers":{"docs":{"command":"x"}, "fleet": {"type":"http","url":"http://127.0.0.1:7717/mcp"}},"b":[1 ,2]}"#);
        insta::assert_snapshot!(puts("{\n    \"mcpServers\": { }\n}\n"), @r#"
        {
            "mcpServers": {
                "fleet": {
                    "type": "http",
                    "url": "http://127.0.0.1:7717/mcp"
                }
            }
        }
        "#);
        insta::assert_snapshot!(puts("  {\"other\": true}"), @r#"  {"other": true, "mcpServers": {"fleet":{"type":"http","url":"http://127.0.0.1:7717/mcp"}}}"#);
        let dos = puts("{\r\n  \"mcpServers\": {\r\n    \"docs\": {}\r\n  }\r\n}\r\n");
        assert_eq!(dos.matches('\n').count(), dos.matches("\r\n").count(), "{dos:?}");
    }

    #[test]
    fn of_our_own_only_what_leads_elsewhere_is_changed() {
        let theirs = "{\n  \"mcpServers\": {\n    \"fleet\": {\"url\": \"http://127.0.0.1:1/mcp\",  \"type\": \"http\", \"headers\": {\"A\": \"b\"}},\n    \"z\": {}\n  }\n}\n";
        assert_eq!(puts(theirs), theirs.replace(":1/", ":7717/"));
        let of_another_kind = "{\"mcpServers\": {\"fleet\": {\"command\": \"x\"}}}";
        assert_eq!(parsed(&puts(of_another_kind))[SERVERS][NAME], plain().entry());
        let by_name = "{\"mcpServers\": {\"fleet\": {\"type\": \"http\", \"url\": \"http://localhost:7717/mcp\", \"timeout\": 5}}}";
        assert_eq!(put(by_name, &plain()).as_deref(), Ok(by_name), "it is the same address");
    }

    #[test]
    fn a_token_is_named_by_its_variable_and_a_users_own_way_stays() {
        let server = Server { by_token: true, ..plain() };
        let named = json!({"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${FLEETD_TOKEN}"}});
        assert_eq!(parsed(&alone(&server))[SERVERS][NAME], named);
        let puts = |text: &str| {
            let new = put(text, &server).expect("it is a file of servers");
            assert_eq!(put(&new, &server).as_deref(), Ok(new.as_str()), "a second time");
            new
        };
        assert_eq!(parsed(&puts(&alone(&plain())))[SERVERS][NAME], named);
        let with = |headers: &str| {
            format!("{{\"mcpServers\": {{\"fleet\": {{\"type\": \"http\", \"headers\": {headers}}}}}}}")
        };
        let new = parsed(&puts(&with("{\"X\": \"y\"}")))[SERVERS][NAME].clone();
        assert_eq!((&new["headers"]["X"], &new["url"]), (&json!("y"), &json!(URL)));
        assert_eq!(new["headers"], json!({"X": "y", "Authorization": "Bearer ${FLEETD_TOKEN}"}));
        let own = parsed(&puts(&with("{\"authorization\": \"Bearer ${MINE}\"}")))[SERVERS][NAME]["headers"].clone();
        assert_eq!(own, json!({"authorization": "Bearer ${MINE}"}));
    }

    #[test]
    fn what_is_broken_is_told_by_line() {
        let said = |text: &str| put(text, &plain()).map_err(|broken| format!("{}: {}", broken.line, broken.says));
        insta::assert_debug_snapshot!([
            said(""),
            said("[]"),
            said("{\n  \"mcpServers\": {\n    \"docs\": {},\n  }\n}"),
            said("{\n  \"mcpServers\":\n  [1]\n}"),
            said("{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"a\": 2\n  }\n}"),
            said("{\n  // mine\n  \"mcpServers\": {}\n}"),
        ], @r#"
        [
            Err(
                "1: not JSON: EOF while parsing a value",
            ),
            Err(
                "1: the whole file: invalid type: sequence, expected an object in braces",
            ),
            Err(
                "4: not JSON: key must be a string",
            ),
            Err(
                "3: mcpServers: invalid type: sequence, expected an object in braces",
            ),
            Err(
                "5: mcpServers: 'a' stands here for the second time",
            ),
            Err(
                "2: not JSON: key must be a string",
            ),
        ]
        "#);
    }
}
