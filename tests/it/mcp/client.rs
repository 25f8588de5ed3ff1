//! A small MCP client of ours that shows the raw protocol: both roads, each answer read event by event as it comes.
//! It speaks for the test's own process or for another one that holds the connection. No test is here.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::support::PATIENCE;

/// The name under which clients name the use of a tool by their model.
pub const TOOL_USE: &str = "claudecode/toolUseId";

/// One client of the door.
pub struct Client {
    local: SocketAddr,
    road: Road,
    other: Option<Other>,
    pub session: RefCell<Option<String>>,
    ids: Cell<i64>,
}

#[derive(PartialEq)]
enum Road {
    Session,
    Stateless,
}

/// Another process of this machine: it holds one connection and passes on what is said.
struct Other {
    child: Child,
    to: RefCell<ChildStdin>,
    from: Rc<RefCell<BufReader<ChildStdout>>>,
}

/// An answer whose body is read as it comes; dropping it closes the connection.
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    from: Box<dyn Read>,
    left: Left,
    at_hand: std::collections::VecDeque<u8>,
}

enum Left {
    Bytes(usize),
    Chunks,
    ToEnd,
    Nothing,
}

/// One event of a stream; one that only says how to come back carries no message.
#[derive(Debug)]
pub struct Event {
    pub id: Option<String>,
    pub message: Value,
}

/// The result of a tool, with both its forms looked at already.
#[derive(Debug)]
pub struct Called {
    pub refused: bool,
    pub value: Value,
}

impl Called {
    /// Returns the value of a call that must have gone well.
    pub fn good(self) -> Value {
        assert!(!self.refused, "refused: {}", self.value);
        self.value
    }

    /// Returns kind, message and hints of a refusal in one line.
    pub fn refusal(self) -> String {
        assert!(self.refused, "it was not refused: {}", self.value);
        let hints = self.value["hints"].as_array().cloned().unwrap_or_default();
        let hints: String = hints.iter().map(|hint| format!("; {}", hint.as_str().unwrap())).collect();
        format!("{}: {}{hints}", self.value["kind"].as_str().unwrap(), self.value["message"].as_str().unwrap())
    }

    fn read(result: &Value) -> Called {
        let value = result["structuredContent"].clone();
        assert!(value.is_object(), "no structured content: {result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value, "both forms say the same");
        Called { refused: result["isError"] == true, value }
    }
}

// === impl Client ===

impl Client {
    /// A client of the session road that has not begun yet.
    pub fn silent(local: SocketAddr) -> Client {
        Client { local, road: Road::Session, other: None, session: RefCell::default(), ids: Cell::new(0) }
    }

    /// A client of the session road.
    pub fn new(local: SocketAddr) -> Client {
        let client = Client::silent(local);
        client.begin();
        client
    }

    /// A client of the stateless road.
    pub fn stateless(local: SocketAddr) -> Client {
        Client { road: Road::Stateless, ..Client::silent(local) }
    }

    /// A client in a process of its own, below this one, that has not begun yet.
    pub fn silent_other(local: SocketAddr) -> Client {
        Client { other: Some(Other::start(local)), ..Client::silent(local) }
    }

    /// A client in a process of its own, with a session.
    pub fn other(local: SocketAddr) -> Client {
        let client = Client::silent_other(local);
        client.begin();
        client
    }

    /// The same client of the same session, now at another address.
    pub fn moved(self, local: SocketAddr) -> Client {
        Client { local, ..self }
    }

    /// Begins a session, a new one if there is one already, and returns what the server said of itself.
    pub fn begin(&self) -> Value {
        self.session.replace(None);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let mut answer = self.start("initialize", params).fine();
        self.session.replace(Some(answer.headers["mcp-session-id"].clone()));
        let result = answer.response()["result"].clone();
        assert_eq!(self.tell("notifications/initialized", json!({})), 202);
        result
    }

    /// Returns the id that the next request will have.
    pub fn next_id(&self) -> i64 {
        self.ids.get()
    }

    /// Sends a request and returns its answer before it was read.
    pub fn start(&self, method: &str, params: Value) -> Answer {
        let id = self.ids.replace(self.ids.get() + 1);
        self.start_as(json!(id), method, params)
    }

