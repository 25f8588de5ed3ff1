//! Floor 0: the pure rules. `Fleet::step(now, input)` decides and returns records, effects and answers.
//!
//! No I/O, no clock, no async, no Lua, no HTTP may ever come in here: time and randomness are handed in.

pub mod caller;
pub mod envelope;
pub mod ids;
pub mod input;
pub mod mail;
pub mod record;
pub mod refusal;
pub mod rules;
pub mod run;
pub mod team;
pub mod time;
pub mod turn;
pub mod worker;
