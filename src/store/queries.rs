//! What is read, and how a row becomes a thing of the fleet again.
//! Nothing is written here, and no row is judged: what its content means is the fleet's matter.

use std::sync::Arc;

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{OptionalExtension, Row, ToSql, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reader::ReadError;
use super::statements::{Statements, int};
use crate::fleet::budget::Budget;
use crate::fleet::ids::{RoleName, RunId, TurnId};
use crate::fleet::record::{Event, Saved};
use crate::fleet::run::{FinishedStep, Step};
use crate::fleet::time::Time;

/// Reads everything that is needed to go on, as of one moment.
pub(super) fn saved(statements: &mut Statements<'_>) -> Result<Saved, ReadError> {
    let _one_moment = statements.conn().unchecked_transaction()?;
    Ok(Saved {
        next: meta(statements, "next")?,
        generation: meta(statements, "generation")?,
        turns: rows(statements, "turns", "SELECT row, id FROM turns WHERE state <> 'collected' ORDER BY id", &[])?,
        workers: rows(statements, "workers", "SELECT row, name FROM workers ORDER BY name", &[])?,
        messages: rows(statements, "messages", "SELECT row, id FROM messages ORDER BY id", &[])?,
        questions: rows(statements, "questions", "SELECT row, id FROM questions ORDER BY id", &[])?,
        runs: rows(statements, "runs", "SELECT row, id FROM runs WHERE state <> 'collected' ORDER BY id", &[])?,
        steps: rows(statements, "steps", STEPS_OPEN, &[])?,
        keys: rows(statements, "keys", "SELECT row, key FROM keys ORDER BY rowid", &[])?,
        notes: notes(statements)?,
        parked: parked(statements)?,
        budgets: budgets(statements)?,
        paused: rows(statements, "paused", "SELECT row, one FROM paused", &[])?.pop(),
        seat: rows(statements, "seat", "SELECT row, one FROM seat", &[])?.pop(),
        drafts: drafts(statements)?,
    })
}

/// Reads one text by its number.
pub(super) fn text(
    statements: &mut Statements<'_>,
    sql: &'static str,
    key: impl ToSql,
) -> Result<Option<Arc<str>>, ReadError> {
    Ok(statements.get(sql)?.query_row(params![key], |row| Ok(row.get_ref(0)?.as_str()?.into())).optional()?)
}

/// Reads one row by its number.
pub(super) fn one<T: DeserializeOwned>(
    statements: &mut Statements<'_>,
    table: &'static str,
    sql: &'static str,
    number: u64,
) -> Result<Option<T>, ReadError> {
    Ok(rows(statements, table, sql, params![int(number)])?.pop())
}

/// Reads all rows of a query whose first column is JSON and whose second one names the row.
pub(super) fn rows<T: DeserializeOwned>(
    statements: &mut Statements<'_>,
    table: &'static str,
    sql: &'static str,
    values: &[&dyn ToSql],
) -> Result<Vec<T>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get(sql)?.query(values)?;
    while let Some(row) = rows.next()? {
        found.push(parse(table, row, 0, 1)?);
    }
    Ok(found)
}

/// Reads the finished steps of a run with their values, in the order in which they finished.
pub(super) fn finished_steps(statements: &mut Statements<'_>, run: RunId) -> Result<Vec<FinishedStep>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get(STEPS_FINISHED)?.query(params![int(run.0)])?;
    while let Some(row) = rows.next()? {
        let step: Step = parse("steps", row, 0, 2)?;
        let value: Value = parse("step_values", row, 1, 2)?;
        found.push(FinishedStep { step: Arc::new(step), value: Arc::new(value) });
    }
    Ok(found)
}

/// Reads the events of a turn, oldest first.
pub(super) fn events(statements: &mut Statements<'_>, turn: TurnId) -> Result<Vec<Event>, ReadError> {
    rows(statements, "events", "SELECT row, seq FROM events WHERE turn = ?1 ORDER BY seq", params![int(turn.0)])
}

fn meta(statements: &mut Statements<'_>, name: &str) -> Result<u64, ReadError> {
    let sql = "SELECT value FROM meta WHERE name = ?1";
    let value: Option<i64> = statements.get(sql)?.query_row(params![name], |row| row.get(0)).optional()?;
    Ok(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
}

/// A note's name and its value.
type Note = (Arc<str>, Arc<Value>);

fn notes(statements: &mut Statements<'_>) -> Result<Vec<Note>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get("SELECT value, name FROM notes ORDER BY name")?.query([])?;
    while let Some(row) = rows.next()? {
        let value: Value = parse("notes", row, 0, 1)?;
        let name: String = row.get(1)?;
        found.push((name.into(), Arc::new(value)));
    }
    Ok(found)
}

fn parked(statements: &mut Statements<'_>) -> Result<Vec<(RoleName, Time)>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get("SELECT role, until FROM parked ORDER BY role")?.query([])?;
    while let Some(row) = rows.next()? {
        let role: String = row.get(0)?;
        let until: i64 = row.get(1)?;
        found.push((role.into(), Time(u64::try_from(until).unwrap_or(0))));
    }
    Ok(found)
}

fn budgets(statements: &mut Statements<'_>) -> Result<Vec<(RoleName, Budget)>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get("SELECT row, role FROM budgets ORDER BY role")?.query([])?;
    while let Some(row) = rows.next()? {
        let role: String = row.get(1)?;
        found.push((role.into(), parse("budgets", row, 0, 1)?));
    }
    Ok(found)
}

fn drafts(statements: &mut Statements<'_>) -> Result<Vec<(TurnId, Arc<str>)>, ReadError> {
    let mut found = Vec::new();
    let mut rows = statements.get("SELECT turn, text FROM drafts ORDER BY turn")?.query([])?;
    while let Some(row) = rows.next()? {
        let turn: i64 = row.get(0)?;
        found.push((
            TurnId(u64::try_from(turn).unwrap_or(0)),
            row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?.into(),
        ));
    }
    Ok(found)
}

fn parse<T: DeserializeOwned>(table: &'static str, row: &Row<'_>, column: usize, name: usize) -> Result<T, ReadError> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    serde_json::from_str(text).map_err(|error| {
        let row = row.get::<_, Name>(name).map_or_else(|_| "?".into(), |name| name.0);
        ReadError::Row { table, row, error }
    })
}

/// What a row is found with: a number or a word.
struct Name(String);

impl FromSql for Name {
    fn column_result(value: ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        match value {
            ValueRef::Integer(n) => Ok(Name(n.to_string())),
            other => other.as_str().map(|text| Name(text.into())),
        }
    }
}

const STEPS_OPEN: &str = "SELECT steps.row, steps.path FROM runs JOIN steps ON steps.run = runs.id \
    WHERE runs.state <> 'collected' AND runs.state = 'open' ORDER BY steps.began";
const STEPS_FINISHED: &str = "SELECT steps.row, step_values.value, steps.path FROM steps \
    JOIN step_values ON step_values.run = steps.run AND step_values.path = steps.path \
    WHERE steps.run = ?1 AND steps.seq IS NOT NULL ORDER BY steps.seq";
