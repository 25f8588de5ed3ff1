//! One request at a time to a program's own HTTP API: a fresh connection each, bounded in time and size, and an error that
//! says whether the program may have heard it. What is asked, and what an answer means, is not known here.

use std::pin::Pin;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// The longest answer to a question whose answer is a few words.
const LONGEST: usize = 256 * 1024;
/// How long a connection may take to stand.
const TO_CONNECT: Duration = Duration::from_secs(5);
/// How much of an answer that says no is told.
const TOLD: usize = 500;

/// Where a program is called, and by what it knows who calls.
#[derive(Clone)]
pub(super) struct Address {
    /// Host and port, such as `127.0.0.1:4000`.
    pub(super) authority: String,
    /// What stands before every path.
    pub(super) prefix: String,
    auth: Option<String>,
}

/// A request that was not answered as it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// Nobody heard it.
    #[error("nobody answers at {0}: {1}")]
    Unheard(String, String),
    /// It was answered with no.
    #[error("it answers {status}{}", told(.said))]
    No {
        /// The status of the answer.
        status: u16,
        /// Its body.
        said: String,
    },
    /// It may have been heard.
    #[error("{0}")]
    Broken(String),
}

impl HttpError {
    /// Says what went wrong without what the program said, which may quote a message.
    pub(super) fn brief(&self) -> String {
        match self {
            HttpError::No { status, .. } => format!("it answers {status}"),
            other => other.to_string(),
        }
    }
}

/// What drives a connection; polled after the connection's end, it waits for ever.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

impl Address {
    /// Returns an address; the password goes with the name of a user.
    pub(super) fn new(authority: String, prefix: String, user: Option<(&str, &str)>) -> Address {
        let auth = user.map(|(name, word)| format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{word}"))));
        Address { authority, prefix, auth }
    }

    /// Returns where that is, the same for the usual spellings of one place.
    pub(super) fn place(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
        let host = if host == "localhost" { "127.0.0.1" } else { host };
        format!("{host}:{port}{}", self.prefix)
    }

    /// Asks for something and returns the JSON of the answer: nothing for an empty one, a text for what is no JSON.
    pub(super) async fn ask(
        &self,
        post: bool,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, HttpError> {
        let whole = self.ask_text(post, path, body, (limit, LONGEST)).await?;
        match whole.is_empty() {
            true => Ok(Value::Null),
            false => Ok(serde_json::from_str(&whole).unwrap_or(Value::String(whole))),
        }
    }

    /// As [`Address::ask`], with the answer as it came; no longer than so many bytes.
    pub(super) async fn ask_text(
        &self,
        post: bool,
        path: &str,
        body: Option<&Value>,
        (limit, longest): (Duration, usize),
    ) -> Result<String, HttpError> {
        let asked = self.ask_once(post, path, body, longest);
        match tokio::time::timeout(limit, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::Broken(format!("it did not answer within {} s", limit.as_secs()))),
        }
    }

    async fn ask_once(
        &self,
        post: bool,
        path: &str,
        body: Option<&Value>,
        longest: usize,
    ) -> Result<String, HttpError> {
        let body = body.map(|body| body.to_string().into_bytes());
        let (response, mut driver) = self.send(post, path, body, "application/json").await?;
        let status = response.status();
        let read = async {
            let mut body = Limited::new(response.into_body(), longest);
            let mut whole = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                    Some(_) => HttpError::Broken(format!("its answer has more than {} KiB", longest / 1024)),
                    None => HttpError::Broken(format!("its answer broke off: {error}")),
                })?;
                if let Ok(data) = frame.into_data() {
                    whole.extend_from_slice(&data);
                }
            }
            Ok(whole)
        };
        let whole = with(&mut driver, read).await?;
        if !status.is_success() {
            return Err(HttpError::No { status: status.as_u16(), said: String::from_utf8_lossy(&whole).into_owned() });
        }
        Ok(String::from_utf8(whole).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Sends a request on a connection of its own; the answer's body comes only while the driver is polled.
    pub(super) async fn send(
        &self,
        post: bool,
        path: &str,
        body: Option<Vec<u8>>,
        accept: &str,
    ) -> Result<(Response<Incoming>, Driver), HttpError> {
        let unheard = |error: String| HttpError::Unheard(self.authority.clone(), error);
        let stream = match tokio::time::timeout(TO_CONNECT, TcpStream::connect(&self.authority)).await {
            Ok(stream) => stream.map_err(|error| unheard(error.to_string()))?,
            Err(_) => return Err(unheard("no connection stands".into())),
        };
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| unheard(error.to_string()))?;
        let mut driver: Driver = Box::pin(async move { drop(connection.await) }.fuse());
        let method = if post { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.prefix));
        request = request.header(HOST, &self.authority).header(ACCEPT, accept);
        if let Some(auth) = &self.auth {
            request = request.header(AUTHORIZATION, auth);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default())));
        let request = request.map_err(|error| unheard(format!("{path} cannot be asked for: {error}")))?;
        let sent = with(&mut driver, sender.send_request(request)).await;
        let response = sent.map_err(|error| HttpError::Broken(format!("it did not answer: {error}")))?;
        Ok((response, driver))
    }
}