    /// The same with an id of the test's choice.
    pub fn start_as(&self, id: Value, method: &str, params: Value) -> Answer {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// Calls a tool and returns the answer before it was read.
    pub fn start_call(&self, tool: &str, arguments: Value, meta: Value) -> Answer {
        self.start("tools/call", json!({ "name": tool, "arguments": arguments, "_meta": meta }))
    }

    /// Sends a request and returns the whole message that answers it.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        self.start(method, params).fine().response()
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: Value) -> Called {
        self.call_with(tool, arguments, json!({}))
    }

    /// Calls a tool with more about the call.
    pub fn call_with(&self, tool: &str, arguments: Value, meta: Value) -> Called {
        self.start_call(tool, arguments, meta).fine().called()
    }

    /// Calls a tool and returns its value, which must have gone well.
    pub fn good(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).good()
    }

    /// Returns the names of the tools that the client is shown.
    pub fn menu(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    }

    /// Sends a notification and returns the status.
    pub fn tell(&self, method: &str, params: Value) -> u16 {
        let mut answer = self.post(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        answer.text();
        answer.status
    }

    /// Listens for what the server says by itself, or goes on with a stream after an event.
    pub fn listen(&self, last: Option<&str>) -> Answer {
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        self.send(&format!("GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n{last}"), "", b"")
    }

    /// Ends the session and returns the status.
    pub fn end(&self) -> u16 {
        let mut answer = self.send("DELETE /mcp HTTP/1.1\r\n", "", b"");
        answer.text();
        answer.status
    }

    /// Posts one message.
    pub fn post(&self, message: &Value) -> Answer {
        let mut message = message.clone();
        let mut extra = String::new();
        if self.road == Road::Stateless {
            extra += &format!("Mcp-Method: {}\r\n", message["method"].as_str().unwrap());
            if let Some(name) = message["params"]["name"].as_str() {
                extra += &format!("Mcp-Name: {name}\r\n");
            }
            let meta = message["params"].as_object_mut().unwrap().entry("_meta").or_insert(json!({}));
            let context = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let context: Map<String, Value> = serde_json::from_value(context).unwrap();
            meta.as_object_mut().unwrap().extend(context);
        }
        self.post_raw(message.to_string().as_bytes(), &extra)
    }

    /// Posts these bytes.
    pub fn post_raw(&self, body: &[u8], headers: &str) -> Answer {
        let head = "POST /mcp HTTP/1.1\r\nAccept: application/json, text/event-stream\r\n\
                    Content-Type: application/json\r\n";
        self.send(head, &format!("{headers}Content-Length: {}\r\n", body.len()), body)
    }

    fn send(&self, head: &str, more: &str, body: &[u8]) -> Answer {
        let version = if self.road == Road::Stateless { "2026-07-28" } else { "2025-11-25" };
        let session = self.session.borrow();
        let session = session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        // Its first message names no version: none was agreed on yet.
        let begun = self.road == Road::Stateless || !session.is_empty();
        let version = if begun { format!("MCP-Protocol-Version: {version}\r\n") } else { String::new() };
        let head = format!("{head}Host: {}\r\n{session}{version}{more}\r\n", self.local);
        match &self.other {
            Some(other) => {
                let mut to = other.to.borrow_mut();
                // In one piece: a server that answers before it has the body gives the connection up.
                to.write_all(&[head.as_bytes(), body].concat()).unwrap();
                to.flush().unwrap();
                Answer::read(Box::new(Shared(other.from.clone())))
            }
            None => {
                let mut stream = TcpStream::connect(self.local).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.write_all(head.as_bytes()).unwrap();
                // Many clients read no answer before they have sent everything.
                stream.write_all(body).unwrap();
                Answer::read(Box::new(stream))
            }
        }
    }
}

// === impl Other ===

impl Other {
    fn start(local: SocketAddr) -> Other {
        let relay = r#"exec 3<>"/dev/tcp/$1/$2"; cat <&3 & exec cat >&3"#;
        let mut command = Command::new("bash");
        command.args(["-c", relay, "relay", &local.ip().to_string(), &local.port().to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Other { child, to: RefCell::new(to), from: Rc::new(RefCell::new(BufReader::new(from))) }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Shared(Rc<RefCell<BufReader<ChildStdout>>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

// === impl Answer ===

impl Answer {
    fn read(mut from: Box<dyn Read>) -> Answer {
        let line = raw_line(&mut from).expect("the server answers");
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line}")).parse().unwrap();
        let mut headers = BTreeMap::new();
        while let Some(line) = raw_line(&mut from).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
        }
        let length = headers.get("content-length").map(|length| length.parse().unwrap());
        let left = match length {
            Some(length) => Left::Bytes(length),
            None if headers.get("transfer-encoding").is_some_and(|how| how == "chunked") => Left::Chunks,
            None if status == 202 || status == 204 => Left::Nothing,
            None => Left::ToEnd,
        };
        Answer { status, headers, from, left, at_hand: Default::default() }
    }

    /// Returns the answer, which must be one of 200.
    pub fn fine(mut self) -> Answer {
        let status = self.status;
        assert!(status == 200, "{status}: {}", self.text());
        self
    }

    /// Returns the next event, or nothing when the stream has ended or broken off.
    pub fn event(&mut self) -> Option<Event> {
        let (mut id, mut data) = (None, String::new());
        loop {
            let line = self.line()?;
            match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
                Some(("id", value)) => id = Some(value.to_string()),
                Some(("data", value)) => data += value,
                Some(_) => {}
                None if id.is_none() && data.is_empty() => {}
                None => {
                    let message = if data.is_empty() { Value::Null } else { serde_json::from_str(&data).unwrap() };
                    return Some(Event { id, message });
                }
            }
        }
    }

    /// Returns the next event with a message.
    pub fn message(&mut self) -> Option<Event> {
        std::iter::from_fn(|| self.event()).find(|event| !event.message.is_null())
    }

    /// Reads on to the response and returns it, or nothing if the answer broke off before.
    pub fn responded(&mut self) -> Option<Value> {
        if self.headers.get("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return serde_json::from_str(&self.text()).ok();
        }
        let mut messages = std::iter::from_fn(|| self.event()).map(|event| event.message);
        messages.find(|message| message["result"].is_object() || message["error"].is_object())
    }

    /// Reads on to the response.
    pub fn response(&mut self) -> Value {
        let response = self.responded().expect("the answer broke off");
        // What comes after it is read, since the connection may be used again.
        self.text();
        response
    }

    /// Reads on to the result of a tool.
    pub fn called(&mut self) -> Called {
        let response = self.response();
        assert!(response["error"].is_null(), "a fault of the protocol: {response}");
        Called::read(&response["result"])
    }

    /// Reads what is left as a text.
    pub fn text(&mut self) -> String {
        let bytes: Vec<u8> = std::iter::from_fn(|| self.byte()).collect();
        String::from_utf8(bytes).unwrap()
    }

    fn line(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        loop {
            match self.byte()? {
                b'\n' => break,
                byte => bytes.push(byte),
            }
        }
        Some(String::from_utf8(bytes).unwrap().trim_end_matches('\r').to_string())
    }

    fn byte(&mut self) -> Option<u8> {
        while self.at_hand.is_empty() {
            let mut buffer = [0; 8 << 10];
            let read = match &mut self.left {
                Left::Nothing | Left::Bytes(0) => return None,
                Left::Bytes(left) => {
                    let most = buffer.len().min(*left);
                    let read = self.from.read(&mut buffer[..most]).ok()?;
                    *left -= read;
                    read
                }
                Left::ToEnd => self.from.read(&mut buffer).ok()?,
                Left::Chunks => {
                    let size = usize::from_str_radix(raw_line(&mut self.from)?.trim(), 16).ok()?;
                    let mut chunk = vec![0; size + 2];
                    self.from.read_exact(&mut chunk).ok()?;
                    self.at_hand.extend(&chunk[..size]);
                    if size == 0 {
                        self.left = Left::Nothing;
                    }
                    continue;
                }
            };
            if read == 0 {
                self.left = Left::Nothing;
            }
            self.at_hand.extend(&buffer[..read]);
        }
        self.at_hand.pop_front()
    }
}

fn raw_line(from: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) => line.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8(line).unwrap().trim_end_matches('\r').to_string())
}
