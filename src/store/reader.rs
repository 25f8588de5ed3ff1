//! The threads that read, each with a connection of its own that cannot write. A read begins after it was asked, so
//! it sees everything that was committed before. What is read is in `queries`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use super::error::{StoreError, journal_error};
use super::open;
use super::statements::Statements;
use crate::engine::ports::{Boxed, JournalError};

const THREADS: usize = 2;
/// How many reads may wait for a thread; a further one waits in its caller.
const WAITING: usize = 64;

/// The handles of the reading threads; they end when it is dropped.
pub(super) struct Readers {
    file: PathBuf,
    queues: Vec<mpsc::Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
    turn: AtomicUsize,
}

type Question = Box<dyn FnOnce(&mut Statements<'_>) + Send>;

/// Why something was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// SQLite's answer.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A row that is not what this version writes.
    #[error("row {row} of {table} has another form: {error}")]
    Row {
        /// The table.
        table: &'static str,
        /// Which row, by what it is found with.
        row: String,
        /// What is wrong.
        error: serde_json::Error,
    },
}

impl Readers {
    pub(super) fn start(file: &Path) -> Result<Readers, StoreError> {
        let mut readers =
            Readers { file: file.into(), queues: Vec::new(), threads: Vec::new(), turn: AtomicUsize::new(0) };
        for n in 1..=THREADS {
            let conn = open::for_reading(file)?;
            let (queue, mut waiting) = mpsc::channel::<Question>(WAITING);
            let thread = std::thread::Builder::new()
                .name(format!("store-reader-{n}"))
                .spawn(move || {
                    let mut statements = Statements::new(&conn);
                    while let Some(question) = waiting.blocking_recv() {
                        question(&mut statements);
                    }
                })
                .map_err(|error| StoreError::of_file(file, &error))?;
            readers.queues.push(queue);
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Asks one of the threads.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        tried: &'static str,
        read: impl FnOnce(&mut Statements<'_>) -> Result<T, ReadError> + Send + 'static,
    ) -> Boxed<Result<T, JournalError>> {
        let queue = self.queues[self.turn.fetch_add(1, Ordering::Relaxed) % self.queues.len()].clone();
        let file = self.file.clone();
        Box::pin(async move {
            let stopped = || JournalError::Failed(format!("the store could not {tried}: it has stopped"));
            let (done, answer) = oneshot::channel();
            let question: Question = Box::new(move |statements| {
                let result = read(statements).map_err(|error| match error {
                    ReadError::Sqlite(error) => journal_error(&file, tried, &error),
                    other => JournalError::Failed(format!("the store {} could not {tried}: {other}", file.display())),
                });
                // A caller that no longer waits needs no answer.
                done.send(result).ok();
            });
            queue.send(question).await.map_err(|_| stopped())?;
            drop(queue);
            answer.await.unwrap_or_else(|_| Err(stopped()))
        })
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queues.clear();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader of the store had panicked");
            }
        }
    }
}
