//! Floor 0: the pure rules. `Fleet::step(now, input)` decides and returns records, effects and answers.
//!
//! No I/O, no clock, no async, no Lua, no HTTP may ever come in here: time and randomness are handed in.

pub mod acts;
pub mod answer;
mod ask;
pub mod asked;
mod barred;
pub mod budget;
pub mod caller;
mod calls;
mod change;
mod checks;
pub mod difference;
mod dispatch;
pub mod envelope;
pub mod events;
pub mod grants;
pub mod ids;
pub mod input;
mod keys;
pub mod life;
pub mod mail;
mod mailbox;
mod nudge;
pub mod pause;
pub mod plan;
mod pools;
mod queue;
mod reap;
pub mod record;
pub mod refusal;
mod renew;
mod reply;
mod restore;
pub mod rules;
pub mod run;
mod runs;
pub mod seat;
mod seen;
mod settle;
pub mod signs;
mod starts;
pub mod state;
pub mod team;
pub mod time;
mod timers;
pub mod turn;
pub mod typing;
pub mod view;
mod waits;
mod why;
pub mod work;
pub mod worker;

pub use state::{Fleet, Limits};
