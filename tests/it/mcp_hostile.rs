//! A thousand hostile requests at the MCP door, always the same ones: none may end the daemon or get a 5xx, and the
//! door is as good afterwards as before. What a right request gets is tested elsewhere.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use crate::door::inside::Inside;
use crate::support::PATIENCE;

const HOW_MANY: usize = 1_000;

const LIE: &str = "a lie about the length";

/// Throws that are the same at each run (splitmix64).
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.throw() % n as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A whole request: what stands before the body, and the body.
struct Hostile {
    what: &'static str,
    head: Vec<u8>,
    body: Vec<u8>,
}

#[test]
fn a_thousand_hostile_requests_get_no_5xx_and_the_door_stays_as_good_as_it_was() {
    let door = Inside::new();
    let session = open(&door);
    let mut dice = Dice(20_260_728);
    let mut seen = std::collections::BTreeMap::<(&str, u16), usize>::new();
    let mut faults = Vec::new();
    for n in 0..HOW_MANY {
        let hostile = hostile(&mut dice, n, &session);
        let shown = || {
            let head = String::from_utf8_lossy(&hostile.head);
            let body = &hostile.body[..hostile.body.len().min(2_000)];
            format!("request {n}, {}:\n{head}{}", hostile.what, String::from_utf8_lossy(body))
        };
        match send(&door, &hostile) {
            Ok(status @ 200..500) => *seen.entry((hostile.what, status)).or_default() += 1,
            Ok(status) => faults.push(format!("{status} at {}", shown())),
            Err(why) => faults.push(format!("{why} at {}", shown())),
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {HOW_MANY}, the first ones:\n{}",
        faults.len(),
        faults[..faults.len().min(10)].join("\n\n")
    );
    // Not all of them may be turned away at the first look: then most of the door was never tried.
    assert!(seen.keys().any(|(_, status)| *status == 200), "{seen:?}");
    assert!(seen.keys().any(|(_, status)| *status == 202), "{seen:?}");
    assert!(seen.contains_key(&("a body of 9 MiB", 413)), "{seen:?}");

    for (road, answer) in [("session", in_session(&door, &session)), ("stateless", stateless(&door))] {
        assert!(answer.contains(r#""text":"HELLO""#), "{road}: {answer}");
    }
    assert_eq!(door.get("/healthz").0, 200);
}

/// Opens a session as a client does, and returns its id.
fn open(door: &Inside) -> String {
    let body = good("initialize", &json!({})).to_string();
    let answer = whole(door, &head("POST", &["Accept: application/json, text/event-stream"], body.len()), &body);
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"));
    line.unwrap_or_else(|| panic!("no session: {answer}"))[15..].trim().to_string()
}

fn in_session(door: &Inside, session: &str) -> String {
    let body = call(&json!({"to": "w-upper", "prompt": "hello", "wait": "50s"})).to_string();
    let session = format!("Mcp-Session-Id: {session}");
    let lines = ["Accept: application/json, text/event-stream", &session, "MCP-Protocol-Version: 2025-11-25"];
    whole(door, &head("POST", &lines, body.len()), &body)
}

fn stateless(door: &Inside) -> String {
    let mut message = call(&json!({"to": "w-upper", "prompt": "hello", "wait": "50s"}));
    message["params"]["_meta"] = modern();
    let body = message.to_string();
    let lines = [
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: fleet_send",
    ];
    whole(door, &head("POST", &lines, body.len()), &body)
}

fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn call(arguments: &Value) -> Value {
    good("tools/call", &json!({"name": "fleet_send", "arguments": arguments}))
}

fn good(method: &str, params: &Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    if method == "initialize" {
        message["params"] = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "hostile", "version": "1"},
        });
    }
    message
}

fn head(method: &str, lines: &[&str], length: usize) -> Vec<u8> {
    let mut head = format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if !lines.iter().any(|line| line.starts_with("Content-Type")) {
        head += "Content-Type: application/json\r\n";
    }
    for line in lines {
        head += line;
        head += "\r\n";
    }
    format!("{head}Content-Length: {length}\r\n\r\n").into_bytes()
}

