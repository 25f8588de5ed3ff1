//! What a client is told while it waits: something at once, and then every 15 seconds.
//!
//! At once, because a client that is cut off before the first byte of an answer may die of it; and again, because
//! clients give a silent stream up after minutes. Nothing here ends a wait but its bound and its client.

use std::time::Duration;

use rmcp::model::{CustomNotification, ProgressNotificationParam, ServerJsonRpcMessage, ServerNotification};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use serde_json::json;

/// How often a waiting client is told that it waits.
pub(super) const BEAT: Duration = Duration::from_secs(15);

/// How long telling may take; a client that does not read is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for something that the client of a call waits for, and tells it `why` now and then. `None` when the client
/// cancelled the call or went away; what it waited for goes on.
pub(super) async fn waiting<T>(
    cx: &RequestContext<RoleServer>,
    in_session: bool,
    why: impl Fn() -> String,
    what: impl Future<Output = T>,
) -> Option<T> {
    let token = cx.meta.get_progress_token();
    let mut what = std::pin::pin!(what);
    let mut clock = tokio::time::interval(BEAT);
    let mut n = 0.0;
    loop {
        tokio::select! {
            biased;
            () = cx.ct.cancelled() => return None,
            done = &mut what => return Some(done),
            _ = clock.tick() => {
                n += 1.0;
                let told = match token.clone() {
                    Some(token) => {
                        let progress = ProgressNotificationParam::new(token, n).with_message(why());
                        ServerNotification::ProgressNotification(rmcp::model::Notification::new(progress))
                    }
                    // In a session such a notice would not travel with the call, but to whoever listens; there the
                    // library itself sends something at once.
                    None if in_session => continue,
                    None => silent(),
                };
                // Boxed, so that a call that waits holds no room for it.
                Box::pin(tell(&cx.peer, told)).await;
            }
        }
    }
}

async fn tell(peer: &Peer<RoleServer>, what: ServerNotification) {
    // A client that is gone needs no telling; its call is cancelled by itself.
    let _ = tokio::time::timeout(PATIENCE, peer.send_notification(what)).await;
}

/// A notification that means nothing, for clients that asked for no progress: they pass over what they do not know.
fn silent() -> ServerNotification {
    ServerNotification::CustomNotification(CustomNotification::new("notifications/fleet/waiting", Some(json!({}))))
}

/// The same as a whole message.
pub(super) fn silent_message() -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::notification(silent())
}
