//! Where the rules meet the terminal and the clock: a picture every 25 ms, and messages that are written as the real
//! program writes them. One message at a time; meanwhile nothing else is answered, the real one's lock is as wide.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{RwLock, mpsc};
use tokio::time::{Instant, sleep};

use crate::conversation::{Conversation, Message, Status};
use crate::events::{Event, Events};
use crate::options::{Habits, Options};
use crate::problem::Sent;
use crate::terminal::Terminal;

/// Everything that outlives a request.
pub struct Desk {
    pub options: Options,
    terminal: Terminal,
    state: Mutex<State>,
    /// Held by a message until it is sent, and by each look at the state.
    door: RwLock<()>,
}

struct State {
    conversation: Conversation,
    events: Events,
    habits: Habits,
    ticks: u64,
}

impl Desk {
    pub fn new(options: Options, terminal: Terminal) -> Desk {
        let mut events = Events::new(options.kind.word());
        if !options.habits.error.is_empty() {
            events.error(&options.habits.error, &now());
        }
        let (conversation, habits) = (Conversation::new(options.kind, now()), options.habits.clone());
        let state = Mutex::new(State { conversation, events, habits, ticks: 0 });
        Desk { options, terminal, state, door: RwLock::default() }
    }

    /// Takes pictures for ever.
    pub async fn watch(&self) {
        loop {
            sleep(self.options.time(25)).await;
            let mut state = self.state();
            state.ticks += 1;
            let screen = self.screen(&state);
            let State { conversation, events, habits, .. } = &mut *state;
            conversation.snapshot(&screen, habits.merge, &now());
            events.update(conversation.status(), conversation.messages(), &screen);
        }
    }

    pub async fn status(&self) -> Status {
        let _door = self.door.read().await;
        self.state().conversation.status()
    }

    pub async fn messages(&self) -> Vec<Message> {
        let _door = self.door.read().await;
        self.state().conversation.messages().to_vec()
    }

    /// Returns the state as events, those that come after it, and after how many the stream ends.
    pub fn listen(&self) -> (Vec<Event>, mpsc::Receiver<Event>, u64) {
        let mut state = self.state();
        let (so_far, rest) = state.events.listen();
        (so_far, rest, state.habits.drop_events)
    }

    pub fn habits(&self) -> Habits {
        self.state().habits.clone()
    }

    /// Has other habits from now on.
    pub fn change(&self, habits: Habits) {
        let mut state = self.state();
        if !habits.error.is_empty() && habits.error != state.habits.error {
            state.events.error(&habits.error, &now());
        }
        state.habits = habits;
    }

    /// Sends a message, or returns why it was not sent.
    pub async fn send(&self, sent: &Sent) -> Result<(), String> {
        let _door = self.door.write().await;
        match sent {
            Sent::Raw(bytes) => self.type_out(bytes),
            Sent::User(message) => self.say(message).await,
        }
    }

    async fn say(&self, message: &str) -> Result<(), String> {
        let message = self.state().conversation.accept(message)?.to_owned();
        let late = "failed to send message: failed to wait for processing to start: timeout waiting for condition";
        if self.takes_one(|habits| &mut habits.fail) {
            return Err(late.to_owned());
        }
        let (before, time) = {
            let mut state = self.state();
            let (screen, time) = (self.screen(&state), now());
            let State { conversation, habits, .. } = &mut *state;
            conversation.begin(&screen, habits.merge, &time);
            (screen, time)
        };
        let mut written = self.write(&message).await;
        if self.takes_one(|habits| &mut habits.fail_typed) {
            written = Err(late.to_owned());
        }
        let conversation = &mut self.state().conversation;
        match &written {
            Ok(()) => conversation.sent(&message, before, time),
            Err(_) => conversation.not_sent(),
        }
        written
    }

    /// Types a message and waits until the program does something with it.
    async fn write(&self, message: &str) -> Result<(), String> {
        let time = |ms| self.options.time(ms);
        let shown = self.shows();
        self.type_out(&format!("x\u{8}\u{1b}[200~{message}\u{1b}[201~"))?;
        // An echo that has come to rest; not every program echoes.
        let began = Instant::now();
        while began.elapsed() < time(2_000) {
            sleep(time(50)).await;
            let echo = self.shows();
            if echo != shown {
                sleep(time(1_000)).await;
                if self.shows() == echo {
                    break;
                }
            }
        }
        let (echo, began) = (self.shows(), Instant::now());
        let mut entered: Option<Instant> = None;
        loop {
            if entered.is_none_or(|at| at.elapsed() >= time(3_000)) {
                self.type_out("\r")?;
                entered = Some(Instant::now());
            }
            sleep(time(25)).await;
            if self.shows() != echo {
                return Ok(());
            }
            if began.elapsed() > time(15_000) {
                let late = "failed to wait for processing to start: timeout waiting for condition";
                return Err(format!("failed to send message: {late}"));
            }
        }
    }

    fn type_out(&self, text: &str) -> Result<(), String> {
        self.terminal.write(text.as_bytes()).map_err(|error| error.to_string())
    }

    /// What is seen of the program, with the clock that some have in their last row.
    fn screen(&self, state: &State) -> String {
        let screen = self.terminal.screen();
        match state.habits.clock {
            true => {
                format!("{screen}\n{:?}", Duration::from_millis(25) * u32::try_from(state.ticks).unwrap_or(u32::MAX))
            }
            false => screen,
        }
    }

    fn shows(&self) -> String {
        let state = self.state();
        self.screen(&state)
    }

    /// Counts one of the errors that it was told to answer with.
    fn takes_one(&self, of: impl FnOnce(&mut Habits) -> &mut u32) -> bool {
        let mut state = self.state();
        let left = of(&mut state.habits);
        let takes = *left > 0;
        *left = left.saturating_sub(1);
        takes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}
