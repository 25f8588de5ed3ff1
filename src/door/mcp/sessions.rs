//! The library's sessions, with event ids that name the boot and the request: a stream that a restart cut is finished
//! by the next daemon, and an id of an earlier boot never meets a stream of this one.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, poll_fn};
use futures_util::{FutureExt, Stream};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{RestoreOutcome, ServerSseMessage, SessionId, SessionManager};

use super::Mcp;
use super::admit::SENDER;
use super::beat::{self, BEAT};
use super::calls::{self, origin};
use super::glance::Glance;
use super::stays::{Stays, Underway};
use crate::fleet::time::Span;

/// How soon a client that was cut off should come back.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// How long a session stays in memory without a message. Clients end none; a later one comes back from the store.
const IDLE: Span = Span::minutes(2 * 60);

/// How long the library may not hear of a session whose client only looks; it would let it go after `IDLE`.
const UNHEARD: Span = Span(IDLE.0 / 4);

type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The sessions in memory.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    boot: String,
    /// Which stay in memory each session is at: the library numbers its streams anew with each.
    stays: Stays,
    door: Arc<Mcp>,
}

impl Sessions {
    pub(super) fn new(door: Arc<Mcp>) -> Sessions {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE.std());
        inner.session_config.sse_retry = Some(RETRY);
        // Two boots never share a name, also where the clock stands still.
        let boot = format!("{:x}-{:x}", door.engine.now().0, RandomState::new().hash_one(std::process::id()));
        Sessions { inner, boot, stays: Stays::default(), door }
    }

    /// Ends a session's stay in memory, if it is there.
    pub(super) async fn forget(&self, id: &str) {
        let id = id.into();
        let mut sessions = self.inner.sessions.write().await;
        self.stays.rests(&id);
        let handle = sessions.remove(&id);
        drop(sessions);
        self.end(&id, handle).await;
    }

    /// Notes that a request for a session is on its way, for as long as what is returned is kept.
    pub(super) fn underway(&self, id: &str) -> Underway<'_> {
        self.stays.underway(id.into())
    }

    /// Lets sessions rest until there is room for one more. To be done before that one comes: nothing is left behind
    /// if the request that wants it breaks off meanwhile.
    async fn make_room(&self) {
        loop {
            // Chosen and taken out at once: a request that comes now finds it gone, and brings it back.
            let mut sessions = self.inner.sessions.write().await;
            let Some(id) = self.stays.one_too_many() else { return };
            let handle = sessions.remove(&id);
            drop(sessions);
            self.end(&id, handle).await;
        }
    }

    /// Ends what is left in memory of a session whose stay is over.
    async fn end(&self, id: &SessionId, handle: Option<LocalSessionHandle>) {
        self.door.kept.rest(id);
        if let Some(handle) = handle {
            // One that cannot be told has come to its end by itself.
            let _ = handle.close().await;
        }
    }

    /// Returns what the ids of a session's events begin with, in this stay of this boot and in no other.
    fn era(&self, stay: u64) -> String {
        format!("{}-{stay}", self.boot)
    }

    fn tagged(
        &self,
        session: &SessionId,
        request: String,
        events: impl Stream<Item = ServerSseMessage> + Send + 'static,
    ) -> Events {
        let (stay, reading) = self.stays.reads(session);
        let era = self.era(stay);
        let own = request.is_empty();
        let events = events.map(move |mut event| {
            // Kept as long as anybody may read.
            let _ = &reading;
            event.event_id = event.event_id.map(|id| format!("{era}.{request}.{id}"));
            event
        });
        match own {
            // What belongs to no call would go on for ever, and hold the end of the daemon up.
            true => shared(events.take_until(self.door.shared.closing.clone().cancelled_owned())),
            false => shared(events),
        }
    }

    /// Finishes what an earlier daemon began: waits for the same turn and answers the request with it. The reader's
    /// own polling drives it, so nothing waits any more once the reader is gone.
    fn finish(&self, session: &str, request: RequestId) -> Events {
        let door = self.door.clone();
        let key = origin::request_key(session, &request);
        let sender = SENDER.try_with(Clone::clone).ok();
        let mut answer = async move {
            let mut result = calls::resumed(&door, sender, key).await;
            // Results of the session protocol have no such field.
            result.result_type = None;
            let message = ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), request);
            ServerSseMessage::from_message(message)
        }
        .boxed()
        .fuse();
        let mut clock = tokio::time::interval(BEAT);
        let mut done = false;
        shared(poll_fn(move |cx| match (done, answer.poll_unpin(cx)) {
            (true, _) => Poll::Ready(None),
            (false, Poll::Ready(event)) => {
                done = true;
                Poll::Ready(Some(event))
            }
            (false, Poll::Pending) => {
                clock.poll_tick(cx).map(|_| Some(ServerSseMessage::from_message(beat::silent_message())))
            }
        }))
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.make_room().await;
        let created = self.inner.create_session().await?;
        self.stays.arrived(&created.0, self.door.engine.now());
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let opened = self.inner.initialize_session(id, message).await;
        self.stays.came(id);
        opened
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // Either its client ends it, in the task of a request. Or the library says, by the id alone and up to five seconds
        // late, that it has ended; one that we made rest may be back by then.
        match SENDER.try_with(|_| ()) {
            Ok(()) => self.stays.left(id),
            Err(_) if self.stays.has_ended(id) => {}
            Err(_) => return Ok(()),
        }
        self.door.kept.rest(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => spelled(&request.id),
            _ => String::new(),
        };
        // Now and then a look goes the long way, or its session would be unused to the library, and go.
        let heard = self.stays.was_heard(id, self.door.engine.now(), UNHEARD);
        if heard && let Some(glance) = Glance::take(&mut message) {
            return Ok(self.tagged(id, request, glance.events(self.door.clone())));
        }
        Ok(self.tagged(id, request, self.inner.create_stream(id, message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.tagged(id, String::new(), self.inner.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let mut parts = last.splitn(3, '.');
        let (era, request, event) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let ours = era.map(String::from) == Some(self.era(self.stays.number(id)));
        match (read(request), ours) {
            (Some(number), true) => match self.inner.resume(id, event.to_string()).await {
                Ok(events) => Ok(self.tagged(id, request.to_string(), events)),
                // Answered while nobody read: the library forgets that at once.
                Err(_) => Ok(self.finish(id, number)),
            },
            (Some(number), false) => Ok(self.finish(id, number)),
            (None, true) => Ok(self.tagged(id, String::new(), self.inner.resume(id, event.to_string()).await?)),
            // A stream for what the server says by itself is begun anew: what was to be said then is true no more.
            (None, false) => Ok(self.tagged(id, String::new(), self.inner.create_standalone_stream(id).await?)),
        }
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.make_room().await;
        let outcome = self.inner.restore_session(id.clone()).await?;
        if let RestoreOutcome::Restored(_) = outcome {
            self.stays.arrived(&id, self.door.engine.now());
        }
        Ok(outcome)
    }
}

/// A request's id as part of an event's: it holds no dot, whatever the client chose.
fn spelled(id: &RequestId) -> String {
    match id {
        RequestId::Number(n) => format!("n{n}"),
        RequestId::String(text) => {
            std::iter::once("s".to_string()).chain(text.bytes().map(|byte| format!("{byte:02x}"))).collect()
        }
    }
}

fn read(spelled: &str) -> Option<RequestId> {
    match spelled.split_at_checked(1)? {
        ("n", digits) => digits.parse().ok().map(RequestId::Number),
        ("s", hex) => {
            let bytes =
                hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
            let text = String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()?;
            Some(RequestId::String(text.into()))
        }
        _ => None,
    }
}

/// Makes a stream fit to be shared between threads, as the library wants it: it is only ever polled by one.
fn shared(events: impl Stream<Item = ServerSseMessage> + Send + 'static) -> Events {
    Box::pin(Shared(Mutex::new(events.boxed())))
}

struct Shared(Mutex<BoxStream<'static, ServerSseMessage>>);

impl Stream for Shared {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Alone with it, so nobody waits for the lock; a poisoned one cannot be, since nobody ever holds it.
        let events = self.0.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        events.poll_next_unpin(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requests_id_comes_back_from_an_events_id_whatever_it_is() {
        for id in [RequestId::Number(-7), RequestId::Number(i64::MAX), RequestId::String("a.b/ü \u{0}".into())] {
            let spelled = spelled(&id);
            assert!(!spelled.contains('.'), "{spelled}");
            assert_eq!(read(&spelled), Some(id));
        }
        for stranger in ["", "x", "n", "n1.5", "szz", "sff", "-"] {
            assert_eq!(read(stranger), None, "{stranger}");
        }
    }
}
