//! What a streamed answer is made of, and how it is played: pieces of text, waits, and the two ways in which a stream
//! goes wrong. Knows no dialect.

use std::io::Error;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;

/// A piece of a streamed answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    Send(String),
    Wait(Duration),
    /// Nothing more comes, and the stream stays open.
    Stall,
    /// The connection is broken off.
    Cut,
}

/// Returns a body that plays these.
pub fn streamed(acts: Vec<Act>) -> Body {
    Body::from_stream(stream::unfold(acts.into_iter(), |mut acts| async move {
        loop {
            match acts.next()? {
                Act::Send(text) => return Some((Ok(Bytes::from(text)), acts)),
                Act::Wait(time) => tokio::time::sleep(time).await,
                Act::Stall => std::future::pending::<()>().await,
                Act::Cut => {
                    // What was said is written out while there is nothing new; after an error it would be dropped.
                    tokio::task::yield_now().await;
                    return Some((Err(Error::other("cut by the script")), acts));
                }
            }
        }
    }))
}
