//! A made-up program with an API, whose work the test does itself: what it was asked, what it has on record, what it
//! answers. The worker's own process is only a relay to it. For the tests of `called` alone.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use fleetd::fleet::ids::TurnId;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::support::{Daemon, House, until};

/// What the program is like at the moment.
#[derive(Default)]
pub struct Mind {
    /// The texts that were posted.
    pub given: Vec<String>,
    /// Its record.
    pub said: Vec<Value>,
    /// Whether it works.
    pub busy: bool,
    /// How often it was told to stop.
    pub stops: usize,
    /// How often its tools were mended.
    pub mended: usize,
    /// How the next text is answered, in place of being taken.
    pub refuses: Option<(u16, String)>,
    /// Takes the text all the same.
    pub takes: bool,
    /// What it keeps of a text.
    pub keeps: Option<usize>,
    /// Answers nothing at all.
    pub silent: bool,
    /// Knows no password.
    pub stranger: bool,
    /// Has lost the fleet's tools.
    pub toolless: bool,
    /// Cannot show its record.
    pub recordless: bool,
    /// Tells no events.
    pub mute: bool,
    /// Says far too much where a word would do.
    pub verbose: bool,
    /// Asks a person something.
    pub asks: bool,
    /// What it calls its conversation.
    pub talk: String,
    /// How many streams of events were opened.
    pub streams: usize,
}

#[derive(Clone)]
struct Kept {
    mind: Arc<Mutex<Mind>>,
    events: broadcast::Sender<Option<String>>,
}

/// The program.
pub struct Program {
    kept: Kept,
    pub port: u16,
    _runtime: tokio::runtime::Runtime,
}

impl Program {
    pub fn start() -> Program {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let kept = Kept { mind: Arc::default(), events: broadcast::channel(100).0 };
        let router = axum::Router::new().fallback(answer).with_state(kept.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move { axum::serve(listener, router).await });
        Program { kept, port, _runtime: runtime }
    }

    pub fn mind(&self) -> MutexGuard<'_, Mind> {
        self.kept.mind.lock().unwrap()
    }

    /// Tells an event.
    pub fn tell(&self, event: &Value) {
        drop(self.kept.events.send(Some(event.to_string())));
    }

    /// Breaks all streams of events off.
    pub fn cut(&self) {
        drop(self.kept.events.send(None));
    }

    /// Waits until a text was given, and returns the name under which it is on record.
    pub fn awaits(&self, text: &str) -> usize {
        until("the text was given", || self.mind().given.iter().position(|given| given.contains(text)))
    }

    /// Answers the text of this name, and is at rest.
    pub fn answers(&self, name: usize, text: &str) {
        let mut mind = self.mind();
        mind.said.push(json!({"of": name.to_string(), "end": "stop", "text": text, "in": 3, "out": 4}));
        mind.busy = false;
    }
}

async fn answer(State(kept): State<Kept>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let silent = kept.mind.lock().unwrap().silent;
    if silent {
        std::future::pending::<()>().await;
    }
    let mut mind = kept.mind.lock().unwrap();
    if mind.stranger || !headers.contains_key("authorization") {
        return status(401, "who is there?".into());
    }
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match (method.as_str(), uri.path()) {
        ("GET", "/health") => said(json!({"ok": true})),
        ("POST", "/talk") => {
            mind.talk = format!("talk-{}", body["title"].as_str().unwrap());
            said(json!({"id": mind.talk}))
        }
        ("POST", path) if path.ends_with("/say") => {
            let refused = mind.refuses.take();
            let takes = std::mem::take(&mut mind.takes);
            if refused.is_none() || takes {
                let text = body["text"].as_str().unwrap().to_owned();
                let (id, keeps) = (mind.given.len().to_string(), mind.keeps.unwrap_or(text.len()));
                mind.said.push(json!({"by": "user", "id": id, "text": text[..keeps]}));
                mind.given.push(text);
                mind.busy = true;
            }
            refused.map_or_else(|| status(204, String::new()), |(code, text)| status(code, text))
        }
        ("POST", "/stop") => {
            mind.stops += 1;
            mind.busy = false;
            said(json!({}))
        }
        ("GET", "/state") if mind.verbose => said(json!("x".repeat(1024 * 1024))),
        ("GET", "/state") => said(if mind.busy { json!({mind.talk.clone(): "busy"}) } else { json!({}) }),
        ("GET", "/asks") => said(json!({"open": mind.asks})),
        ("GET", "/said") if mind.recordless => status(500, "no disk".into()),
        ("GET", "/events") if mind.mute => status(503, String::new()),
        ("GET", "/said") => said(json!({"messages": mind.said})),
        ("GET", "/tools") => said(json!({"fleet": if mind.toolless { "lost" } else { "there" }})),
        ("POST", "/tools") => {
            mind.mended += 1;
            mind.toolless = false;
            said(json!({}))
        }
        ("GET", "/events") => {
            mind.streams += 1;
            let events = kept.events.subscribe();
            let stream = futures_util::stream::unfold(events, |mut events| async move {
                match events.recv().await {
                    Ok(Some(event)) => Some((Ok::<_, std::io::Error>(format!("data: {event}\n\n")), events)),
                    _ => None,
                }
            });
            let mut response = Response::new(Body::from_stream(stream));
            response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
            response
        }
        _ => status(404, String::new()),
    }
}

