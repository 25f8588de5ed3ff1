//! The rules table against the doors: each cell that `fleetd rules` prints is tried on a real daemon by a real caller
//! of that kind. Only whether it is let in counts here; what then comes of it is for other tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::cli::fleetd;
use crate::support::{Daemon, House, PATIENCE};

const TEAM: &str = r#"
fleet.profile("sh", { launcher = "exec", command = { "sh" } })
fleet.role("w", { profiles = { "sh" } })
fleet.profile("slow", { launcher = "exec", command = { "sh", "-c", "while ! test -e go; do sleep 0.05; done" } })
fleet.role("w-slow", { profiles = { "slow" } })
"#;

/// Every path with what a request to it wants; the seat is freed last, since that changes who is the leader.
const PATHS: &[(&str, &str, &str)] = &[
    ("POST", "/message", "send"),
    ("POST", "/v1/send", "send"),
    ("POST", "/v1/reply", "answer"),
    ("POST", "/v1/ask", "ask"),
    ("POST", "/v1/cancel", "cancel"),
    ("GET", "/v1/status", "status"),
    ("GET", "/v1/turns/{id}", "status"),
    ("GET", "/v1/turns/{id}/wait", "status"),
    ("GET", "/v1/runs/{id}", "status"),
    ("GET", "/v1/runs/{id}/replay", "status"),
    ("POST", "/v1/runs/{id}/resume", "run"),
    ("GET", "/v1/runs/{id}/wait", "status"),
    ("GET", "/v1/poll", "poll"),
    ("POST", "/v1/ack", "ack"),
    ("GET", "/v1/whoami", "whoami"),
    ("GET", "/v1/list", "list"),
    ("POST", "/v1/spawn", "spawn"),
    ("POST", "/v1/stop", "stop"),
    ("POST", "/v1/run", "run"),
    ("GET", "/v1/runs", "status"),
    ("GET", "/v1/recipes", "recipes"),
    ("POST", "/v1/route", "route"),
    ("GET", "/v1/charter", "charter"),
    ("POST", "/v1/charter/diff", "charter"),
    ("POST", "/v1/charter/reload", "reload"),
    ("GET", "/v1/openapi.json", "whoami"),
    ("GET", "/healthz", "health"),
    ("GET", "/metrics", "metrics"),
    ("GET", "/v1/worktrees", "list"),
    ("POST", "/v1/worktrees/remove", "stop"),
    ("GET", "/v1/seat", "seat"),
    ("POST", "/v1/seat/release", "release"),
    ("POST", "/v1/pause", "pause"),
    ("POST", "/v1/resume", "resume"),
];

/// Every tool with what calling it wants.
const TOOLS: &[(&str, &str)] = &[
    ("fleet_whoami", "whoami"),
    ("fleet_profiles", "list"),
    ("fleet_list", "list"),
    ("fleet_status", "status"),
    ("fleet_send", "send"),
    ("fleet_poll", "poll"),
    ("fleet_ack", "ack"),
    ("fleet_reply", "answer"),
    ("fleet_ask", "ask"),
    ("fleet_cancel", "cancel"),
    ("fleet_spawn", "spawn"),
    ("fleet_stop", "stop"),
    ("fleet_route", "route"),
    ("fleet_recipes", "recipes"),
    ("fleet_run", "run"),
    ("fleet_charter", "charter"),
];

/// The table as `fleetd rules --json` prints it: by caller, verb, target and door.
struct Table(BTreeMap<[String; 4], String>);

impl Table {
    fn of(house: &House) -> Table {
        let cells = fleetd(house, &["rules", "--json"]).ends(0).json();
        let word = |cell: &Value, field: &str| cell[field].as_str().unwrap().to_string();
        let cells = cells.as_array().unwrap().iter();
        Table(
            cells
                .map(|cell| {
                    (["caller", "verb", "target", "door"].map(|field| word(cell, field)), word(cell, "verdict"))
                })
                .collect(),
        )
    }

    /// Whether a caller is let in while somebody else sits in the seat. From a worker an answer is its reply.
    fn lets_in(&self, caller: &str, verb: &str, target: &str, door: &str) -> bool {
        let verb = if (caller, verb) == ("worker", "answer") { "reply" } else { verb };
        self.0[&[caller, verb, target, door].map(String::from)] == "yes"
    }
}

fn mcp(method: &str, params: &Value) -> (Vec<String>, String) {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().unwrap_or(method);
    let headers = [
        "Accept: application/json, text/event-stream".into(),
        "Content-Type: application/json".into(),
        "MCP-Protocol-Version: 2026-07-28".into(),
        format!("Mcp-Method: {method}"),
        format!("Mcp-Name: {name}"),
    ];
    (headers.into(), json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

/// A list of requests for one curl, which marks where the answer of each ends.
pub struct Batch<'a> {
    daemon: &'a Daemon,
    headers: &'a [&'a str],
    text: String,
}

