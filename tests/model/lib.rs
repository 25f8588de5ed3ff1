//! A model endpoint on loopback for tests. What it answers is written into the prompts (`script`), so that one server
//! plays every model of a test, each conversation by its own script; what it was asked is kept (`record`), so that a
//! test can show which endpoint got which key, tools and words. Nothing of the product is used here.

mod acts;
mod anthropic;
mod conversation;
mod dialect;
mod openai;
mod record;
pub mod script;
mod server;

pub use record::Recorded;
pub use server::Model;
