//! The integration tests: one binary, one module a part.
//! What several of them need stands in `support` and in the modules of that part.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is, its helpers included")]

mod agents;
mod audit;
mod callers;
mod charter;
mod cli;
mod demo;
mod demo_scripts;
mod door;
mod engine;
mod exec;
mod exec_recipes;
mod fleet_answers;
mod fleet_asks;
mod fleet_budget;
mod fleet_charter;
mod fleet_ends;
mod fleet_events;
mod fleet_mail;
mod fleet_nudge;
mod fleet_pause;
mod fleet_pools;
mod fleet_queue;
mod fleet_random;
mod fleet_renewals;
mod fleet_runs;
mod fleet_seat;
mod fleet_sessions;
mod fleet_stage;
mod hostile;
mod kill;
mod lines;
mod live;
mod mcp;
mod mcp_hostile;
mod pane_exec;
mod pane_terminal;
mod panes;
mod reloads;
mod rules;
mod secrets;
mod security;
mod sessions;
mod store;
mod store_crash;
mod store_full;
mod store_refusals;
mod store_rows;
mod support;
mod token;
mod token_seat;
mod typed;
mod worktrees;
mod wrong_input;
