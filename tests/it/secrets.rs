//! No secret stays where it does not belong: distinct ones are planted in everything that a request, a worker or a
//! recipe can carry, and then everything that the daemon wrote is searched. Texts of messages belong into the store
//! and the directories of turns, and are looked for there too, so that the search itself is proved.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{House, PATIENCE};

const TEAM: &str = r#"
fleet.profile("talks", { launcher = "exec", command = { "sh", "-c", "cat; cat \"$HOME/reply\"; cat \"$HOME/stderr\" >&2" } })
fleet.profile("fails", { launcher = "exec", command = { "sh", "-c", "cat \"$HOME/stderr\" >&2; exit 3" } })
fleet.role("w-talks", { profiles = { "talks" } })
fleet.role("w-fails", { profiles = { "fails" } })
fleet.route("a place of that name", function(task)
  if task.kind then return { role = task.prompt } end
end)
fleet.route("talks", function() return { role = "w-talks", because = "it talks" } end)
fleet.recipe("ask", { input = { words = "string" } }, function(job, run)
  run:send { to = "auto", prompt = job.words }
  return { run:ask_leader(job.words) }
end)
fleet.recipe("breaks", { input = { words = "string" } }, function(job, run)
  return run:fail(job.words)
end)
"#;

/// Where a secret may be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum May {
    /// In the store or in the directory of a turn, and it must be in one of them.
    Store,
    /// Nowhere.
    Nowhere,
}

