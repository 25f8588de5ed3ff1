//! How refusals stand in the document: one response a status, all with the same form.
//! Which kind has which status is decided in `refused`.

use axum::http::Method;
use schemars::Schema;
use serde_json::{Map, Value, json};

use super::super::paths::{Path, Takes};
use crate::door::refused::status;
use crate::fleet::refusal::RefusalKind::{Internal, Invalid, NotAllowed, TooLarge};

/// The statuses of refusals, each with its name in the document and when it is given.
const REFUSALS: &[(u16, &str, &str)] = &[
    (400, "Invalid", "The request itself is wrong: a field, a type, a value. Kind `invalid`."),
    (403, "NotAllowed", "The caller may not do this, or the request is not from this machine. Kind `not_allowed`."),
    (404, "Unknown", "It names something that does not exist. Kind `unknown`."),
    (405, "WrongMethod", "The path takes another method. Kind `invalid`."),
    (408, "TooSlow", "The body did not arrive in time. Kind `invalid`."),
    (
        409,
        "Conflict",
        "It does not fit the present state, or its key came with another body. Kinds `conflict`, `key_conflict`.",
    ),
    (413, "TooLarge", "The body or its text is larger than the limit. Kind `too_large`."),
    (415, "WrongContentType", "The body is not sent as `application/json`. Kind `invalid`."),
    (429, "QueueFull", "As much waits as may wait; try again later. Kind `queue_full`."),
    (500, "Internal", "A fault of fleetd. Kind `internal`."),
    (502, "PeerUnreachable", "A worker did not come up or does not answer. Kind `peer_unreachable`."),
    (
        503,
        "Unavailable",
        "The daemon cannot do this now: no charter, shutting down, the store fails. Kind `unavailable`.",
    ),
];

/// Returns the statuses of the refusals that a path may give.
pub(super) fn statuses(path: &Path) -> impl Iterator<Item = u16> {
    let mut all = vec![status(NotAllowed).as_u16(), status(Internal).as_u16(), 405];
    if !matches!(path.takes, Takes::Nothing) || path.id.is_some() {
        all.push(status(Invalid).as_u16());
    }
    if matches!(path.takes, Takes::Body(_)) {
        all.extend([status(TooLarge).as_u16(), 408, 415]);
    }
    all.into_iter().chain(path.refuses.iter().map(|kind| status(*kind).as_u16()))
}

/// Returns the name of a status in the document.
pub(super) fn name(status: u16) -> &'static str {
    REFUSALS.iter().find(|(one, ..)| *one == status).map_or("Internal", |(_, name, _)| name)
}

/// Returns the responses, given what stands for a refusal in the document.
pub(super) fn components(refusal: Schema) -> Map<String, Value> {
    let response = |(status, name, when): &(u16, &str, &str)| {
        let mut response =
            json!({ "description": when, "content": { "application/json": { "schema": refusal.clone() } } });
        let header = match status {
            405 => Some((
                "Allow",
                "The methods that it takes.",
                json!({ "type": "string", "examples": [Method::POST.as_str()] }),
            )),
            429 => Some((
                "Retry-After",
                "How many seconds to wait before trying again.",
                json!({ "type": "integer", "minimum": 1 }),
            )),
            _ => None,
        };
        if let Some((name, about, schema)) = header {
            response["headers"] = json!({ name: { "description": about, "required": true, "schema": schema } });
        }
        ((*name).to_owned(), response)
    };
    REFUSALS.iter().map(response).collect()
}
