//! `fleetd demo [DIR]`: a directory inspected by a fleet of its own, and the result worth showing to a colleague.
//!
//! The parts here are pure or read names only; the command itself comes with the daemon's start.

pub mod batch;
pub mod report;
pub mod verdict;
pub mod walk;
