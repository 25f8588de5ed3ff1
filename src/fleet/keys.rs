//! Idempotency keys: the same key with the same body is the same call, with another body it is refused.
//! Keys are per sender and kept for a time; what is part of a body is decided where bodies are hashed, in `engine`.

use std::sync::Arc;

use super::caller::Sender;
use super::ids::Key;
use super::record::{KeyUse, Made, Record};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::timers::Timer;

impl Fleet {
    /// Returns what a key made before, refusing one that came with another body.
    pub fn used(&self, sender: Sender, key: Option<&(Key, String)>) -> Result<Option<Made>, Refusal> {
        let Some((key, body)) = key else { return Ok(None) };
        match self.keys.get(&(sender, key.clone())) {
            Some(used) if used.body == *body => Ok(Some(used.made.clone())),
            Some(used) => Err(Refusal::new(
                RefusalKind::KeyConflict,
                format!("the key '{key}' was used with another body, for {}", made_word(&used.made)),
            )
            .hint("repeat a call with the same body, or take a new key")),
            None => Ok(None),
        }
    }

    /// Remembers what a key made.
    pub(super) fn use_key(&mut self, cx: &mut Cx, sender: Sender, key: Option<(Key, String)>, made: Made) {
        let Some((key, body)) = key else { return };
        let used = Arc::new(KeyUse { sender, key: key.clone(), body, made, at: cx.now });
        self.at(cx.now + self.limits.key_ttl, Timer::Key(sender, key.clone()));
        self.keys.insert((sender, key), used.clone());
        cx.record(Record::Key(used));
    }
}

fn made_word(made: &Made) -> String {
    match made {
        Made::Turn(id) => format!("turn {id}"),
        Made::Run(id) => format!("run {id}"),
        Made::Worker(name) => format!("worker {name}"),
    }
}

pub(super) fn key_conflict(key: Option<&(Key, String)>) -> Refusal {
    let key = key.map_or("", |(key, _)| key.as_str());
    Refusal::new(RefusalKind::KeyConflict, format!("the key '{key}' was used for another kind of call"))
}
