//! The endpoint itself: takes every request, keeps it, and answers as the dialect says. One thread with a runtime of
//! its own, so that a test needs none; it ends with its handle. What is answered is decided elsewhere.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use axum::{Router, routing::any};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::acts::{Act, streamed};
use crate::anthropic;
use crate::conversation::Conversations;
use crate::dialect::Dialect;
use crate::record::Recorded;
use crate::script::{self, Part, Step};

/// A running endpoint; it ends, and cuts off whoever waits, when this is dropped.
pub struct Model {
    url: String,
    kept: Arc<Kept>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What outlives a request.
struct Kept {
    requests: Mutex<Vec<Recorded>>,
    conversations: Mutex<Conversations>,
    /// Makes the ids of answers unlike those of an earlier server, which a resumed session may still have.
    begun_ms: u64,
    answers: AtomicU64,
}

// === impl Model ===

impl Model {
    /// Starts an endpoint on a free port of 127.0.0.1.
    pub fn start() -> std::io::Result<Model> {
        Model::start_on(0)
    }

    /// Starts an endpoint on this port of 127.0.0.1, or on a free one for 0.
    pub fn start_on(port: u16) -> std::io::Result<Model> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let kept = Arc::new(Kept {
            requests: Mutex::default(),
            conversations: Mutex::default(),
            begun_ms: now_ms(),
            answers: AtomicU64::new(0),
        });
        let router = Router::new().fallback(any(take)).layer(DefaultBodyLimit::disable()).with_state(Arc::clone(&kept));
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let thread = std::thread::Builder::new().name("model".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let service = router.into_make_service_with_connect_info::<SocketAddr>();
                let serving = axum::serve(listener, service).into_future();
                futures_util::future::select(std::pin::pin!(serving), std::pin::pin!(stopped)).await;
            });
            // Connections that hang are tasks of this runtime: they end here.
            runtime.shutdown_background();
        })?;
        Ok(Model { url, kept, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns every request so far, probes and all.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.kept.requests).clone()
    }

    /// Returns the requests for an answer so far.
    pub fn asked(&self) -> Vec<Recorded> {
        self.requests().into_iter().filter(Recorded::is_for_an_answer).collect()
    }

    /// Answers every request by this step from now on, whatever its script says; nothing gives the scripts back.
    pub fn force(&self, step: Option<&str>) -> Result<(), String> {
        self.kept.force(step.unwrap_or_default())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

// === impl Kept ===

impl Kept {
    fn force(&self, step: &str) -> Result<(), String> {
        let step = script::steps_of(step)?.into_iter().next();
        lock(&self.conversations).force(step);
        Ok(())
    }

    /// An id that no other answer has.
    fn id(&self) -> String {
        format!("{:x}_{}", self.begun_ms, self.answers.fetch_add(1, Ordering::Relaxed))
    }
}

async fn take(
    State(kept): State<Arc<Kept>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    if let Some(answer) = for_the_test(&kept, &method, &uri, &body) {
        return answer;
    }
    let recorded = Recorded {
        at_ms: now_ms(),
        peer: peer.to_string(),
        method: method.to_string(),
        path: uri.to_string(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        body: if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&body).unwrap_or_else(|_| Value::String(text(&body)))
        },
    };
    lock(&kept.requests).push(recorded.clone());
    match (&method, uri.path()) {
        (&Method::HEAD, "/") => Response::new(Body::empty()),
        (&Method::POST, anthropic::COUNT_PATH) => json_answer(200, &json!({"input_tokens": body.len() / 4})),
        _ => match recorded.asks() {
            Some(dialect) => answer(&kept, &recorded, dialect).await,
            None => json_answer(404, &anthropic::error(404, &format!("{method} {} is not here", uri.path()))),
        },
    }
}

/// What a test in another process asks: `GET /_requests` (from `?since=N` on), `PUT /_force` with a step or nothing.
fn for_the_test(kept: &Kept, method: &Method, uri: &Uri, body: &Bytes) -> Option<Response<Body>> {
    match (method, uri.path()) {
        (&Method::GET, "/_requests") => {
            let since =
                uri.query().and_then(|query| query.strip_prefix("since=")).and_then(|n| n.parse().ok()).unwrap_or(0);
            let requests = lock(&kept.requests);
            Some(json_answer(200, &json!(requests.get(since..).unwrap_or_default())))
        }
        (&Method::PUT, "/_force") => Some(match kept.force(&text(body)) {
            Ok(()) => json_answer(200, &json!({})),
            Err(why) => json_answer(400, &json!({"error": why})),
        }),
        _ => None,
    }
}

async fn answer(kept: &Kept, recorded: &Recorded, dialect: Dialect) -> Response<Body> {
    let conversation = format!("{} {}", recorded.session(), recorded.header("x-claude-code-agent-id"));
    let asked = dialect.asked(conversation, &recorded.body);
    let mut step = lock(&kept.conversations).next(&asked);
    // Waits that come first hold the first byte back.
    while let Some(Part::Sleep(time)) = step.parts.first() {
        tokio::time::sleep(*time).await;
        step.parts.remove(0);
    }
    if step.parts.first() == Some(&Part::Hang) {
        // Dropped when the caller hangs up.
        std::future::pending::<()>().await;
    }
    if let Some(refused) = refused(&step, dialect) {
        return refused;
    }
    let asked_for = recorded.body["model"].as_str().unwrap_or_default();
    if recorded.body["stream"] == true {
        let acts = dialect.stream(&step, asked_for, &kept.id());
        return response(200, "text/event-stream", streamed(acts));
    }
    let whole = dialect.whole(&step, asked_for, &kept.id());
    let ends = |part: &&Part| matches!(part, Part::Stall | Part::Hang | Part::Cut);
    match step.parts.iter().find(ends) {
        Some(Part::Cut) => response(200, "application/json", streamed(vec![Act::Send("{".to_owned()), Act::Cut])),
        Some(_) => response(200, "application/json", streamed(vec![Act::Send("{".to_owned()), Act::Stall])),
        None => json_answer(200, &whole),
    }
}

/// The refusal that a step is, unless something is said before it.
fn refused(step: &Step, dialect: Dialect) -> Option<Response<Body>> {
    let says = |part: &Part| matches!(part, Part::Say(_) | Part::Think(_) | Part::Tool { .. });
    let first = step.parts.iter().find(|part| says(part) || matches!(part, Part::Error { .. }));
    let Some(Part::Error { status, text }) = first else { return None };
    let mut refused = json_answer(*status, &dialect.error(*status, text));
    for part in &step.parts {
        if let Part::RetryAfter(seconds) = part {
            refused.headers_mut().insert("retry-after", (*seconds).into());
        }
    }
    Some(refused)
}

fn json_answer(status: u16, value: &Value) -> Response<Body> {
    response(status, "application/json", Body::from(value.to_string()))
}

fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", axum::http::HeaderValue::from_static(kind));
    response
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A panic of another request is that test's business; what was kept is whole all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
