//! What a worker asks inside its own turn: `fleet_ask`. Its own reply comes by `fleet_reply`, which both sides have.
//! Whose turn it is the fleet finds out; a worker names none but its own.

use rmcp::model::CallToolResult;

use super::{Call, WAIT, given};
use crate::engine::requests::AskRequest;
use crate::fleet::refusal::Refusal;
use crate::fleet::time::Span;

impl Call<'_> {
    pub(super) async fn ask(&self, request: AskRequest) -> Result<CallToolResult, Refusal> {
        let engine = &self.door.engine;
        let origin = self.request.origin(true);
        let wait = request.wait.unwrap_or(WAIT);
        let asked = Box::pin(engine.ask(&self.caller, request.clone(), &origin, wait));
        let stands = || engine.ask(&self.caller, request, &origin, Span(0));
        Ok(given(&self.wait(|| "not answered yet".into(), asked, stands).await?))
    }
}
