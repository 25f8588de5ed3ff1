//! What a worker is asked in a turn: its prompt, or what is wrong with an answer that it gave. The texts are the fleet's;
//! here they are only read from the store and put together.

use std::sync::Arc;

use crate::engine::ports::{Journal, JournalError};
use crate::fleet::shape;
use crate::fleet::turn::Turn;
use crate::fleet::worker::Worker;

/// Returns what a worker is asked in a turn; nothing where the store lacks the prompt.
pub(super) async fn text_of(
    journal: &Arc<dyn Journal>,
    turn: &Turn,
    worker: &Worker,
) -> Result<Option<Arc<str>>, JournalError> {
    let Some(amends) = &turn.amends else { return journal.prompt(turn.prompt_of).await };
    let is_the_same = amends.session != 0 && amends.session == worker.session && worker.profile.has_session();
    if is_the_same {
        return Ok(Some(shape::again(&amends.complaint).into()));
    }
    let Some(prompt) = journal.prompt(turn.prompt_of).await? else { return Ok(None) };
    let answer = journal.envelope(amends.of).await?.map_or_else(|| "".into(), |envelope| envelope.text.clone());
    Ok(Some(shape::anew(&prompt, &answer, &amends.complaint).into()))
}
