//! Reading a request: a JSON body or a query string into a checked struct, with refusals that say what was wrong,
//! where, and what would be right. Limits on size and time are here too.

mod explain;
mod twice;

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use http_body_util::BodyExt;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

pub(super) use self::twice::twice;
use super::audit::{Noted, Subject};
use super::refused::Refused;
use crate::fleet::refusal::{Refusal, RefusalKind};
use crate::fleet::time::Span;

/// The largest body: a prompt of 1 MiB in which every byte is escaped, and the fields around it.
pub(super) const MOST: usize = 8 << 20;

/// How much of a body that is too large is read and dropped, so that the sender gets to read the answer.
const DRAIN: usize = 64 << 20;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// A query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// What a request carries that takes no fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl Subject for Nothing {}

impl<S: Sync, T: DeserializeOwned + Subject> FromRequest<S> for Json<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let noted = request.extensions().get::<Noted>().cloned();
        check_content_type(request.headers())?;
        check_query(request.uri())?;
        let read: T = parse(&whole(request.into_body()).await?)?;
        if let Some(noted) = noted {
            noted.add(read.subject());
        }
        Ok(Json(read))
    }
}

impl<S: Sync, T: DeserializeOwned + Subject> FromRequestParts<S> for Query<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let found = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let found = found.map_err(|e| {
            use std::error::Error;
            let text = e.source().map_or_else(|| e.body_text(), |s| s.to_string());
            // The text begins with the path where there is one.
            let path = text.split_once(": ").filter(|(path, _)| !path.contains(' '));
            let (path, text) = path.unwrap_or(("", &text));
            explain::shape("the query", path, text)
        })?;
        if let Some(noted) = parts.extensions.get::<Noted>() {
            noted.add(found.0.subject());
        }
        Ok(Query(found.0))
    }
}

/// Reads a body of JSON.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Refusal::invalid("the body is empty").hint("send a JSON object"));
    }
    // Serde would take a list as the fields of a struct in order; nobody means that.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Refusal::invalid("the body is a list, wanted a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|e| {
        let path = e.path().to_string();
        explain::json(&path, e.inner())
    })?;
    json.end().map_err(|e| explain::json(".", &e))?;
    // The struct's own fields are told with their place; those of what it holds as it came, here.
    match twice(bytes) {
        Some(name) => Err(Refusal::invalid(format!("the field '{name}' is there twice"))),
        None => Ok(value),
    }
}

/// Reads the arguments of a call that came as JSON already.
pub fn arguments<T: DeserializeOwned>(arguments: serde_json::Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(arguments).map_err(|e| {
        let path = e.path().to_string();
        explain::shape("the arguments", &path, &e.inner().to_string())
    })
}

/// Reads a body to its end, within the limits on size and time.
pub async fn whole(body: Body) -> Result<Bytes, Refused> {
    tokio::time::timeout(PATIENCE, bytes(body)).await.unwrap_or_else(|_| {
        let text = format!("the body did not arrive within {} s", PATIENCE.as_secs());
        Err(Refused::with_status(StatusCode::REQUEST_TIMEOUT, Refusal::invalid(text)))
    })
}

async fn bytes(mut body: Body) -> Result<Bytes, Refused> {
    let mut all = Vec::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| Refusal::invalid(format!("the body broke off: {e}")))?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        size += part.len();
        if size > DRAIN {
            break;
        }
        if size <= MOST {
            all.extend_from_slice(&part);
        }
    }
    if size > MOST {
        let text = format!("the body is larger than {} MiB", MOST >> 20);
        let refusal = Refusal::new(RefusalKind::TooLarge, text);
        return Err(refusal.hint("a prompt may have 1 MiB").into());
    }
    Ok(all.into())
}

/// A field in the query of a request with a body would be left out without a word.
fn check_query(uri: &Uri) -> Result<(), Refusal> {
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(Refusal::invalid(format!("'{}' takes no fields in the query", uri.path()))
            .hint("put them into the body, a JSON object")),
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Refused> {
    let sent = headers.get(header::CONTENT_TYPE);
    let text = sent.map(|v| String::from_utf8_lossy(v.as_bytes()).to_ascii_lowercase());
    let essence = text.as_deref().and_then(|t| t.split(';').next());
    if essence.is_some_and(|e| e.trim() == "application/json") {
        return Ok(());
    }
    let message = match essence {
        Some(other) => format!("the body is sent as '{other}'"),
        None => "the body has no content type".to_owned(),
    };
    let refusal =
        Refusal::invalid(message).hint("send it with content-type: application/json").hint("with curl: --json '{…}'");
    Err(Refused::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, refusal))
}

/// Reads a length of time from a query, where a bare number of seconds comes as a text.
pub fn wait<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    let text = String::deserialize(from)?;
    let span = match text.parse::<f64>() {
        Ok(seconds) => {
            Span::from_seconds_f64(seconds).ok_or_else(|| format!("'{text}' is not a usable length of time"))
        }
        Err(_) => Span::parse(&text),
    };
    span.map(Some).map_err(D::Error::custom)
}
