//! What is told to those who listen: the state so far, then what changes. Who falls too far behind is cut off.
//! Nobody is waited for.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::conversation::{Message, Status};

/// So many events may wait for a listener.
const BEHIND: usize = 1_024;
/// So many errors are kept for those who come later.
const OLD_ERRORS: usize = 100;

/// One event, with its name.
pub type Event = (&'static str, Value);

/// All listeners, and what they know.
pub struct Events {
    kind: String,
    messages: Vec<Message>,
    status: Status,
    screen: String,
    errors: Vec<Event>,
    listeners: Vec<mpsc::Sender<Event>>,
}

impl Events {
    pub fn new(kind: String) -> Events {
        Events {
            kind,
            messages: Vec::new(),
            status: Status::Running,
            screen: String::new(),
            errors: Vec::new(),
            listeners: Vec::new(),
        }
    }

    /// Returns the state as events, and those that come after it.
    pub fn listen(&mut self) -> (Vec<Event>, mpsc::Receiver<Event>) {
        let mut state: Vec<Event> =
            self.messages.iter().enumerate().map(|(id, message)| message_update(id, message)).collect();
        state.push(self.status_change());
        state.extend(self.errors.iter().cloned());
        state.push(self.screen_update());
        let (sender, receiver) = mpsc::channel(BEHIND);
        self.listeners.push(sender);
        (state, receiver)
    }

    /// Tells what is different from what was told before.
    pub fn update(&mut self, status: Status, messages: &[Message], screen: &str) {
        if self.status != status {
            self.status = status;
            let event = self.status_change();
            self.tell(&event);
        }
        for (id, message) in messages.iter().enumerate() {
            if self.messages.get(id) != Some(message) {
                self.tell(&message_update(id, message));
            }
        }
        if self.messages != messages {
            self.messages = messages.to_vec();
        }
        if self.screen != screen {
            self.screen = screen.to_owned();
            let event = self.screen_update();
            self.tell(&event);
        }
    }

    /// Tells of an error.
    pub fn error(&mut self, text: &str, time: &str) {
        let event = ("agent_error", json!({"message": text, "level": "warning", "time": time}));
        self.tell(&event);
        self.errors.push(event);
        let more = self.errors.len().saturating_sub(OLD_ERRORS);
        self.errors.drain(..more);
    }

    fn tell(&mut self, event: &Event) {
        self.listeners.retain(|listener| listener.try_send(event.clone()).is_ok());
    }

    fn status_change(&self) -> Event {
        ("status_change", json!({"status": self.status, "agent_type": self.kind}))
    }

    fn screen_update(&self) -> Event {
        ("screen", json!({"screen": self.screen.trim_end()}))
    }
}

fn message_update(id: usize, message: &Message) -> Event {
    let Message { role, text, time } = message;
    ("message_update", json!({"id": id, "role": role, "message": text, "time": time}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Role;

    fn message(text: &str) -> Message {
        Message { role: Role::Agent, text: text.into(), time: "then".into() }
    }

    fn names(events: &mut mpsc::Receiver<Event>) -> Vec<String> {
        std::iter::from_fn(|| events.try_recv().ok()).map(|(name, data)| format!("{name} {data}")).collect()
    }

    #[test]
    fn who_comes_late_gets_the_state_and_then_only_what_changes() {
        let mut events = Events::new("custom".into());
        events.update(Status::Running, &[message("a")], "a\n");
        events.error("lost", "then");
        let (state, mut rest) = events.listen();
        let said: Vec<&str> = state.iter().map(|(name, _)| *name).collect();
        assert_eq!(said, ["message_update", "status_change", "agent_error", "screen"]);
        events.update(Status::Running, &[message("a")], "a\n");
        assert!(names(&mut rest).is_empty(), "nothing changed");
        events.update(Status::Stable, &[message("a"), message("b")], "b");
        assert_eq!(
            names(&mut rest),
            [
                "status_change {\"status\":\"stable\",\"agent_type\":\"custom\"}",
                "message_update {\"id\":1,\"role\":\"agent\",\"message\":\"b\",\"time\":\"then\"}",
                "screen {\"screen\":\"b\"}",
            ]
        );
    }

    #[test]
    fn who_falls_behind_is_cut_off_and_errors_are_kept_within_a_bound() {
        let mut events = Events::new("custom".into());
        let (_, mut slow) = events.listen();
        for n in 0..=BEHIND {
            events.error(&n.to_string(), "then");
        }
        assert_eq!(names(&mut slow).len(), BEHIND);
        assert!(slow.is_closed(), "and then nothing more comes");
        assert_eq!(events.listen().0.iter().filter(|(name, _)| *name == "agent_error").count(), OLD_ERRORS);
    }
}
