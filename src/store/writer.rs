//! The one thread that writes: it takes everything that waits, stores it in one transaction, and only then answers.
//!
//! Old history is dropped between commits, a piece at a time, so that no send waits for it. Reading is not done here.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, params};
use tokio::sync::{mpsc, oneshot};

use super::check::Damage;
use super::error::journal_error;
use super::open::BUSY;
use super::place::Place;
use super::prune::Prune;
use super::rows::{self, RowError};
use super::statements::{Statements, int};
use crate::engine::ports::{Boxed, JournalError};
use crate::fleet::ids::TurnId;
use crate::fleet::record::Record;
use crate::fleet::time::Time;

/// How many requests may wait; a further one waits in its caller until there is room.
const WAITING: usize = 256;
/// How many requests share one transaction at most, so that the first of them is not held up without bound.
const GROUP: usize = 256;

/// What the writer is asked to store, all or nothing.
pub(super) enum Write {
    /// The records of one or more steps.
    Records(Vec<Record>),
    /// The sources of a charter.
    Sources(String, Arc<str>),
    /// The row of a session, or none any more.
    Session(String, Time, Option<Arc<str>>),
}

/// The handle of the writer thread; the thread ends, with everything stored that was asked before, when it is dropped.
pub(super) struct Writer {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(file: PathBuf, conn: Connection, damage: Damage) -> std::io::Result<Writer> {
        let (orders, waiting) = mpsc::channel(WAITING);
        let place = Place::of(&file)?;
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(move || {
            Work { file, place, damage, waiting, held: None, prunes: Vec::new(), in_doubt: false }.go_on(&conn)
        })?;
        Ok(Writer { orders: Some(orders), thread: Some(thread) })
    }

    /// Asks at once, so that requests are stored in the order of the calls, also when the caller goes away; beyond
    /// `WAITING` of them one is asked for when its future is polled. Returns what becomes of it.
    pub(super) fn write(&self, write: Write) -> Boxed<Result<(), JournalError>> {
        let (done, answer) = oneshot::channel();
        self.order(Order::Write(Request { write, done }), answer)
    }

    /// Drops what is older than a moment; returns how many turns, runs and events that were.
    pub(super) fn prune(&self, before: Time, keep: Vec<TurnId>) -> Boxed<Result<u64, JournalError>> {
        let (done, answer) = oneshot::channel();
        self.order(Order::Prune(Prune::new(before, keep, done)), answer)
    }

    fn order<T: Send + 'static>(
        &self,
        order: Order,
        answer: oneshot::Receiver<Result<T, JournalError>>,
    ) -> Boxed<Result<T, JournalError>> {
        let Some(orders) = self.orders.clone() else { return Box::pin(async { Err(stopped()) }) };
        let asked = orders.try_send(order);
        Box::pin(async move {
            match asked {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(order)) => orders.send(order).await.map_err(|_| stopped())?,
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(stopped()),
            }
            drop(orders);
            answer.await.unwrap_or_else(|_| Err(stopped()))
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had panicked");
        }
    }
}

enum Order {
    Write(Request),
    Prune(Prune),
}

struct Request {
    write: Write,
    done: oneshot::Sender<Result<(), JournalError>>,
}

/// What the writer thread owns.
struct Work {
    file: PathBuf,
    place: Place,
    damage: Damage,
    waiting: mpsc::Receiver<Order>,
    /// An order that was taken from the channel but did not fit the group before it.
    held: Option<Order>,
    prunes: Vec<Prune>,
    /// True while the last commit failed in a way that may have left its frames in the write-ahead file.
    in_doubt: bool,
}

impl Work {
    fn go_on(mut self, conn: &Connection) {
        let mut statements = Statements::new(conn);
        while let Some(order) = self.next() {
            match order {
                Some(Order::Write(first)) => self.write_group(first, &mut statements),
                Some(Order::Prune(prune)) => self.prunes.push(prune),
                None => self.prune_a_piece(&mut statements),
            }
        }
    }

    /// Returns the next order, `Some(None)` when there is only pruning to do, and `None` when the store was dropped.
    fn next(&mut self) -> Option<Option<Order>> {
        if let Some(held) = self.held.take() {
            return Some(Some(held));
        }
        if self.prunes.is_empty() {
            return self.waiting.blocking_recv().map(Some);
        }
        match self.waiting.try_recv() {
            Ok(order) => Some(Some(order)),
            Err(mpsc::error::TryRecvError::Empty) => Some(None),
            Err(mpsc::error::TryRecvError::Disconnected) => None,
        }
    }

