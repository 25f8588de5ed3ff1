//! A line of the audit from the moment at which a request is judged to the moment at which it is known what came of it.
//! It is written once, whatever happens: also when the caller goes away or the handler breaks.

use std::pin::Pin;
use std::time::Duration;

use super::{About, Audit, Decision, Noted, Outcome, Who};
use crate::engine::handle::Handle;
use crate::fleet::refusal::RefusalKind;
use crate::fleet::rules::{Door, Verb};

/// How long the line waits for the answer, so that it tells what came of a request; a call that waits for a reply is
/// told of before it has one.
const SOON: Duration = Duration::from_secs(1);

/// The line of a request that is under way.
pub struct Begun {
    open: Option<Decision>,
    audit: Audit,
    noted: Noted,
    engine: Handle,
}

impl Begun {
    /// Begins the line of a request that is let in, unless it is denied later.
    pub fn new(audit: Audit, engine: Handle, who: Who, door: Door, verb: Verb) -> Begun {
        let decision = Decision {
            at: engine.now(),
            door,
            who,
            verb,
            target: Vec::new(),
            allowed: true,
            refusal: None,
            outcome: None,
            bytes: None,
            generation: engine.fleet().team().map_or(0, |team| team.generation.number),
        };
        Begun { open: Some(decision), audit, noted: Noted::default(), engine }
    }

    /// Adds what the request or its outcome tells.
    pub fn note(&self, about: About) {
        self.noted.add(about);
    }

    /// Returns where handlers add what they learn.
    pub fn noted(&self) -> Noted {
        self.noted.clone()
    }

    /// Writes that the rules did not let it in.
    pub fn denied(&mut self, kind: RefusalKind) {
        if let Some(decision) = &mut self.open {
            decision.allowed = false;
            decision.refusal = Some(kind);
        }
        self.write(None);
    }

    /// Waits for the answer and writes what came of it, or that it is open where the answer takes longer.
    pub async fn answered<T>(
        &mut self,
        mut answer: Pin<&mut impl Future<Output = T>>,
        of: impl FnOnce(&T) -> Option<Outcome>,
    ) -> T {
        match tokio::time::timeout(SOON, answer.as_mut()).await {
            Ok(answer) => {
                self.write(of(&answer));
                answer
            }
            Err(_) => {
                self.write(Some(Outcome::Open));
                answer.await
            }
        }
    }

    /// Writes what came of it; nothing to tell = it succeeded. Only the first time counts.
    pub fn write(&mut self, outcome: Option<Outcome>) {
        let Some(decision) = self.open.take() else { return };
        // The newest snapshot: a worker or a run may be known only since the request.
        let (target, bytes) = self.noted.told(&self.engine.fleet());
        self.audit.decided(Decision { target, bytes, outcome, ..decision });
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.write(Some(match std::thread::panicking() {
            true => Outcome::Refused(RefusalKind::Internal),
            false => Outcome::Left,
        }));
    }
}
