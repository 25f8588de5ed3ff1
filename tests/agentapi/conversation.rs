//! The conversation as the real program keeps it, from nothing but pictures of the screen: who said what, and whether
//! the program may be written to. Time comes in from outside, one snapshot after the other. Pure.

use serde::Serialize;

use crate::options::Kind;
use crate::words::{has_input_box, said, trimmed};

/// So many snapshots in a row that are alike make a screen stable: two seconds.
pub const ALIKE: usize = 81;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Agent,
    User,
}

/// Whether a message may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Running,
    Stable,
}

/// Something that was said; its number is its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub text: String,
    /// As it is shown.
    pub time: String,
}

/// All that was said, and what the screen looked like.
#[derive(Debug)]
pub struct Conversation {
    kind: Kind,
    messages: Vec<Message>,
    /// The screen before the user's last message.
    before: String,
    last: Option<String>,
    alike: usize,
    /// An input box was seen once.
    ready: bool,
    /// A message is being written: what is echoed now is nobody's answer.
    writing: bool,
}

impl Conversation {
    /// Begins with an empty word of the program, which the start screen will fill.
    pub fn new(kind: Kind, time: String) -> Conversation {
        let first = Message { role: Role::Agent, text: String::new(), time };
        Conversation {
            kind,
            messages: vec![first],
            before: String::new(),
            last: None,
            alike: 0,
            ready: false,
            writing: false,
        }
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn status(&self) -> Status {
        let answered = self.messages.last().is_some_and(|last| last.role == Role::Agent);
        match answered && self.alike >= ALIKE && self.ready && !self.writing {
            true => Status::Stable,
            false => Status::Running,
        }
    }

    /// Takes a picture of the screen. With `merged`, everything on it counts as new.
    pub fn snapshot(&mut self, screen: &str, merged: bool, time: &str) {
        self.alike = if self.last.as_deref() == Some(screen) { (self.alike + 1).min(ALIKE) } else { 1 };
        if self.alike == 1 {
            self.last = Some(screen.to_owned());
        }
        self.ready |= has_input_box(self.kind, screen);
        self.hear(screen, merged, time);
    }

    /// Returns the message without the blanks around it, or why it cannot be sent.
    pub fn accept<'m>(&self, message: &'m str) -> Result<&'m str, &'static str> {
        let message = trimmed(message);
        match (message.is_empty(), self.status()) {
            (true, _) => Err("message must not be empty"),
            (_, Status::Running) => Err("message can only be sent when the agent is waiting for user input"),
            (_, Status::Stable) => Ok(message),
        }
    }

    /// A message begins to be written to this screen.
    pub fn begin(&mut self, screen: &str, merged: bool, time: &str) {
        self.hear(screen, merged, time);
        self.writing = true;
    }

    /// It was written, and something happened.
    pub fn sent(&mut self, message: &str, before: String, time: String) {
        self.before = before;
        self.messages.push(Message { role: Role::User, text: message.to_owned(), time });
        self.writing = false;
    }

    /// It was written, and nothing happened: nobody has said anything then.
    pub fn not_sent(&mut self) {
        self.writing = false;
    }

    fn hear(&mut self, screen: &str, merged: bool, time: &str) {
        if self.writing {
            return;
        }
        let last_of = |role| self.messages.iter().rev().find(|message| message.role == role);
        let user = last_of(Role::User).map_or("", |message| &message.text);
        let (before, user) = if merged { ("", "") } else { (self.before.as_str(), user) };
        let text = said(self.kind, before, screen, user);
        if last_of(Role::Agent).is_some_and(|message| message.text == text) {
            return;
        }
        let message = Message { role: Role::Agent, text, time: time.to_owned() };
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Agent => *last = message,
            _ => self.messages.push(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: &str = "welcome\n> \n";

    fn stable(conversation: &mut Conversation, screen: &str) {
        for _ in 0..ALIKE {
            conversation.snapshot(screen, false, "then");
        }
    }

    fn told(conversation: &Conversation) -> Vec<(Role, &str)> {
        conversation.messages().iter().map(|message| (message.role, message.text.as_str())).collect()
    }

    #[test]
    fn a_message_goes_in_and_its_answer_is_what_is_new_on_the_screen() {
        let mut talk = Conversation::new(Kind::Custom, "first".into());
        stable(&mut talk, IDLE);
        assert_eq!(told(&talk), [(Role::Agent, "welcome")]);
        assert_eq!(talk.accept(" \n hello \t"), Ok("hello"));
        talk.begin(IDLE, false, "then");
        assert_eq!(talk.status(), Status::Running, "while it is written");
        talk.snapshot("welcome\n> hello\n", false, "then");
        assert_eq!(told(&talk).len(), 1, "an echo is nobody's answer");
        talk.sent("hello", IDLE.into(), "then".into());
        stable(&mut talk, "welcome\n> hello\n● hi\n> \n");
        assert_eq!(talk.status(), Status::Stable);
        assert_eq!(told(&talk)[1..], [(Role::User, "hello"), (Role::Agent, "● hi")]);
    }

    #[test]
    fn it_is_stable_after_81_like_pictures_with_an_input_box_and_an_answer() {
        let mut talk = Conversation::new(Kind::Custom, "first".into());
        stable(&mut talk, "Do you trust this folder?\n");
        assert_eq!(talk.status(), Status::Running, "no input box was seen");
        for n in 1..=ALIKE {
            assert_eq!((n, talk.status()), (n, Status::Running));
            talk.snapshot(IDLE, false, "then");
        }
        assert_eq!(talk.status(), Status::Stable);
        talk.snapshot("welcome\n> x\n", false, "then");
        assert_eq!(talk.status(), Status::Running);
        stable(&mut talk, "Really?\n");
        assert_eq!(talk.status(), Status::Stable, "an open dialog is stable once a box was seen");

        talk.begin("Really?\n", false, "then");
        talk.sent("yes", "Really?\n".into(), "then".into());
        stable(&mut talk, "Really?\n");
        assert_eq!(talk.status(), Status::Stable, "an empty answer is an answer");
        assert_eq!(told(&talk).last(), Some(&(Role::Agent, "")));
        talk.begin("Really?\n", false, "then");
        talk.sent("again", "Really?\n".into(), "then".into());
        stable(&mut talk, "Really?\n");
        assert_eq!(told(&talk).last(), Some(&(Role::User, "again")), "the same answer as before is none");
        assert_eq!(talk.status(), Status::Running, "so it hangs, as the real one does");
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        let mut talk = Conversation::new(Kind::Custom, "first".into());
        assert_eq!(talk.accept("hello"), Err("message can only be sent when the agent is waiting for user input"));
        stable(&mut talk, IDLE);
        assert_eq!(talk.accept(" \n"), Err("message must not be empty"));
        talk.begin(IDLE, false, "then");
        talk.not_sent();
        assert_eq!(talk.accept("hello"), Ok("hello"), "a message that was not sent is forgotten");
    }

    #[test]
    fn merged_the_last_message_has_the_old_answers_too() {
        let mut talk = Conversation::new(Kind::Custom, "first".into());
        stable(&mut talk, IDLE);
        talk.begin(IDLE, true, "then");
        talk.sent("hello", IDLE.into(), "then".into());
        talk.snapshot("welcome\n● hi\n> \n", true, "then");
        assert_eq!(told(&talk).last(), Some(&(Role::Agent, "welcome\n● hi")));
    }
}
