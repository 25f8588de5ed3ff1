//! Prepared statements of one connection, each compiled once.
//! No SQL of its own may come in here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Statement};

/// The prepared statements of a connection.
pub(super) struct Statements<'c> {
    conn: &'c Connection,
    ready: HashMap<&'static str, Statement<'c>>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(conn: &'c Connection) -> Self {
        Statements { conn, ready: HashMap::new() }
    }

    /// Returns the connection itself, for transactions and pragmas.
    pub(super) fn conn(&self) -> &'c Connection {
        self.conn
    }

    /// Returns the statement, compiled at its first use.
    pub(super) fn get(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        match self.ready.entry(sql) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(self.conn.prepare(sql)?)),
        }
    }
}

/// Returns a number as SQLite keeps it. Ids, counters and moments stay far below the bound.
pub(super) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
