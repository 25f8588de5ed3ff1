//! Which request a call came by: what makes its repetition the same call, and by what a client that was cut off finds
//! again what it began.

use axum::http::request::Parts;
use rmcp::model::{RequestId, RequestMetaObject};
use sha2::{Digest, Sha256};

use super::super::super::conn::Identity;
use super::super::admit;
use crate::engine::requests::Origin;
use crate::fleet::ids::Key;

/// Where clients name the use of a tool by their model, one a line; it stays the same when they repeat a call.
const TOOL_USE: &str = include_str!("tool_use_keys.txt");

/// What follows the key of a request that did not wait.
const AT_ONCE: &str = " at once";

/// A longer id of a client's is none that it would tell again by itself.
const LONGEST: usize = 150;

/// One request for a tool, before its arguments are looked at.
pub(in super::super) struct Request {
    /// Who sends it.
    pub identity: Identity,
    /// The session that it belongs to, if it belongs to one.
    pub session: Option<String>,
    tool_use: Option<Key>,
    id: RequestId,
}

impl Request {
    /// Returns the request of this head, in which the layer before the library noted the sender.
    pub(in super::super) fn of(parts: &Parts, meta: &RequestMetaObject, id: RequestId) -> Option<Request> {
        let identity = parts.extensions.get::<Identity>()?.clone();
        let tool_use = TOOL_USE.lines().find_map(|key| meta.0.0.get(key)?.as_str());
        Some(Request {
            identity,
            tool_use: tool_use.filter(|id| id.len() <= LONGEST).map(|id| Key::from(format!("tool use {id}"))),
            session: admit::session_of(&parts.headers).map(String::from),
            id,
        })
    }

    /// Returns what the engine is told of it; a call that does not wait is answered at once when it is found again.
    pub(super) fn origin(&self, waits: bool) -> Origin {
        let key = self.session.as_deref().map(|session| request_key(session, &self.id));
        let request = key.map(|key| if waits { key } else { at_once(&key) });
        Origin { key: self.tool_use.clone(), request }
    }
}

/// Returns the key of a request of a session. Keys are shown to people; a session's id is not.
pub(in super::super) fn request_key(session: &str, id: &RequestId) -> Key {
    let session = short(session);
    // To a client the number 1 and the text "1" are two requests.
    Key::from(match id {
        RequestId::Number(number) => format!("mcp {session} {number}"),
        RequestId::String(text) if text.len() <= LONGEST => format!("mcp {session} {text:?}"),
        RequestId::String(text) => format!("mcp {session} long {}", short(text)),
    })
}

fn short(text: &str) -> String {
    Sha256::digest(text).iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the key of the same request if it did not wait.
pub(super) fn at_once(key: &Key) -> Key {
    Key::from(format!("{key}{AT_ONCE}"))
}
