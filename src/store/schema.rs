//! The tables, as a list of migrations: entry n leads from version n to n + 1. A released entry is never changed.
//!
//! A row is kept as the fleet holds it, as JSON; beside it stand only the columns that a query needs. Large texts
//! have tables of their own, so that a row that changes often stays small.

use rusqlite::Connection;

/// Marks a file as a fleet's store ("flee").
pub(super) const APPLICATION: i64 = 0x666c_6565;

/// The version that this program reads and writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

const MIGRATIONS: &[&str] = &[TABLES, INDEXES_AND_PARKED, SEAT_AND_SESSIONS, BUDGETS_AND_PAUSE, LATE, RUNS_BY_SOURCES];

const TABLES: &str = "
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE turns (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at INTEGER NOT NULL, prompt_of INTEGER NOT NULL, row TEXT NOT NULL) STRICT;
CREATE TABLE prompts (turn INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE envelopes (turn INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT;
CREATE TABLE workers (name TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT;
CREATE TABLE messages (id INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT;
CREATE TABLE questions (id INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT;
CREATE TABLE runs (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at INTEGER NOT NULL, sources TEXT NOT NULL, row TEXT NOT NULL) STRICT;
CREATE TABLE jobs (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE run_values (run INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE steps (began INTEGER PRIMARY KEY, run INTEGER NOT NULL, path TEXT NOT NULL, seq INTEGER, row TEXT NOT NULL, UNIQUE (run, path)) STRICT;
CREATE TABLE step_values (run INTEGER NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, path)) STRICT;
CREATE TABLE keys (sender TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (sender, key)) STRICT;
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sources (seq INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, turn INTEGER, run INTEGER, worker TEXT, row TEXT NOT NULL) STRICT;
";

/// Roles can be parked. And a start reads what is open, and history is dropped by age: neither may walk through all that is kept.
const INDEXES_AND_PARKED: &str = "
CREATE TABLE parked (role TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT;
CREATE INDEX turns_open ON turns (id) WHERE state <> 'collected';
CREATE INDEX turns_old ON turns (at) WHERE state = 'collected';
CREATE INDEX turns_retries ON turns (prompt_of) WHERE prompt_of <> id;
CREATE INDEX runs_open ON runs (id) WHERE state <> 'collected';
CREATE INDEX runs_old ON runs (at) WHERE state = 'collected';
CREATE INDEX events_of_turn ON events (turn) WHERE turn IS NOT NULL;
";

/// The leader's seat, the workers' own replies, and the sessions of MCP clients.
const SEAT_AND_SESSIONS: &str = "
CREATE TABLE seat (one INTEGER PRIMARY KEY CHECK (one = 1), row TEXT NOT NULL) STRICT;
CREATE TABLE drafts (turn INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE sessions (id TEXT PRIMARY KEY, at INTEGER NOT NULL, row TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// What went wrong with the sessions of roles, and that nothing is handed out.
const BUDGETS_AND_PAUSE: &str = "
CREATE TABLE budgets (role TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT;
CREATE TABLE paused (one INTEGER PRIMARY KEY CHECK (one = 1), row TEXT NOT NULL) STRICT;
";

/// Replies that came after the end of their turns.
const LATE: &str = "
CREATE TABLE late (turn INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT;
";

/// Sources are kept as long as a run names them, and history is not walked through to see that.
const RUNS_BY_SOURCES: &str = "
CREATE INDEX runs_sources ON runs (sources);
";

/// Leads a file of any earlier version to the present one; each version is one transaction.
pub(super) fn migrate(conn: &Connection, from: i64) -> rusqlite::Result<()> {
    for (version, step) in (1..).zip(MIGRATIONS).skip(usize::try_from(from).unwrap_or(0)) {
        let tx = conn.unchecked_transaction()?;
        tx.execute_batch(step)?;
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", version)?;
        tx.commit()?;
        tracing::debug!(version, "the store has a new schema");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns everything that stands in the schema of a file.
    fn of(conn: &Connection) -> Vec<(String, String)> {
        let mut rows = conn.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").expect("SQL");
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("it is read");
        rows.collect::<Result<_, _>>().expect("rows")
    }

    fn version(conn: &Connection) -> i64 {
        conn.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number")
    }

    #[test]
    fn every_earlier_version_is_led_to_the_present_one_also_by_a_second_try() {
        let new = Connection::open_in_memory().expect("memory");
        migrate(&new, 0).expect("a new one");
        for from in 0..=MIGRATIONS.len() {
            let old = Connection::open_in_memory().expect("memory");
            for step in &MIGRATIONS[..from] {
                old.execute_batch(step).expect("a step");
            }
            let from = from as i64;
            old.pragma_update(None, "user_version", from).expect("a version");
            if from < VERSION {
                // Something stands in the way of the last step: what was done before it counts, and nothing of it.
                old.execute_batch("CREATE TABLE runs_sources (other TEXT)").expect("another table");
                migrate(&old, from).expect_err("the last step fails");
                assert_eq!(version(&old), VERSION - 1, "from {from}");
                old.execute_batch("DROP TABLE runs_sources").expect("gone");
            }
            migrate(&old, version(&old)).expect("the second try");
            assert_eq!((version(&old), of(&old)), (VERSION, of(&new)), "from {from}");
        }
    }
}
