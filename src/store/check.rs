//! The check of a large file, beside the work, since a start must not wait until every page of it was read.
//! What it finds stops the writer: nothing is accepted into a file that is damaged. Nothing is mended here.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, InterruptHandle};

use super::error::StoreError;
use super::open;

/// Files up to this size are checked before they are opened: that takes about a tenth of a second.
pub(super) const AT_ONCE: u64 = 32 << 20;

/// What a check has found, once it has.
pub(super) type Damage = Arc<OnceLock<String>>;

/// A check under way; it is broken off when it is dropped.
pub(super) struct Check {
    interrupt: InterruptHandle,
    thread: Option<JoinHandle<()>>,
}

impl Check {
    /// Begins to look through a file.
    pub(super) fn start(file: &Path, damage: Damage) -> Result<Check, StoreError> {
        let conn = open::for_reading(file)?;
        let interrupt = conn.get_interrupt_handle();
        let shown = file.display().to_string();
        let thread = std::thread::Builder::new()
            .name("store-check".into())
            .spawn(move || match first_damage(&conn) {
                Ok(None) => tracing::debug!("the store is whole"),
                Ok(Some(found)) => {
                    tracing::error!(file = shown, found, "the store is damaged; nothing more is written into it");
                    let _ = damage.set(found);
                }
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {}
                Err(error) => tracing::warn!(file = shown, %error, "the store could not be checked"),
            })
            .map_err(|error| StoreError::of_file(file, &error))?;
        Ok(Check { interrupt, thread: Some(thread) })
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // An interrupt that comes before the check has begun is not heard.
        while !thread.is_finished() {
            self.interrupt.interrupt();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        if thread.join().is_err() {
            tracing::error!("the check of the store had panicked");
        }
    }
}

/// Returns what is found first in a file that is damaged.
pub(super) fn first_damage(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = match conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => error.to_string(),
        other => other?,
    };
    Ok((found != "ok").then(|| found.replace('\n', " ")))
}