/// The planted secrets, each with where it was planted.
#[derive(Default)]
struct Planted(BTreeMap<String, (&'static str, May)>);

impl Planted {
    fn plant(&mut self, what: &'static str, may: May) -> String {
        let seed = [std::process::id().to_string(), what.into(), self.0.len().to_string()].join("/");
        let digest = <sha2::Sha256 as sha2::Digest>::digest(seed);
        let secret: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("sk{secret}");
        self.0.insert(secret.clone(), (what, may));
        secret
    }
}

/// A daemon that logs all that it can into files.
struct Loud {
    child: Child,
    url: String,
    token: String,
}

impl Loud {
    fn start(house: &House, token: &str) -> Loud {
        let mut command = house.fleetd(&["serve", "--listen", "127.0.0.1:0", "--state"]);
        command.arg(house.state()).arg("--charter").arg(house.charter()).env("FLEETD_LOG", "trace");
        command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
        let log = File::create(house.path().join("log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let line = stdout.lines().map_while(Result::ok).find(|line| line.contains("listens on "));
        let line = line.unwrap_or_else(|| panic!("{}", std::fs::read_to_string(house.path().join("log")).unwrap()));
        let url = line.split_once("listens on http://").unwrap().1.to_string();
        Loud { child, url, token: token.into() }
    }

    fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.url).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head: Vec<String> = headers.to_vec();
        if !head.iter().any(|header| header.starts_with("Host:")) {
            head.push("Host: localhost".into());
        }
        if !head.iter().any(|header| header.starts_with("Authorization:")) {
            head.push(format!("Authorization: Bearer {}", self.token));
        }
        if !head.iter().any(|header| header.starts_with("Content-Type:")) {
            head.push("Content-Type: application/json".into());
        }
        head.push(format!("Content-Length: {}\r\nConnection: close", body.len()));
        let head = head.join("\r\n");
        stream.write_all(format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (answer.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// As `send`, with the whole answer as it came.
    fn talk(&self, method: &str, path: &str, headers: &[String], body: &str) -> String {
        let mut stream = TcpStream::connect(&self.url).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head: Vec<String> = headers.to_vec();
        head.push(format!("Host: localhost\r\nAuthorization: Bearer {}", self.token));
        head.push(format!("Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close", body.len()));
        let head = head.join("\r\n");
        stream.write_all(format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, &[], &body.to_string())
    }

    fn end(mut self) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn private(house: &House, name: &str, text: &str) {
    let file = house.path().join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Every file below a directory with its bytes.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    memchr::memmem::find(bytes, secret.as_bytes()).is_some()
}

/// Plants in everything that a client of the MCP door can send.
fn by_mcp(loud: &Loud, planted: &mut Planted) {
    let accept = "Accept: application/json, text/event-stream".to_string();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": planted.plant("a client's name", May::Store), "version": "1"},
    }});
    let headers = [accept.clone(), format!("X-Anything: {}", planted.plant("a header at MCP", May::Nowhere))];
    let answer = loud.talk("POST", "/mcp", &headers, &hello.to_string());
    let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_string();
    let headers = [accept, format!("Mcp-Session-Id: {session}"), "MCP-Protocol-Version: 2025-11-25".into()];
    let ask = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        loud.talk("POST", "/mcp", &headers, &body.to_string())
    };
    let call = |tool: &str, arguments: Value| ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let prompt = planted.plant("a prompt by MCP", May::Store);
    let said = call("fleet_send", json!({"to": "w-talks", "prompt": prompt, "wait": "60s"}));
    assert!(said.contains(&prompt), "{said}");
    let mut odd = |what| planted.plant(what, May::Nowhere);
    for (tool, arguments) in [
        ("fleet_send", json!({"to": odd("a role by MCP"), "prompt": "x"})),
        ("fleet_send", json!({"to": "w-talks", "prompt": "x", odd("a field by MCP"): 1})),
        ("fleet_send", json!({"to": "w-talks", "prompt": [odd("a wrong type by MCP")]})),
        ("fleet_reply", json!({"question": "q999", "text": odd("an answer by MCP to no question")})),
        ("fleet_stop", json!({"worker": odd("a worker by MCP")})),
        ("fleet_ack", json!({"messages": [odd("a message by MCP")]})),
        (&odd("a tool"), json!({})),
    ] {
        let said = call(tool, arguments);
        assert!(said.contains("\"isError\":true"), "{said}");
    }
    ask("prompts/get", json!({"name": odd("a prompt's name"), "arguments": {}}));
    ask("prompts/get", json!({"name": "ask", "arguments": {"words": odd("a prompt's argument")}}));
    ask(&odd("a method"), json!({}));
    loud.talk("POST", "/mcp", &headers, &format!("{{\"jsonrpc\": {}", odd("a body by MCP that is no JSON")));
}

#[test]
fn what_is_planted_is_found_where_it_belongs_and_nowhere_else() {
    let mut planted = Planted::default();
    let house = House::new(&[("team.lua", TEAM)]);
    let token = planted.plant("the token", May::Nowhere);
    private(&house, "token", &token);
    std::fs::write(house.path().join("fleetd.toml"), "auth = \"token\"\ntoken_file = \"token\"\n").unwrap();
    private(&house, "reply", &planted.plant("a reply", May::Store));
    private(&house, "stderr", &planted.plant("stderr", May::Store));
    let loud = Loud::start(&house, &token);

    // What is let in and done.
    let prompt = planted.plant("a prompt", May::Store);
    let (status, reply) = loud.post("/message", &json!({ "role": "w-talks", "prompt": prompt, "key": "k1" }));
    assert!(status == 200 && reply["text"].as_str().unwrap().starts_with(&prompt), "{reply}");
    let kind = planted.plant("a kind", May::Store);
    let prompt = planted.plant("a prompt that a rubric takes for a role", May::Store);
    assert_eq!(loud.post("/message", &json!({ "to": "auto", "prompt": prompt, "kind": kind })).0, 200);
    let routed = json!({ "prompt": planted.plant("a prompt to be routed", May::Nowhere), "kind": "odd" });
    assert_eq!(loud.post("/v1/route", &routed).0, 200);
    let prompt = planted.plant("a prompt of a turn that fails", May::Store);
    assert_eq!(loud.post("/message", &json!({ "role": "w-fails", "prompt": prompt })).0, 200);
    let job = json!({ "words": planted.plant("a job, a part's prompt and a question", May::Store) });
    let (status, asks) = loud.post("/v1/run", &json!({ "recipe": "ask", "job": job, "wait": 60 }));
    assert_eq!((status, &asks["pending"]), (202, &json!("question")), "{asks}");
    let answer =
        json!({ "question": asks["questions"][0]["question"], "text": planted.plant("an answer", May::Store) });
    assert_eq!(loud.post("/v1/reply", &answer).0, 200);
    let run = asks["run"].as_str().unwrap();
    assert_eq!(loud.send("GET", &format!("/v1/runs/{run}/wait"), &[], "").0, 200);
    let job = json!({ "words": planted.plant("why a run failed", May::Store) });
    assert_eq!(loud.post("/v1/run", &json!({ "recipe": "breaks", "job": job, "wait": 60 })).0, 200);

    // What is refused for what it asks, with the secret in each place.
    let mut odd = |what| planted.plant(what, May::Nowhere);
    for (path, body) in [
        ("/message", json!({ "role": odd("a role"), "prompt": "x" })),
        ("/message", json!({ "role": "w-talks", "prompt": "x", odd("a field"): 1 })),
        ("/message", json!({ "role": "w-talks", "prompt": "x", "priority": odd("a priority") })),
        ("/message", json!({ "role": "w-talks", "prompt": "x", "deadline": odd("a deadline") })),
        ("/message", json!({ "role": "w-talks", "prompt": { odd("a field inside"): 1 } })),
        ("/v1/spawn", json!({ "role": odd("a role to spawn") })),
        ("/v1/spawn", json!({ "role": "w-talks", "profile": odd("a profile") })),
        ("/v1/stop", json!({ "worker": odd("a worker") })),
        ("/v1/cancel", json!({ "turn": odd("a turn") })),
        ("/v1/ack", json!({ "messages": [odd("a message")] })),
        ("/v1/reply", json!({ "question": odd("a question's id"), "text": odd("an answer to nothing") })),
        ("/v1/reply", json!({ "question": "q999", "text": odd("an answer to no question") })),
        ("/v1/run", json!({ "recipe": odd("a recipe") })),
        ("/v1/run", json!({ "recipe": "ask", "job": { "words": [odd("a wrong job")] } })),
        ("/v1/run", json!({ "recipe": "ask", "job": { odd("a field of a job"): 1 } })),
    ] {
        let (status, refused) = loud.post(path, &body);
        assert!((400..500).contains(&status), "{path} {body}: {status} {refused}");
    }
    let broken = format!("{{\"prompt\": {}", odd("a body that is no JSON"));
    assert_eq!(loud.send("POST", "/message", &[], &broken).0, 400);
    for path in [
        format!("/v1/turns/{}", odd("an id in a path")),
        format!("/{}", odd("a path")),
        format!("/v1/poll?limit={}", odd("a value of a query")),
        format!("/v1/poll?{}=1", odd("a field of a query")),
        format!("/v1/status?worker={}", odd("a worker of a query")),
    ] {
        assert!((400..500).contains(&loud.send("GET", &path, &[], "").0), "{path}");
    }

    // Headers, let in and refused.
    for (status, header) in [
        (403, format!("Authorization: Bearer {}", odd("a wrong token"))),
        (403, format!("Authorization: Basic {}", odd("a password"))),
        (200, format!("Cookie: session={}", odd("a cookie"))),
        (200, format!("X-Anything: {}", odd("any header"))),
        (200, format!("X-Forwarded-For: {}", odd("a proxy's header"))),
        (200, format!("User-Agent: {}", odd("a user agent"))),
        (403, format!("Host: {}.example", odd("a host"))),
        (403, format!("Origin: http://{}.example", odd("an origin"))),
        (415, format!("Content-Type: text/{}", odd("a content type"))),
        (400, format!("{}\u{1}: 1", odd("a header that is none"))),
    ] {
        let (method, path) = if status == 415 { ("POST", "/message") } else { ("GET", "/v1/list") };
        assert_eq!(loud.send(method, path, std::slice::from_ref(&header), "").0, status, "{header}");
    }
    let said = loud.send("GET", "/v1/charter", &[], "").1;
    assert_eq!(said["generation"]["number"], 1);
    by_mcp(&loud, &mut planted);
    loud.end();

    let mut written = vec![("log".to_string(), std::fs::read(house.path().join("log")).unwrap())];
    assert!(holds(&written[0].1, "rubric skipped"), "the log has what it is searched for");
    files(&house.state(), &mut written);
    let belongs = |name: &str| {
        let below = Path::new(name).strip_prefix(house.state()).unwrap_or(Path::new("log"));
        below.starts_with("turns") || below.to_str().unwrap().starts_with("fleet.db")
    };
    let audit = written.iter().find(|(name, _)| name.ends_with("audit.jsonl")).unwrap();
    assert!(audit.1.iter().filter(|byte| **byte == b'\n').count() > 30, "every request is audited");
    let mut leaks = Vec::new();
    for (secret, (what, may)) in &planted.0 {
        let found: Vec<_> = written.iter().filter(|(_, bytes)| holds(bytes, secret)).map(|(name, _)| name).collect();
        let wrong = found.iter().filter(|name| *may == May::Nowhere || !belongs(name));
        leaks.extend(wrong.map(|name| format!("{what} is in {name}")));
        if *may == May::Store && found.is_empty() {
            leaks.push(format!("{what} was lost: the search or the test is wrong"));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}