const MARK: &str = "@@";

impl<'a> Batch<'a> {
    pub fn new(daemon: &'a Daemon, headers: &'a [&'a str]) -> Self {
        Batch { daemon, headers, text: String::new() }
    }

    fn add(&mut self, name: &str, method: &str, path: &str, headers: &[String], body: Option<&str>) {
        let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut lines = vec![
            format!("url = \"{}{path}\"", self.daemon.url),
            format!("request = \"{method}\""),
            format!("write-out = \"\\n{MARK} {name} %{{http_code}}\\n\""),
        ];
        if !name.starts_with("mcp ") {
            lines.push("output = \"/dev/null\"".into());
        }
        let all = self.headers.iter().map(|header| header.to_string()).chain(headers.iter().cloned());
        lines.extend(all.map(|header| format!("header = \"{}\"", quote(&header))));
        lines.extend(body.map(|body| format!("data = \"{}\"", quote(body))));
        let next = if self.text.is_empty() { "" } else { "next\n" };
        self.text.push_str(&format!("{next}{}\n", lines.join("\n")));
    }

    fn rest(&mut self, name: &str, method: &str, path: &str, body: &Value) {
        let path = path.replace("turns/{id}", "turns/t999999").replace("runs/{id}", "runs/r999999");
        let body = (method == "POST").then(|| body.to_string());
        self.add(name, method, &path, &["Content-Type: application/json".into()], body.as_deref());
    }

    pub fn tool(&mut self, name: &str, tool: &str, arguments: &Value) {
        let (headers, body) = mcp("tools/call", &json!({ "name": tool, "arguments": arguments }));
        self.add(name, "POST", "/mcp", &headers, Some(&body));
    }

    pub fn menu(&mut self) {
        let (headers, body) = mcp("tools/list", &json!({}));
        self.add("mcp menu", "POST", "/mcp", &headers, Some(&body));
    }

    /// Writes it where curl can read it.
    pub fn written(&self, house: &House, name: &str) -> std::path::PathBuf {
        written(house, name, &self.text)
    }

    /// Everything that anybody could want, with arguments by which nothing comes of it.
    fn everything(mut self) -> String {
        self.menu();
        for (tool, _) in TOOLS {
            self.tool(&format!("mcp {tool}"), tool, &json!({ "nonsense": 1 }));
        }
        self.rest("hook", "POST", "/hook", &json!({}));
        for (method, path, _) in PATHS {
            self.rest(&format!("rest {method} {path}"), method, path, &json!({ "nonsense": 1 }));
        }
        self.text
    }
}

/// What came of each request, by its name: whether it was let in, and its result if it has one.
pub fn outcomes(said: &str) -> BTreeMap<String, (bool, Value)> {
    let mut outcomes = BTreeMap::new();
    let mut body = Vec::new();
    for line in said.lines() {
        let Some(mark) = line.strip_prefix(MARK) else {
            body.push(line);
            continue;
        };
        let (name, status) = mark.trim().rsplit_once(' ').unwrap();
        let data = std::mem::take(&mut body);
        let messages = data.iter().map(|line| line.strip_prefix("data:").unwrap_or(line));
        let mut results = messages.filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["result"].clone()));
        let result = results.find(Value::is_object).unwrap_or_default();
        assert!(name.starts_with("mcp") <= result.is_object(), "{name} {status}: {data:?}");
        let denied = status == "403" || result["structuredContent"]["kind"] == "not_allowed";
        outcomes.insert(name.to_string(), (!denied, result));
    }
    outcomes
}

fn compare(table: &Table, caller: &str, outcomes: &BTreeMap<String, (bool, Value)>) {
    let mut wrong = Vec::new();
    let mut look = |name: String, verb: &str, door: &str| {
        let wanted = table.lets_in(caller, verb, "own", door);
        if outcomes.get(&name).unwrap_or_else(|| panic!("{name} was not tried")).0 != wanted {
            wrong.push(format!("{caller}: {name} ({verb}): the table says {wanted}"));
        }
    };
    for (method, path, verb) in PATHS {
        look(format!("rest {method} {path}"), verb, "rest");
    }
    for (tool, verb) in TOOLS {
        look(format!("mcp {tool}"), verb, "mcp");
    }
    look("hook".into(), "hook", "hook");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let menu: Vec<&str> = TOOLS.iter().filter(|t| table.lets_in(caller, t.1, "own", "mcp")).map(|t| t.0).collect();
    assert_eq!(names(&outcomes["mcp menu"].1), menu, "{caller} is shown what it may call");
}

