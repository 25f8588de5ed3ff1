//! Floor 3: builds everything in order, owns every task, shuts down in order, recovers.
//!
//! What it builds is made of floor 2's rooms, which never see each other; here they meet. No rule lives here.

mod audit;
mod clock;
mod couriers;
mod embedded;
mod limits;
mod panes;
mod seat;
mod serve;
mod settings;
mod signals;
mod tasks;

pub use embedded::DEFAULT_CHARTER;
pub use serve::{Opened, ServeError, serve};
pub use settings::{Charter, Settings};
