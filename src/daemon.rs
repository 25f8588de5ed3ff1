//! Floor 3: builds everything in order, owns every task, shuts down in order, recovers.
//!
//! What it builds is made of floor 2's rooms, which never see each other; here they meet. No rule lives here.

mod clock;
mod couriers;
mod serve;
mod signals;
mod tasks;

pub use serve::{Opened, ServeError, Settings, serve};
