//! The MCP door from outside, by a raw client: who is shown and may do what, what a call comes to, and what outlives
//! a connection, a session and the daemon. What the tests share is here; each module is one idea.

mod cancel;
mod client;
mod ended;
mod keys;
mod limits;
mod menus;
mod prompts;
mod refusals;
mod restarts;
mod seat;
mod sessions;
mod waits;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use self::client::Client;
use crate::support::{Daemon, House, PATIENCE};

/// A worker of `w` does what its prompt says, as a shell; one of `w-upper` writes it in capitals.
const TEAM: &str = r#"
fleet.profile("sh", { launcher = "exec", command = { "sh" }, timeout = "60s" })
fleet.role("w", { profiles = { "sh" }, max_busy = 4, max_waiting = 8 })
fleet.profile("bash", { launcher = "exec", command = { "bash" }, timeout = "60s" })
fleet.role("quick", { profiles = { "bash" }, max_busy = 8, max_waiting = 40 })
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "60s" })
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2, max_waiting = 8 })
fleet.route("otherwise", function() return { role = "w-upper", because = "no rubric said otherwise" } end)
fleet.recipe("shout", {
  about = "Says a word in capitals.",
  input = { word = "string", times = "integer?", before = "string?" },
}, function(job, run)
  if job.before then
    run:send { to = "w", prompt = job.before }
  end
  return run:send({ to = "w-upper", prompt = job.word }).text
end)
"#;

fn house() -> House {
    House::new(&[("team.lua", TEAM)])
}

/// A house whose daemon comes back to the same port.
fn house_at_a_port() -> House {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    house().arg("--listen").arg(format!("127.0.0.1:{port}"))
}

fn local(daemon: &Daemon) -> SocketAddr {
    daemon.url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Something that a worker waits for, and a count of who came to wait.
struct Latch {
    came: PathBuf,
    open: PathBuf,
}

impl Latch {
    fn new(house: &House, name: &str) -> Latch {
        Latch { came: house.path().join(format!("{name}.came")), open: house.path().join(format!("{name}.open")) }
    }

    /// A shell's script that waits here and then says `words`.
    fn script(&self, words: &str) -> String {
        let (came, open) = (self.came.display(), self.open.display());
        format!("echo here >> {came}\nwhile [ ! -e {open} ]; do sleep 0.01; done\necho {words}\n")
    }

    fn open(&self) {
        std::fs::write(&self.open, "").unwrap();
    }

    /// How many came, so far.
    fn came(&self) -> usize {
        std::fs::read_to_string(&self.came).unwrap_or_default().lines().count()
    }

    fn until_came(&self) {
        until(|| (self.came() > 0).then_some(()));
    }
}

/// A shell's script that calls a tool and prints what it comes to, as the stream that it was.
fn call_script(daemon: &Daemon, tool: &str, arguments: Value) -> String {
    let context = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (method, params) = match tool {
        "tools/list" => (tool, json!({ "_meta": context })),
        tool => ("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": context })),
    };
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let head = |name: &str, value: &str| format!("-H '{name}: {value}'");
    let heads = [
        head("Accept", "application/json, text/event-stream"),
        head("Content-Type", "application/json"),
        head("MCP-Protocol-Version", "2026-07-28"),
        head("Mcp-Method", method),
        head("Mcp-Name", tool),
    ];
    format!("curl -sN {} -d '{body}' {}/mcp\n", heads.join(" "), daemon.url)
}

/// The same by nothing but a shell, for a caller that is there sooner than any program could be.
fn quick_call_script(daemon: &Daemon, tool: &str, arguments: Value) -> String {
    let context = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": context });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let heads = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        &format!("Mcp-Name: {tool}"),
        &format!("Content-Length: {}", body.len()),
    ];
    let local = local(daemon);
    let (ip, port, head) = (local.ip(), local.port(), heads.join(r"\r\n"));
    format!(r"exec 3<>/dev/tcp/{ip}/{port}; printf '%b%s' '{head}\r\n\r\n' '{body}' >&3; cat <&3")
}

/// Returns the results in what such a script printed.
fn results(printed: &str) -> Vec<Value> {
    let lines = printed.lines().filter_map(|line| line.strip_prefix("data:"));
    let messages = lines.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    messages.map(|message| message["result"].clone()).filter(Value::is_object).collect()
}

/// Sends a prompt to a worker of `w` and returns the reply's text.
fn worker_says(client: &Client, prompt: &str) -> String {
    let reply = client.good("fleet_send", json!({ "to": "w", "prompt": prompt, "wait": "50s" }));
    assert_eq!(reply["outcome"], "replied", "{reply}");
    reply["text"].as_str().unwrap().to_string()
}

/// Asks again until there is an answer; the question itself takes its time, so nothing spins.
fn until<T>(ask: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < end, "it did not come in time");
        std::thread::yield_now();
    }
}
