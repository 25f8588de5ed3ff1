//! An AgentAPI server for tests. It fulfils the API of version 0.12.1 and copies the habits that were seen in its source:
//! a program in a terminal, read by its screen alone. `conversation` and `words` are the rules, without a terminal or a
//! clock; `desk` is where they meet both. Left out: uploads, the web chat, the document, saved states. Nothing of the
//! product is used here.

mod conversation;
mod desk;
mod events;
mod options;
mod problem;
mod server;
mod terminal;
mod words;

pub use options::{Habits, Kind, Options};
pub use server::run;