/// Sends a request and reads the answer until the tool's result has come or the server closes.
fn whole(door: &Inside, head: &[u8], body: &str) -> String {
    let mut stream = TcpStream::connect(door.local).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[head, body.as_bytes()].concat()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends a hostile request and returns the status; the rest of the answer is left unread, as such clients do.
fn send(door: &Inside, hostile: &Hostile) -> Result<u16, String> {
    let mut stream = TcpStream::connect(door.local).map_err(|error| format!("no connection ({error})"))?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent = stream.write_all(&hostile.head).and_then(|()| stream.write_all(&hostile.body));
    if hostile.what == LIE {
        // More was announced, and nothing more will come.
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut said = Vec::new();
    let mut some = [0; 512];
    while !said.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(n) => said.extend_from_slice(&some[..n]),
            // Whoever sends on after an answer may lose it.
            Err(_) if sent.is_err() => return Ok(413),
            Err(error) => return Err(format!("no answer ({error})")),
        }
    }
    let text = String::from_utf8_lossy(&said);
    // A body that never comes whole may be given up without an answer.
    if text.is_empty() && hostile.what == LIE {
        return Ok(400);
    }
    text.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| format!("no status in {text:?}"))
}

fn hostile(dice: &mut Dice, n: usize, session: &str) -> Hostile {
    let (what, body) = match n {
        // The dear ones are few.
        100 | 600 => ("a body of 9 MiB", big()),
        200 | 700 => ("100,000 deep", deep(dice, 100_000)),
        300 => ("an id of 1 MiB", with_id(dice, &format!("\"{}\"", "i".repeat(1 << 20)))),
        _ => body(dice),
    };
    let mut lines = headers(dice, session);
    let mut length = body.len();
    let mut method = "POST";
    match dice.below(30) {
        0 => method = "GET",
        1 => method = dice.one(&["PUT", "PATCH", "OPTIONS", "HEAD", "BREW"]),
        2 if !lines.iter().any(|line| line.contains(session)) => method = "DELETE",
        3 if !n.is_multiple_of(100) => length += 1 + dice.below(5_000),
        _ => {}
    }
    if n.is_multiple_of(100) {
        lines = vec!["Accept: application/json, text/event-stream".into(), format!("Mcp-Session-Id: {session}")];
        method = "POST";
    }
    let what = if length == body.len() { what } else { LIE };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Hostile { what, head: head(method, &lines, length), body }
}

fn headers(dice: &mut Dice, session: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, dice: &mut Dice, values: &[&str]| {
        let value = dice.one(values);
        if value != "-" {
            lines.push(format!("{name}: {value}"));
        }
    };
    let long = "x".repeat(8_000);
    let both = "application/json, text/event-stream";
    line("Accept", dice, &[both, both, both, both, "-", "*/*", "text/html", "application/json", "", ";;q=,", &long]);
    let json = "application/json";
    let types = [json, json, json, json, json, "application/json; charset=utf-16", "text/plain", "", "a/b/c", &long];
    line("Content-Type", dice, &types);
    let versions = ["2025-11-25", "2025-11-25", "2026-07-28", "-", "1999-01-01", "2025-06-18", "draft", "", "٣", &long];
    line("MCP-Protocol-Version", dice, &versions);
    let strangers = [session, session, session, "-", "-", "no-such-session", "", "..", "\u{7f}", "é", &long];
    line("Mcp-Session-Id", dice, &strangers);
    line("Mcp-Method", dice, &["-", "tools/call", "tools/call", "tools/list", "no/such", "", "é", &long]);
    line("Mcp-Name", dice, &["-", "fleet_send", "fleet_send", "fleet_nothing", "=?base64?4pi6?=", "=?base64?%?=", ""]);
    line("Last-Event-ID", dice, &["-", "-", "-", "0", "1/0", "a.b.c", "x.n1.0/0", ".", "\u{80}", &long]);
    lines
}

