//! The API itself: routes, answers, event streams, and whom a request is for. The real program listens on every address
//! of the machine; this one on loopback alone. What an answer says is decided elsewhere.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::routing::{get, post, put};
use futures_util::stream;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::events::Event;
use crate::options::{Habits, Options};
use crate::problem::{self, Problem};
use crate::terminal::Terminal;

/// Runs until the program in the terminal ends, and returns its exit code. `listens` is told the address.
///
/// # Errors
///
/// Fails when the program cannot be started or the port cannot be had.
pub fn run(options: Options, listens: impl FnOnce(&str)) -> io::Result<u32> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
    listener.set_nonblocking(true)?;
    let url = format!("http://{}", listener.local_addr()?);
    let (terminal, ended) = Terminal::start(&options.program, options.screen)?;
    let desk = Arc::new(Desk::new(options, terminal));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        listens(&url);
        let watching = Arc::clone(&desk);
        let serving = async { axum::serve(listener, router(desk)).await };
        tokio::select! {
            served = serving => served.map(|()| 0),
            () = watching.watch() => Ok(0),
            code = ended => Ok(code.unwrap_or(1)),
        }
    });
    // Streams and held requests are tasks of this runtime: they end here.
    runtime.shutdown_background();
    code
}

fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/status", get(status))
        .route("/messages", get(messages))
        .route("/message", post(message))
        .route("/events", get(events))
        .route("/internal/screen", get(screen))
        .route("/_habits", put(habits))
        .fallback(async || plain(404, "404 page not found\n"))
        .layer(middleware::from_fn_with_state(Arc::clone(&desk), is_for_us))
        .layer(DefaultBodyLimit::disable())
        .with_state(desk)
}

async fn status(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Response<Body> {
    let (status, kind) = (desk.status().await, desk.options.kind.word());
    let body = json!({"status": status, "agent_type": kind, "transport": "pty"});
    answer(&headers, "StatusResponseBody", body)
}

async fn messages(State(desk): State<Arc<Desk>>, headers: HeaderMap) -> Response<Body> {
    let messages = desk.messages().await;
    let messages: Vec<Value> = messages
        .iter()
        .enumerate()
        .map(|(id, one)| json!({"id": id, "content": one.text, "role": one.role, "time": one.time}))
        .collect();
    answer(&headers, "MessagesResponseBody", json!({"messages": messages}))
}

async fn message(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let sent = match problem::read(&body) {
        Ok(sent) => sent,
        Err(problem) => return refuse(&headers, problem),
    };
    // It goes on when the caller hangs up.
    let sending = tokio::spawn(async move { desk.send(&sent).await });
    match sending.await {
        Ok(Ok(())) => answer(&headers, "MessageResponseBody", json!({"ok": true})),
        Ok(Err(why)) => refuse(&headers, Problem::not_sent(&why)),
        Err(error) => refuse(&headers, Problem::not_sent(&error.to_string())),
    }
}

async fn events(State(desk): State<Arc<Desk>>) -> Response<Body> {
    stream_of(&desk, |(name, _)| *name != "screen")
}

async fn screen(State(desk): State<Arc<Desk>>) -> Response<Body> {
    stream_of(&desk, |(name, _)| *name == "screen")
}

/// What only a test asks: changes the habits that are named, and returns all.
async fn habits(State(desk): State<Arc<Desk>>, body: Bytes) -> Response<Body> {
    let changed = serde_json::from_slice::<Value>(&body).and_then(|named| {
        let mut all = serde_json::to_value(desk.habits())?;
        if let (Value::Object(all), Value::Object(named)) = (&mut all, named) {
            all.extend(named);
        }
        serde_json::from_value::<Habits>(all)
    });
    match changed {
        Ok(habits) => {
            desk.change(habits.clone());
            response(200, "application/json", Body::from(json!(habits).to_string()))
        }
        Err(error) => plain(400, &format!("{error}\n")),
    }
}

/// Refuses what is meant for another host, whatever its port: a page in a browser may have been led here.
async fn is_for_us(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response<Body> {
    let hosts = &desk.options.allowed_hosts;
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if hosts.iter().any(|one| one == "*" || one.eq_ignore_ascii_case(without_port(host))) {
        return next.run(request).await;
    }
    let names: Vec<&str> = hosts.iter().map(|host| host.trim_matches(['[', ']'])).collect();
    plain(400, &format!("Invalid host header. Allowed hosts: {}\n", names.join(", ")))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Streams the state so far and then what changes, and ends where a habit says so. Nothing is said in between.
fn stream_of(desk: &Desk, wanted: fn(&Event) -> bool) -> Response<Body> {
    let (so_far, rest, most) = desk.listen();
    let begin = (so_far.into_iter(), rest, 0);
    let events = stream::unfold(begin, move |(mut so_far, mut rest, given)| async move {
        if most > 0 && given == most {
            return None;
        }
        loop {
            let event = match so_far.next() {
                Some(event) => event,
                None => rest.recv().await?,
            };
            if wanted(&event) {
                let (name, data) = event;
                let text = Bytes::from(format!("event: {name}\ndata: {data}\n\n"));
                return Some((Ok::<_, io::Error>(text), (so_far, rest, given + 1)));
            }
        }
    });
    let mut response = response(200, "text/event-stream", Body::from_stream(events));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store, must-revalidate"));
    response
}

fn refuse(headers: &HeaderMap, problem: Problem) -> Response<Body> {
    let Problem { status, title, detail, errors } = problem;
    let mut body =
        json!({"$schema": schema(headers, "ErrorModel"), "title": title, "status": status, "detail": detail});
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    response(status, "application/problem+json", Body::from(body.to_string()))
}

fn answer(headers: &HeaderMap, name: &str, body: Value) -> Response<Body> {
    let mut whole = json!({"$schema": schema(headers, name)});
    if let (Value::Object(whole), Value::Object(body)) = (&mut whole, body) {
        whole.extend(body);
    }
    response(200, "application/json", Body::from(whole.to_string()))
}

fn schema(headers: &HeaderMap, name: &str) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}/schemas/{name}.json")
}

fn plain(status: u16, text: &str) -> Response<Body> {
    response(status, "text/plain; charset=utf-8", Body::from(text.to_owned()))
}

fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