pub fn names(menu: &Value) -> Vec<&str> {
    menu["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Runs a batch as a child of ours.
fn by_child(batch: &Path) -> String {
    let curl = Command::new("curl").arg("-sN").arg("-K").arg(batch).stderr(Stdio::null()).output().unwrap();
    String::from_utf8(curl.stdout).unwrap()
}

/// Runs a batch as an orphan: a process outside our tree.
fn by_orphan(house: &House, batch: &Path) -> String {
    let (said, gone) = (house.path().join("orphan.said"), house.path().join("orphan.gone"));
    let _ = (std::fs::remove_file(&said), std::fs::remove_file(&gone));
    let script = "(setsid sh -c 'until test -e \"$2\"; do sleep 0.02; done; curl -sN -K \"$0\" >\"$1.half\" 2>/dev/null; \
                  mv \"$1.half\" \"$1\"' \"$0\" \"$1\" \"$2\" </dev/null >/dev/null 2>&1 &)";
    let mut sh = Command::new("sh");
    assert!(sh.args(["-c", script]).arg(batch).arg(&said).arg(&gone).status().unwrap().success());
    std::fs::write(&gone, "").unwrap();
    until(|| std::fs::read_to_string(&said).ok())
}

fn until<T>(look: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "it did not come in time");
        std::thread::yield_now();
    }
}

/// Makes this very process the leader.
fn sit(daemon: &Daemon) {
    let (headers, body) = mcp("tools/call", &json!({ "name": "fleet_list", "arguments": {} }));
    let mut stream = TcpStream::connect(daemon.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers = headers.join("\r\n");
    let length = body.len();
    let head =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\nContent-Length: {length}");
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    assert_eq!(daemon.get("/v1/whoami").1["caller"], "leader");
}

fn written(house: &House, name: &str, text: &str) -> std::path::PathBuf {
    let path = house.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_cell_of_the_table_is_what_the_doors_do() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let table = Table::of(&house);
    let (_, document) = daemon.get("/v1/openapi.json");
    let known: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |m| format!("{} {path}", m.to_uppercase()))
        })
        .collect();
    let tried: BTreeSet<String> = PATHS.iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    assert_eq!(tried, known, "every path is tried");

    let batch = written(&house, "everything", &Batch::new(&daemon, &[]).everything());
    sit(&daemon);
    compare(&table, "operator", &outcomes(&by_orphan(&house, &batch)));

    // The operator freed the seat, as it may; with the seat free it is shown all that it could have.
    let mut menu = Batch::new(&daemon, &[]);
    menu.menu();
    let menu = outcomes(&by_orphan(&house, &menu.written(&house, "menu")));
    let all: Vec<&str> = TOOLS.iter().map(|tool| tool.0).filter(|tool| *tool != "fleet_ask").collect();
    assert_eq!(names(&menu["mcp menu"].1), all);

    sit(&daemon);
    compare(&table, "leader", &outcomes(&by_child(&batch)));

    let proxied = written(&house, "proxied", &Batch::new(&daemon, &["Via: 1.1 somewhere"]).everything());
    compare(&table, "anonymous", &outcomes(&by_child(&proxied)));

    // A worker, in its own turn and in that of another.
    let (_, other) = daemon.post("/v1/send", &json!({ "role": "w-slow", "prompt": "x" }));
    let (other, mut inside) = (other["id"].clone(), Batch::new(&daemon, &[]));
    for (target, turn) in [("own", json!({})), ("other", json!({ "turn": other }))] {
        let with = |more: Value| {
            let mut body = more;
            body.as_object_mut().unwrap().extend(turn.as_object().unwrap().clone());
            body
        };
        inside.rest(&format!("rest reply {target}"), "POST", "/v1/reply", &with(json!({ "text": "x" })));
        inside.rest(&format!("rest ask {target}"), "POST", "/v1/ask", &with(json!({ "text": "x", "wait": "1ms" })));
        inside.tool(&format!("mcp reply {target}"), "fleet_reply", &with(json!({ "text": "x" })));
        inside.tool(&format!("mcp ask {target}"), "fleet_ask", &with(json!({ "text": "x", "wait": "1ms" })));
    }
    let inside = inside.written(&house, "inside");
    let script = format!(
        "for batch in {} {}; do curl -sN -K $batch; done > said; mv said done",
        batch.display(),
        inside.display()
    );
    let (status, _) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": script }));
    assert_eq!(status, 202);
    let outcomes = outcomes(&until(|| std::fs::read_to_string(house.path().join("done")).ok()));
    compare(&table, "worker", &outcomes);
    for (door, verb) in [("rest", "reply"), ("rest", "ask"), ("mcp", "reply"), ("mcp", "ask")] {
        for target in ["own", "other"] {
            let (let_in, result) = &outcomes[&format!("{door} {verb} {target}")];
            assert_eq!(*let_in, table.lets_in("worker", verb, target, door), "{door} {verb} {target}: {result}");
        }
    }
    std::fs::write(house.path().join("go"), "").unwrap();
}