fn body(dice: &mut Dice) -> (&'static str, Vec<u8>) {
    match dice.below(15) {
        0 => ("cut short", {
            let mut text = message(dice).to_string().into_bytes();
            text.truncate(dice.below(text.len()));
            text
        }),
        1 => ("deep", {
            let levels = 1 + dice.below(2_000);
            deep(dice, levels)
        }),
        2 => ("a wrong type somewhere", {
            let mut message = message(dice);
            spoil(dice, &mut message);
            message.to_string().into_bytes()
        }),
        3 => ("wrong types everywhere", {
            let mut message = message(dice);
            for _ in 0..6 {
                spoil(dice, &mut message);
            }
            message.to_string().into_bytes()
        }),
        4 => ("a batch", {
            let few = dice.below(5);
            let batch: Vec<Value> = (0..few).map(|_| message(dice)).collect();
            json!(batch).to_string().into_bytes()
        }),
        5 => ("a strange id", {
            let id = dice.one(STRANGE_IDS);
            with_id(dice, id)
        }),
        6 => ("a key twice", {
            let text = message(dice).to_string();
            let twice = dice.one(&[
                r#"{"id":2,"#,
                r#"{"jsonrpc":"2.0","#,
                r#"{"method":"ping","#,
                r#"{"params":{},"#,
                r#"{"id":null,"result":{},"#,
            ]);
            format!("{twice}{}", &text[1..]).into_bytes()
        }),
        7 => ("an unknown method", {
            let mut message = message(dice);
            message["method"] =
                json!(dice.one(&["", "tools", "tools/cal", "../..", "rpc.discover", "tools/call\0", "é"]));
            message.to_string().into_bytes()
        }),
        8 => ("a notification", {
            let method = dice.one(&["initialized", "cancelled", "progress", "roots/list_changed", "fleet", ""]);
            let params = dice.one(&[
                json!({}),
                json!({"requestId": 1}),
                json!({"requestId": "none"}),
                json!({"requestId": {}}),
                json!({"progressToken": [], "progress": "much"}),
                json!([1]),
                json!(null),
            ]);
            let message = json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params});
            message.to_string().into_bytes()
        }),
        9 => ("a response to nothing", {
            let mut message = dice.one(&[
                json!({"result": {}}),
                json!({"result": {"content": [{}]}}),
                json!({"result": null}),
                json!({"error": {"code": -1, "message": "no"}}),
                json!({"error": {"code": 1e99, "message": []}}),
                json!({"error": "no"}),
                json!({"result": {}, "error": {"code": 0, "message": ""}}),
            ]);
            message["jsonrpc"] = json!("2.0");
            message["id"] = dice.one(&[json!(0), json!(1), json!("x"), json!(null), json!(-5), json!([])]);
            message.to_string().into_bytes()
        }),
        10 => ("bytes turned", {
            let mut text = message(dice).to_string().into_bytes();
            for _ in 0..=dice.below(4) {
                let at = dice.below(text.len());
                text[at] = dice.one(&[0x80, 0xff, 0xc0, 0xfe, b'"', b'{', b'}', b'\\', 0x1f]);
            }
            text
        }),
        11 => ("NUL bytes", {
            let mut text = message(dice).to_string().into_bytes();
            let at = dice.below(text.len());
            text.splice(at..at, [0; 3]);
            text
        }),
        12 => ("noise", {
            let length = dice.below(300);
            (0..length).map(|_| dice.throw() as u8).collect()
        }),
        13 => {
            ("no message", dice.one(&["", " \n", "null", "0", "\"\"", "[]", "{}", "true", "\u{feff}{}", "{}{}"]).into())
        }
        _ => ("hostile arguments", {
            let mut message = message(dice);
            let arguments = junk(dice);
            message["params"] = json!({"name": dice.one(TOOLS), "arguments": arguments});
            if dice.below(2) == 0 {
                message["params"]["_meta"] = modern();
            }
            message["method"] = json!("tools/call");
            message.to_string().into_bytes()
        }),
    }
}