fn said(value: Value) -> Response<Body> {
    Response::new(Body::from(value.to_string()))
}

fn status(code: u16, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = code.try_into().unwrap();
    response
}

/// A house with a role `w` of workers that are relays to the program.
pub fn house(program: &Program) -> House {
    let relay = PathBuf::from(env!("CARGO_BIN_EXE_fleetd")).with_file_name("relay");
    let launcher = format!(
        r#"
fleet.launcher("made-up", {{}}, function(worker)
  return {{
    drive = "api", argv = {{ "{}", worker.port, "{}" }}, env = {{ WORD = worker.password }},
    signs = {{
      {{ is = "rested", on = {{ ["data.type"] = "rest" }} }},
      {{ is = "said", on = {{ ["data.type"] = "said" }}, id = "data.id" }},
      {{ is = "failed", on = {{ ["data.type"] = "error" }}, why = "data.why" }},
      {{ is = "blocked", on = {{ ["data.type"] = "asks" }}, why = "data.what" }},
      {{ is = "retrying", on = {{ ["data.type"] = "retry" }}, why = "data.why" }},
    }},
    api = {{
      user = "agent", ready = {{ path = "/health", on = {{ ok = true }} }},
      open = {{ call = {{ path = "/talk", body = {{ title = worker.name }} }}, id = "id" }},
      say = {{ path = "/talk/" .. worker.conversation .. "/say", body = {{ text = worker.text }}, untaken = {{ "come back later" }} }},
      stop = {{ path = "/stop", post = true }}, rest = {{ path = "/state", none = {{ worker.conversation }} }},
      record = {{
        call = {{ path = "/said" }}, list = "messages", parent = "of",
        signs = {{
          {{ is = "taken", on = {{ by = "user" }}, text = "text", id = "id" }},
          {{ is = "replied", any = {{ "end" }}, text = "text", usage = {{ input = "in", output = "out" }} }},
          {{ is = "said" }},
        }},
      }},
      events = {{ path = "/events" }}, most = 9, asks = {{ path = "/asks", none = {{ "open" }} }},
      tools = {{ check = {{ path = "/tools", on = {{ fleet = "there" }} }}, mend = {{ path = "/tools", post = true }} }},
    }},
  }}
end)
fleet.profile("p", {{ launcher = "made-up" }})
fleet.role("w", {{ profiles = {{ "p" }} }})
"#,
        relay.display(),
        program.port
    );
    let house = House::new(&[("team.lua", &launcher)]).same_port();
    std::fs::write(house.path().join("fleetd.toml"), "pane_host = \"embedded\"\n").unwrap();
    house
}

pub fn spawn(daemon: &Daemon) {
    let (status, worker) = daemon.post("/v1/spawn", &json!({ "role": "w" }));
    assert_eq!((status, &worker["state"]), (200, &json!("ready")), "{worker}");
}

/// Sends a message and returns its turn.
pub fn send(daemon: &Daemon, prompt: &str) -> String {
    let (status, sent) = daemon.post("/v1/send", &json!({ "to": "w-1", "prompt": prompt }));
    assert_eq!(status, 202, "{sent}");
    let turn = [&sent["turn"]["id"], &sent["turn"], &sent["id"]].into_iter().find_map(Value::as_str);
    turn.expect("it has an id").to_owned()
}

/// Waits for the end of a turn.
pub fn envelope(daemon: &Daemon, turn: &str) -> Value {
    let (status, envelope) = daemon.get(&format!("/v1/turns/{turn}/wait?wait=50s"));
    assert_eq!(status, 200, "{envelope}");
    envelope
}

/// Returns what the worker is said to be at, with the reason.
pub fn state(daemon: &Daemon) -> String {
    daemon.get("/v1/list").1["workers"][0].to_string()
}

/// The first line of a turn's text.
pub fn mark(turn: &str) -> String {
    let id: u64 = turn.trim_start_matches('t').parse().unwrap();
    format!("[fleet turn {} from operator]", TurnId(id))
}

/// Long enough for whatever was to come by an event to have come without one.
pub const WITHOUT_EVENTS: Duration = Duration::from_secs(20);