    fn write_group(&mut self, first: Request, statements: &mut Statements<'_>) {
        let mut group = vec![first];
        while group.len() < GROUP {
            match self.waiting.try_recv() {
                Ok(Order::Write(request)) => group.push(request),
                Ok(other) => {
                    self.held = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let result = self.commit(statements, |statements| write_all(&group, statements));
        for request in group {
            // A caller that no longer waits is no reason to undo what is stored.
            request.done.send(result.clone()).ok();
        }
    }

    fn prune_a_piece(&mut self, statements: &mut Statements<'_>) {
        let Some(mut prune) = self.prunes.pop() else { return };
        match self.commit(statements, |statements| Ok(prune.piece(statements)?)) {
            Ok(true) => self.prunes.push(prune),
            Ok(false) => {
                shorten(statements.conn());
                prune.finish(Ok(()));
            }
            Err(error) => prune.finish(Err(error)),
        }
    }

    /// Does some work in a transaction, all or nothing.
    fn commit<T>(
        &mut self,
        statements: &mut Statements<'_>,
        work: impl FnOnce(&mut Statements<'_>) -> Result<T, RowError>,
    ) -> Result<T, JournalError> {
        let conn = statements.conn();
        if let Err(why) = self.usable() {
            tracing::error!(%why, "the store does not commit");
            return Err(JournalError::Failed(why));
        }
        let attempt = (|| {
            if self.in_doubt {
                overwrite(conn)?;
                self.in_doubt = false;
            }
            statements.get("BEGIN IMMEDIATE")?.execute([])?;
            let value = work(statements)?;
            statements.get("COMMIT")?.execute([])?;
            Ok(value)
        })();
        attempt.map_err(|error| {
            self.undo(conn);
            let error = match error {
                RowError::Sqlite(error) => {
                    self.in_doubt |= error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
                    if self.in_doubt && overwrite(conn).is_ok() {
                        self.in_doubt = false;
                    }
                    journal_error(&self.file, "commit", &error)
                }
                RowError::Json(error) => JournalError::Failed(format!("a record could not be stored: {error}")),
            };
            tracing::error!(%error, "the store did not commit");
            error
        })
    }

    /// What is written into a file that nobody can open again, or that is damaged, is not stored.
    fn usable(&self) -> Result<(), String> {
        self.place.check()?;
        match self.damage.get() {
            None => Ok(()),
            Some(found) => Err(format!("the store {} is damaged: {found}", self.file.display())),
        }
    }

    fn undo(&self, conn: &Connection) {
        // SQLite has often rolled back by itself already.
        if !conn.is_autocommit()
            && let Err(error) = conn.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "the store could not roll back");
        }
    }
}

fn write_all(group: &[Request], statements: &mut Statements<'_>) -> Result<(), RowError> {
    // All requests are one transaction, so a later one's row replaces an earlier one's here as well.
    let records = group.iter().filter_map(|request| match &request.write {
        Write::Records(records) => Some(records),
        Write::Sources(..) | Write::Session(..) => None,
    });
    rows::write(records.flatten(), statements)?;
    for request in group {
        match &request.write {
            Write::Records(_) => {}
            Write::Sources(hash, text) => {
                // Written anew, so that the sources in use are always the newest and survive a prune.
                statements.get("DELETE FROM sources WHERE hash = ?1")?.execute(params![hash])?;
                statements.get("INSERT INTO sources (hash, text) VALUES (?1, ?2)")?.execute(params![hash, &**text])?;
            }
            Write::Session(id, at, Some(row)) => {
                statements.get(SESSION)?.execute(params![id, int(at.0), &**row])?;
            }
            Write::Session(id, _, None) => {
                statements.get("DELETE FROM sessions WHERE id = ?1")?.execute(params![id])?;
            }
        }
    }
    Ok(())
}

const SESSION: &str = "INSERT INTO sessions (id, at, row) VALUES (?1, ?2, ?3) ON CONFLICT DO \
    UPDATE SET at = excluded.at, row = excluded.row";

/// Commits next to nothing. After a failed sync the frames of a refused commit may lie in the write-ahead file with
/// valid sums, and a crash would bring them back; the next commit is written over them.
fn overwrite(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "INSERT INTO meta (name, value) VALUES ('overwritten', 1) ON CONFLICT DO UPDATE SET value = value + 1",
    )
}

/// Brings the write-ahead file's content home and cuts it. Where a reader is in the way, nobody waits for it: a later
/// commit does it.
fn shorten(conn: &Connection) {
    let cut = (|| {
        conn.busy_timeout(Duration::ZERO)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    })();
    if let Err(error) = cut.and(conn.busy_timeout(BUSY)) {
        tracing::debug!(%error, "the write-ahead file was not cut");
    }
}

fn stopped() -> JournalError {
    JournalError::Failed("the store has stopped".into())
}
