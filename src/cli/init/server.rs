//! One server among those of a `.mcp.json`: found, added or renewed in the text itself, so that all others stay as they
//! are written, order, spaces and line ends included. Pure: no file is known here.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::section::{Broken, eol};

/// Where the servers stand, and what ours is called there: tools are `mcp__fleet__…` to the leader.
const SERVERS: &str = "mcpServers";
const NAME: &str = "fleet";

/// Returns a file with our server alone.
pub fn alone(url: &str) -> String {
    let whole = json!({ SERVERS: { NAME: server(url) } });
    format!("{whole:#}\n")
}

/// Returns the text with our server at this address in it.
pub fn put(text: &str, url: &str) -> Result<String, Broken> {
    let whole = members(text, text, "the whole file")?;
    let Some(servers) = find(&whole, SERVERS) else {
        return Ok(added(text, text.trim(), &whole, SERVERS, &json!({ NAME: server(url) })));
    };
    let each = members(text, servers, SERVERS)?;
    let Some(ours) = find(&each, NAME) else { return Ok(added(text, servers, &each, NAME, &server(url))) };
    let new = match serde_json::from_str::<Value>(ours) {
        Ok(Value::Object(old)) if is_at(&old, url) => return Ok(text.to_string()),
        // Headers and the like are the user's.
        Ok(Value::Object(mut old)) if old.get("type") == Some(&json!("http")) => {
            old.insert("url".into(), json!(url));
            Value::Object(old)
        }
        _ => server(url),
    };
    let at = place(text, ours);
    let pretty = pretty(&new, &indent_of_line(text, at), &unit(text), eol(text.as_bytes()));
    Ok([&text[..at], &pretty, &text[at + ours.len()..]].concat())
}

fn server(url: &str) -> Value {
    json!({ "type": "http", "url": url })
}

/// Tells whether a server is ours, whichever of its names the address uses.
fn is_at(server: &Map<String, Value>, url: &str) -> bool {
    let plain = |url: &str| url.replace("://localhost:", "://127.0.0.1:");
    let at = server.get("url").and_then(Value::as_str).map(plain);
    server.get("type") == Some(&json!("http")) && at == Some(plain(url))
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
        return [&text[..at], &new, &text[at + object.len()..]].concat();
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

    /// Puts it, and holds that all others are as before, that JSON agrees, and that a second time changes nothing.
    fn puts(text: &str) -> String {
        let new = put(text, URL).expect("it is a file of servers");
        let (mut before, mut after) = (parsed(text), parsed(&new));
        assert_eq!(after[SERVERS][NAME]["url"], URL, "{new}");
        for value in [&mut before, &mut after] {
            let servers = value[SERVERS].as_object_mut().map(|servers| servers.shift_remove(NAME));
            if servers.is_none() || value[SERVERS] == json!({}) {
                value.as_object_mut().expect("an object").shift_remove(SERVERS);
            }
        }
        assert_eq!(before.to_string(), after.to_string(), "all others, in their order: {new}");
        assert_eq!(put(&new, URL).as_deref(), Ok(new.as_str()), "a second time");
        new
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn alone_it_is_what_it_would_be_among_others() {
        assert_eq!(put(&alone(URL), URL), Ok(alone(URL)));
        assert_eq!(puts("{}\n"), alone(URL));
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
    fn our_own_is_renewed_with_what_the_user_put_into_it() {
        let old = "{\n  \"mcpServers\": {\n    \"fleet\": {\"type\": \"http\", \"url\": \"http://127.0.0.1:1/mcp\", \"headers\": {\"A\": \"b\"}},\n    \"z\": {}\n  }\n}\n";
        let new = puts(old);
        assert_eq!(parsed(&new)[SERVERS][NAME]["headers"]["A"], "b");
        let of_another_kind = "{\"mcpServers\": {\"fleet\": {\"command\": \"x\"}}}";
        assert_eq!(parsed(&puts(of_another_kind))[SERVERS][NAME], server(URL));
        let by_name = "{\"mcpServers\": {\"fleet\": {\"type\": \"http\", \"url\": \"http://localhost:7717/mcp\", \"timeout\": 5}}}";
        assert_eq!(put(by_name, URL).as_deref(), Ok(by_name), "it is the same address");
    }

    #[test]
    fn what_is_broken_is_told_by_line() {
        let said = |text: &str| put(text, URL).map_err(|broken| format!("{}: {}", broken.line, broken.says));
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
