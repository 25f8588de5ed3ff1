//! How a refusal leaves by HTTP: one JSON form for everything, and one place that maps a kind to a status.
//! What is refused, and why, is decided elsewhere.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::fleet::refusal::{Refusal, RefusalKind};

/// A refusal on its way out.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    refusal: Refusal,
}

impl Refused {
    /// Returns a refusal whose status says more than its kind: a wrong method, a wrong content type.
    pub fn with_status(status: StatusCode, refusal: Refusal) -> Self {
        Self { status, refusal }
    }

    /// Returns what kind of refusal it is.
    pub fn kind(&self) -> RefusalKind {
        self.refusal.kind
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::with_status(status(refusal.kind), refusal)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let kind = self.refusal.kind;
        let mut response = (self.status, Json(self.refusal)).into_response();
        // For the audit; it does not leave the process.
        response.extensions_mut().insert(kind);
        if kind == RefusalKind::QueueFull {
            let soon = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, soon);
        }
        response
    }
}

/// Returns the status of a kind of refusal.
pub fn status(kind: RefusalKind) -> StatusCode {
    match kind {
        RefusalKind::Invalid => StatusCode::BAD_REQUEST,
        RefusalKind::NotAllowed => StatusCode::FORBIDDEN,
        RefusalKind::Unknown => StatusCode::NOT_FOUND,
        RefusalKind::KeyConflict | RefusalKind::Conflict | RefusalKind::Divergence => StatusCode::CONFLICT,
        RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        RefusalKind::QueueFull => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::PeerUnreachable => StatusCode::BAD_GATEWAY,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        RefusalKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