/// Waits for something that comes over a connection.
pub(super) async fn with<T>(driver: &mut Driver, wanted: impl Future<Output = T>) -> T {
    tokio::pin!(wanted);
    let mut is_over = false;
    loop {
        tokio::select! {
            biased;
            got = &mut wanted => return got,
            () = &mut *driver, if !is_over => is_over = true,
        }
    }
}

/// Returns what is told of an answer that says no.
fn told(said: &str) -> String {
    let said = said.trim();
    let cut = said.floor_char_boundary(TOLD.min(said.len()));
    if said.is_empty() { String::new() } else { format!(": {}", &said[..cut]) }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::routing::{get, post};

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    async fn serve(router: Router) -> Address {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let authority = listener.local_addr().expect("it has one").to_string();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Address::new(authority, "/v1".into(), Some(("agent", "s3cret")))
    }

    fn of(headers: &HeaderMap) -> String {
        headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn what_is_asked_is_answered_and_who_asks_is_told() {
        let echo = |headers: HeaderMap, body: String| async move { format!("[{:?},{body}]", of(&headers)) };
        let router = Router::new()
            .route("/v1/said", post(echo))
            .route("/v1/none", get(|| async {}))
            .route("/v1/page", get(|| async { "<html>" }));
        let address = serve(router).await;
        let said = address.ask(true, "/said", Some(&serde_json::json!({"a": 1})), SOON).await.expect("it answers");
        assert_eq!(said, serde_json::json!(["Basic YWdlbnQ6czNjcmV0", {"a": 1}]));
        assert_eq!(address.ask(false, "/none", None, SOON).await.expect("it answers"), Value::Null);
        assert_eq!(address.ask(false, "/page", None, SOON).await.expect("it answers"), Value::from("<html>"));
    }

    #[tokio::test]
    async fn whether_it_was_heard_is_known_where_it_can_be() {
        let no = || async { (axum::http::StatusCode::CONFLICT, "busy with another") };
        let silent = || async { std::future::pending::<()>().await };
        let router = Router::new().route("/v1/no", get(no)).route("/v1/silent", get(silent));
        let address = serve(router).await;
        let error = address.ask(false, "/no", None, SOON).await.expect_err("it says no");
        assert_eq!(error.to_string(), "it answers 409: busy with another");
        let error = address.ask(false, "/silent", None, Duration::from_millis(50)).await.expect_err("it is silent");
        assert!(matches!(error, HttpError::Broken(_)), "it may have been heard: {error}");
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port");
        let nobody = Address::new(free.to_string(), String::new(), None);
        let error = nobody.ask(true, "/x", None, SOON).await.expect_err("nobody is there");
        assert!(matches!(error, HttpError::Unheard(..)), "{error}");
    }
}
