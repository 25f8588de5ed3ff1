//! The journal of the fleet in one SQLite file: one thread writes, two read, a lock keeps a second daemon out.
//!
//! SQL is known to this room only. What a record means is the fleet's matter: rows are kept and given back whole.

mod check;
mod error;
pub mod glance;
mod open;
mod place;
mod prune;
mod queries;
mod reader;
mod rows;
mod schema;
mod state_dir;
mod statements;
mod writer;

use std::sync::Arc;

use rusqlite::params;
use serde_json::Value;

pub use self::error::StoreError;
pub use self::state_dir::{Holder, StateDir};

use self::check::{Check, Damage};
use self::reader::Readers;
use self::writer::{Write, Writer};
use crate::engine::ports::{Boxed, Journal, JournalError, Sessions};
use crate::fleet::envelope::Envelope;
use crate::fleet::ids::{RunId, TurnId};
use crate::fleet::record::{Event, Record, Saved};
use crate::fleet::run::{FinishedStep, Run, Step};
use crate::fleet::time::Time;
use crate::fleet::turn::Turn;

/// The store of a fleet. Dropping it waits until everything that was asked for is stored.
pub struct Store {
    // Dropped in this order: SQLite tidies up when the last connection, the writer's, is closed.
    _check: Option<Check>,
    readers: Readers,
    writer: Writer,
    _state: StateDir,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreOptions {
    /// The most pages (of 4 KiB) that the file may have; a commit beyond them finds the disk full. Default: no limit.
    pub max_pages: Option<u32>,
    /// The largest file, in bytes, that is checked for damage before it is opened; a larger one is checked beside the work.
    /// Default: 32 MiB.
    pub checked_first: Option<u64>,
}

impl Store {
    /// Opens the store of a state directory, makes it where it is missing, and checks it.
    pub fn open(state: &StateDir) -> Result<Arc<Store>, StoreError> {
        Store::open_with(state, StoreOptions::default())
    }

    /// Opens the store with a limit.
    pub fn open_with(state: &StateDir, options: StoreOptions) -> Result<Arc<Store>, StoreError> {
        let file = state.store_file();
        let at_once = options.checked_first.unwrap_or(check::AT_ONCE);
        let (conn, is_checked) = open::for_writing(state, options.max_pages, at_once)?;
        let readers = Readers::start(&file)?;
        let damage = Damage::default();
        let _check = if is_checked { None } else { Some(Check::start(&file, damage.clone())?) };
        let writer = Writer::start(file.clone(), conn, damage).map_err(|error| StoreError::of_file(&file, &error))?;
        Ok(Arc::new(Store { _check, readers, writer, _state: state.clone() }))
    }
}

impl Journal for Store {
    fn commit(&self, records: Vec<Record>) -> Boxed<Result<(), JournalError>> {
        if records.is_empty() {
            return Box::pin(async { Ok(()) });
        }
        self.writer.write(Write::Records(records))
    }

    fn load(&self) -> Boxed<Result<Saved, JournalError>> {
        self.readers.ask("load", queries::saved)
    }

    fn prompt(&self, turn: TurnId) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        let sql = "SELECT text FROM prompts WHERE turn = ?1";
        self.readers.ask("read a prompt", move |db| queries::text(db, sql, turn.0 as i64))
    }

    fn envelope(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        let sql = "SELECT row, turn FROM envelopes WHERE turn = ?1";
        self.readers.ask("read an envelope", move |db| Ok(queries::one(db, "envelopes", sql, turn.0)?.map(Arc::new)))
    }

    fn late(&self, turn: TurnId) -> Boxed<Result<Option<Arc<Envelope>>, JournalError>> {
        let sql = "SELECT row, turn FROM late WHERE turn = ?1";
        self.readers.ask("read a late reply", move |db| Ok(queries::one(db, "late", sql, turn.0)?.map(Arc::new)))
    }

    fn turn(&self, turn: TurnId) -> Boxed<Result<Option<Turn>, JournalError>> {
        let sql = "SELECT row, id FROM turns WHERE id = ?1";
        self.readers.ask("read a turn", move |db| queries::one(db, "turns", sql, turn.0))
    }

    fn run(&self, run: RunId) -> Boxed<Result<Option<Run>, JournalError>> {
        let sql = "SELECT row, id FROM runs WHERE id = ?1";
        self.readers.ask("read a run", move |db| queries::one(db, "runs", sql, run.0))
    }

    fn runs(&self, limit: usize) -> Boxed<Result<Vec<Run>, JournalError>> {
        let sql = "SELECT row, id FROM runs ORDER BY id DESC LIMIT ?1";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.readers.ask("list the runs", move |db| queries::rows(db, "runs", sql, params![limit]))
    }

    fn job(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        let sql = "SELECT value, run FROM jobs WHERE run = ?1";
        self.readers.ask("read a job", move |db| Ok(queries::one(db, "jobs", sql, run.0)?.map(Arc::new)))
    }

    fn run_value(&self, run: RunId) -> Boxed<Result<Option<Arc<Value>>, JournalError>> {
        let sql = "SELECT value, run FROM run_values WHERE run = ?1";
        self.readers.ask("read a run's value", move |db| Ok(queries::one(db, "run_values", sql, run.0)?.map(Arc::new)))
    }

    fn finished_steps(&self, run: RunId) -> Boxed<Result<Vec<FinishedStep>, JournalError>> {
        self.readers.ask("read finished steps", move |db| queries::finished_steps(db, run))
    }

    fn steps(&self, run: RunId) -> Boxed<Result<Vec<Step>, JournalError>> {
        let sql = "SELECT row, path FROM steps WHERE run = ?1 ORDER BY began";
        self.readers.ask("read steps", move |db| queries::rows(db, "steps", sql, params![run.0 as i64]))
    }

    fn events(&self, turn: TurnId) -> Boxed<Result<Vec<Event>, JournalError>> {
        self.readers.ask("read events", move |db| queries::events(db, turn))
    }

    fn save_sources(&self, hash: String, sources: Arc<str>) -> Boxed<Result<(), JournalError>> {
        self.writer.write(Write::Sources(hash, sources))
    }

    fn sources(&self, hash: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        let sql = "SELECT text FROM sources WHERE hash = ?1";
        self.readers.ask("read sources", move |db| queries::text(db, sql, hash))
    }

    fn prune(&self, before: Time, keep: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        self.writer.prune(before, keep)
    }
}

impl Sessions for Store {
    fn session(&self, id: String) -> Boxed<Result<Option<Arc<str>>, JournalError>> {
        let sql = "SELECT row FROM sessions WHERE id = ?1";
        self.readers.ask("read a session", move |db| queries::text(db, sql, id))
    }

    fn save_session(&self, id: String, at: Time, row: Option<Arc<str>>) -> Boxed<Result<(), JournalError>> {
        self.writer.write(Write::Session(id, at, row))
    }
}
