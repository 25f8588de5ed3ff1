//! Opening the file: every check before the first write, then the settings that make a commit durable.
//!
//! A file that is not ours, newer or damaged is left exactly as it was found. Nothing is ever deleted here.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::check::first_damage;
use super::error::StoreError;
use super::schema::{APPLICATION, VERSION, migrate};
use super::state_dir::StateDir;

/// How long a statement waits for a lock that some other program, such as a person's SQL shell, holds.
pub(super) const BUSY: Duration = Duration::from_secs(2);

/// Opens the file for the writer, makes it where it is missing, and brings its schema up to date. One that is larger than
/// `at_once` is not checked here; returns whether it was.
pub(super) fn for_writing(
    state: &StateDir,
    max_pages: Option<u32>,
    at_once: u64,
) -> Result<(Connection, bool), StoreError> {
    let file = &*state.store_file();
    create_private(file)?;
    check_header(file)?;
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(file, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags).map_err(failed)?;
    conn.busy_timeout(BUSY).map_err(failed)?;
    let version = check_version(file, &conn)?;
    let is_checked = fs::metadata(file).map_err(|error| StoreError::of_file(file, &error))?.len() <= at_once;
    if is_checked {
        check_integrity(file, &conn)?;
    }
    if version == 0 {
        // Before the schema is there: should this be cut short, the next start finds the file as new as it is now.
        state.set_old_files_aside()?;
    }
    settings(&conn).map_err(failed)?;
    migrate(&conn, version).map_err(failed)?;
    if let Some(pages) = max_pages {
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    Ok((conn, is_checked))
}

/// Opens the file for a reader; the writer has opened it before.
pub(super) fn for_reading(file: &Path) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::of_sqlite(file, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags).map_err(failed)?;
    conn.busy_timeout(BUSY).map_err(failed)?;
    conn.pragma_update(None, "cache_size", -1000).map_err(failed)?;
    Ok(conn)
}

/// Makes the file ourselves: SQLite would make it readable for everybody, and gives its companions the same mode.
fn create_private(file: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let synced = match made {
        // The name of the new file must survive a power failure, as its content will.
        Ok(_) => File::open(file.parent().unwrap_or(file)).and_then(|dir| dir.sync_all()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    };
    synced.map_err(|error| StoreError::of_file(file, &error))
}

fn check_header(file: &Path) -> Result<(), StoreError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut head = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(MAGIC.len() as u64).read_to_end(&mut head))
        .map_err(|error| StoreError::of_file(file, &error))?;
    if head.is_empty() || head == MAGIC {
        return Ok(());
    }
    Err(StoreError::NotOurs { file: file.into(), why: "it does not begin as an SQLite file does".into() })
}

fn check_version(file: &Path, conn: &Connection) -> Result<i64, StoreError> {
    let number = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|error| StoreError::of_sqlite(file, &error))
    };
    let version = number("PRAGMA user_version")?;
    let application = number("PRAGMA application_id")?;
    let is_new = version == 0 && application == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0;
    if !is_new && application != APPLICATION {
        return Err(StoreError::NotOurs { file: file.into(), why: "it is an SQLite file of another program".into() });
    }
    if version > VERSION {
        return Err(StoreError::Newer { file: file.into(), found: version, known: VERSION });
    }
    Ok(version)
}

fn check_integrity(file: &Path, conn: &Connection) -> Result<(), StoreError> {
    match first_damage(conn).map_err(|error| StoreError::of_sqlite(file, &error))? {
        None => Ok(()),
        Some(found) => Err(StoreError::Damaged { file: file.into(), found }),
    }
}

fn settings(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    // A large write-ahead file is cut again once its content has reached the file.
    conn.pragma_update_and_check(None, "journal_size_limit", 16 << 20, |_| Ok(()))?;
    conn.pragma_update(None, "temp_store", "MEMORY")
}
