//! The pause, as the doors ask for it: hand out nothing, and hand out again.
//! What a pause means is decided in the fleet.

use super::unexpected;
use crate::engine::handle::Handle;
use crate::engine::requests::PauseView;
use crate::fleet::caller::Caller;
use crate::fleet::input::{Answer, Call};
use crate::fleet::refusal::Refusal;

impl Handle {
    /// Hands out nothing from now on. Once this answers, nothing is typed any more.
    pub async fn pause(&self, caller: &Caller) -> Result<PauseView, Refusal> {
        self.pause_call(caller, Call::Pause).await
    }

    /// Hands out again.
    pub async fn unpause(&self, caller: &Caller) -> Result<PauseView, Refusal> {
        self.pause_call(caller, Call::Unpause).await
    }

    async fn pause_call(&self, caller: &Caller, call: Call) -> Result<PauseView, Refusal> {
        match self.call(caller, call).await? {
            Answer::Paused(pause) => Ok(PauseView {
                paused: pause.is_some(),
                by: pause.as_ref().map(|pause| pause.by),
                since: pause.as_ref().map(|pause| pause.since),
                age_ms: pause.as_ref().map(|pause| self.now().since(pause.since).0),
            }),
            other => Err(unexpected(&other)),
        }
    }
}
