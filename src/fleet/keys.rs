//! Idempotency keys: the same key with the same body is the same call, with another body it is refused.
//! Keys are per sender and kept for a time; what is part of a body is decided where bodies are hashed, in `engine`.

use std::sync::Arc;

use super::caller::Sender;
use super::ids::Key;
use super::input::Keyed;
use super::record::{KeyUse, Made, Record};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::timers::Timer;
use super::worker::Worker;

impl Fleet {
    /// Returns the use of a key that came before, refusing another body.
    pub fn used(&self, sender: Sender, key: Option<&Keyed>) -> Result<Option<Arc<KeyUse>>, Refusal> {
        let Some(Keyed { key, body, .. }) = key else { return Ok(None) };
        match self.keys.get(&(sender, key.clone())) {
            Some(used) if used.body == *body => Ok(Some(used.clone())),
            Some(used) => Err(Refusal::new(
                RefusalKind::KeyConflict,
                format!("the key '{key}' was used with another body, for {}", made_word(&used.made)),
            )
            .hint("repeat a call with the same body, or take a new key")),
            None => Ok(None),
        }
    }

    /// Remembers what a keyed call made, also under the request by which it came.
    pub(super) fn use_key(&mut self, cx: &mut Cx, sender: Sender, key: Option<Keyed>, made: Made) {
        let Some(Keyed { key, body, request }) = key else { return };
        let born = match &made {
            Made::Worker(name) => self.workers.get(name).map_or(0, |worker| worker.born),
            Made::Turn(_) | Made::Run(_) => 0,
        };
        for key in request.into_iter().filter(|request| *request != key).chain([key.clone()]) {
            self.put_key(cx, KeyUse { sender, key, body: body.clone(), made: made.clone(), born, at: cx.now });
        }
    }

    /// Returns the use of a key that came before. From now on what it made is found by the request that repeats the call,
    /// too: that one may be cut off like the first.
    pub(super) fn used_again(
        &mut self,
        cx: &mut Cx,
        sender: Sender,
        key: Option<&Keyed>,
    ) -> Result<Option<Arc<KeyUse>>, Refusal> {
        let used = self.used(sender, key)?;
        if let (Some(used), Some(Keyed { request: Some(request), .. })) = (&used, key)
            && self.made_by(sender, request).is_none()
        {
            self.put_key(cx, KeyUse { key: request.clone(), at: cx.now, ..(**used).clone() });
        }
        Ok(used)
    }

    /// Returns the worker that a key made, if it is still there: another one may have got its name.
    pub(super) fn worker_made(&self, used: &KeyUse) -> Option<&Arc<Worker>> {
        let Made::Worker(name) = &used.made else { return None };
        self.workers.get(name).filter(|worker| worker.born == used.born)
    }

    fn put_key(&mut self, cx: &mut Cx, used: KeyUse) {
        let used = Arc::new(used);
        self.at(cx.now + self.limits.key_ttl, Timer::Key(used.sender, used.key.clone()));
        self.keys.insert((used.sender, used.key.clone()), used.clone());
        cx.record(Record::Key(used));
    }

    /// Returns what a request of a session came to, if it is still known.
    pub(super) fn made_by(&self, sender: Sender, request: &Key) -> Option<Arc<KeyUse>> {
        self.keys.get(&(sender, request.clone())).cloned()
    }
}

fn made_word(made: &Made) -> String {
    match made {
        Made::Turn(id) => format!("turn {id}"),
        Made::Run(id) => format!("run {id}"),
        Made::Worker(name) => format!("worker {name}"),
    }
}

pub(super) fn key_conflict(key: Option<&Keyed>) -> Refusal {
    let key = key.map_or("", |keyed| keyed.key.as_str());
    Refusal::new(RefusalKind::KeyConflict, format!("the key '{key}' was used for another kind of call"))
}