const TOOLS: &[&str] = &[
    "fleet_whoami",
    "fleet_profiles",
    "fleet_list",
    "fleet_status",
    "fleet_send",
    "fleet_poll",
    "fleet_ack",
    "fleet_reply",
    "fleet_ask",
    "fleet_cancel",
    "fleet_spawn",
    "fleet_stop",
    "fleet_route",
    "fleet_recipes",
    "fleet_run",
    "fleet_charter",
    "fleet_nothing",
    "",
];

const STRANGE_IDS: &[&str] = &[
    "1e400",
    "-0.0",
    "1.5",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "99999999999999999999999999999999999999999999999999",
    "null",
    "true",
    "{}",
    "[1]",
    "\"\"",
    "\"a.b/c\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\u{202e}\"",
];

/// A message that is right by itself, of either protocol.
fn message(dice: &mut Dice) -> Value {
    let sent = json!({"name": "fleet_send", "arguments": {"to": "w-upper", "prompt": "x", "key": "k", "wait": "1ms"}});
    let (method, params) = dice.one(&[
        ("initialize", json!({})),
        ("ping", json!({})),
        ("tools/list", json!({"cursor": "x"})),
        ("tools/call", sent),
        ("tools/call", json!({"name": "fleet_status", "arguments": {"turn": "t-1"}})),
        ("tools/call", json!({"name": "fleet_run", "arguments": {"recipe": "ask", "job": {"a": [1, {"b": null}]}}})),
        ("tools/call", json!({"name": "fleet_poll", "arguments": {"limit": 3, "after": "m-1"}})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "ask", "arguments": {"a": "1"}})),
        ("resources/list", json!({})),
        ("logging/setLevel", json!({"level": "debug"})),
        ("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "a"}})),
        ("subscriptions/listen", json!({"filter": {"toolsListChanged": true}})),
        ("server/discover", json!({})),
        ("tasks/list", json!({})),
    ]);
    let mut message = good(method, &params);
    match dice.below(3) {
        0 => message["params"]["_meta"] = modern(),
        1 => message["params"]["_meta"] = json!({"progressToken": 1}),
        _ => {}
    }
    message
}

fn with_id(dice: &mut Dice, id: &str) -> Vec<u8> {
    let mut message = message(dice);
    message["id"] = json!("the id comes here");
    message.to_string().replace("\"the id comes here\"", id).into_bytes()
}

/// Puts something else in one place of a value.
fn spoil(dice: &mut Dice, value: &mut Value) {
    let goes_down = dice.below(4) != 0;
    match value {
        Value::Object(map) if goes_down && !map.is_empty() => {
            let at = dice.below(map.len());
            spoil(dice, map.values_mut().nth(at).unwrap());
        }
        Value::Array(list) if goes_down && !list.is_empty() => {
            let at = dice.below(list.len());
            spoil(dice, &mut list[at]);
        }
        other => *other = junk(dice),
    }
}

fn junk(dice: &mut Dice) -> Value {
    let name =
        dice.one(&["to", "turn", "worker", "wait", "messages", "prompt", "limit", "job", "reload", "\0", "__proto__"]);
    match dice.below(9) {
        0 => json!(null),
        1 => json!(dice.throw() as i64),
        2 => json!(dice.throw() as f64 * 1e280),
        3 => json!("\u{0}\u{1b}[2J\u{202e}"),
        4 => json!("x".repeat(dice.below(70_000))),
        5 => json!([]),
        6 => json!([junk(dice), junk(dice)]),
        7 => json!({name: junk(dice)}),
        _ => json!(dice.below(2) == 0),
    }
}

fn deep(dice: &mut Dice, levels: usize) -> Vec<u8> {
    let (open, close) = dice.one(&[("[", "]"), (r#"{"a":"#, "}")]);
    let nest = format!("{}1{}", open.repeat(levels), close.repeat(levels));
    let before = dice.one(&[
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fleet_run","arguments":{"recipe":"ask","job":"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":"#,
    ]);
    format!("{before}{nest}}}}}}}").into_bytes()
}

fn big() -> Vec<u8> {
    call(&json!({"to": "w-upper", "prompt": "x".repeat(9 << 20)})).to_string().into_bytes()
}
