//! Calls of a session that only look, answered where they arrive.
//!
//! The library sends each request of a session to the session's own task, from there to one of its own, and its answer
//! the same way back. What may wait, tell its client something or be cancelled needs that; a look costs less itself.

use std::sync::Arc;

use axum::http::request::Parts;
use futures_util::Stream;
use futures_util::stream::{self, StreamExt};
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use super::Mcp;
use super::calls::{self, origin::Request};
use super::sessions::RETRY;
use super::tools;

/// The name of the event with which each stream begins; after it there is nothing to come back for.
const FIRST: &str = "look";

/// A call that changes nothing and waits for nothing.
pub(super) struct Glance {
    call: CallToolRequestParams,
    request: Request,
    id: rmcp::model::RequestId,
}

impl Glance {
    /// Takes such a call out of a message; any other goes its way through the session.
    pub(super) fn take(message: &mut ClientJsonRpcMessage) -> Option<Glance> {
        let ClientJsonRpcMessage::Request(message) = message else { return None };
        let ClientRequest::CallToolRequest(call) = &mut message.request else { return None };
        let looks = tools::named(&call.params.name).is_some_and(|entry| entry.looks);
        let waits = call.params.arguments.as_ref().is_some_and(|arguments| arguments.contains_key("wait"));
        if !looks || waits {
            return None;
        }
        let meta = call.extensions.get::<RequestMetaObject>().cloned().unwrap_or_default();
        // What the request asks of the protocol itself is the library's to judge.
        if meta.protocol_version().is_some()
            || call.params.input_responses.is_some()
            || call.params.request_state.is_some()
        {
            return None;
        }
        let request = Request::of(call.extensions.get::<Parts>()?, &meta, message.id.clone())?;
        let name = call.params.name.clone();
        let call = std::mem::replace(&mut call.params, CallToolRequestParams::new(name));
        Some(Glance { call, request, id: message.id.clone() })
    }

    /// Returns what the client gets: the event by which a stream is known, and the answer. It is found while the client
    /// reads, so a client that goes away ends it.
    pub(super) fn events(self, door: Arc<Mcp>) -> impl Stream<Item = ServerSseMessage> + Send + 'static {
        let answer = async move {
            let mut result = calls::call(&door, self.call, &self.request, None).await;
            // Results of the session protocol have no such field.
            result.result_type = None;
            let message = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), self.id);
            ServerSseMessage::from_message(message)
        };
        stream::iter([ServerSseMessage::priming(FIRST, RETRY)]).chain(stream::once(answer))
    }
}
