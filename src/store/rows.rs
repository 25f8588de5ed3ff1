//! How each record becomes a row, and which records a later one replaces. Written inside the writer's transaction;
//! no transaction is begun or ended here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{ToSql, params};
use serde::Serialize;

use super::statements::{Statements, int};
use crate::fleet::caller::Sender;
use crate::fleet::ids::{MessageId, QuestionId, RunId, TurnId};
use crate::fleet::record::{Event, Record};
use crate::fleet::run::Run;
use crate::fleet::turn::Turn;

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    /// SQLite's answer.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A row that has no JSON form; a fault of fleetd.
    #[error("a row has no JSON form: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes records in order; of several that fill the same place only the last, where the first one stood.
pub(super) fn write<'r>(
    records: impl Iterator<Item = &'r Record>,
    statements: &mut Statements<'_>,
) -> Result<(), RowError> {
    for record in last_of_each(records) {
        write_one(record, statements)?;
    }
    Ok(())
}

/// The place in the store that a record fills.
#[derive(PartialEq, Eq, Hash)]
enum Place<'r> {
    Next,
    Generation,
    Turn(TurnId),
    Prompt(TurnId),
    Envelope(TurnId),
    Worker(&'r str),
    Message(MessageId),
    Question(QuestionId),
    Run(RunId),
    Job(RunId),
    RunValue(RunId),
    Step(RunId, &'r str),
    StepValue(RunId, &'r str),
    Key(Sender, &'r str),
    Note(&'r str),
    Parked(&'r str),
    Seat,
    Draft(TurnId),
    Late(TurnId),
    Budget(&'r str),
    Paused,
}

/// Events are only ever added, so they fill no place.
fn place(record: &Record) -> Option<Place<'_>> {
    Some(match record {
        Record::Next(_) => Place::Next,
        Record::Generation(_) => Place::Generation,
        Record::Turn(turn) => Place::Turn(turn.id),
        Record::Prompt(turn, _) => Place::Prompt(*turn),
        Record::Envelope(envelope) => Place::Envelope(envelope.turn),
        Record::Worker(worker) => Place::Worker(worker.name.as_str()),
        Record::WorkerGone(name) => Place::Worker(name.as_str()),
        Record::Message(message) => Place::Message(message.id),
        Record::MessageGone(id) => Place::Message(*id),
        Record::Question(question) => Place::Question(question.id),
        Record::QuestionGone(id) => Place::Question(*id),
        Record::Run(run) => Place::Run(run.id),
        Record::Job(run, _) => Place::Job(*run),
        Record::RunValue(run, _) => Place::RunValue(*run),
        Record::Step(step) => Place::Step(step.run, step.path.as_str()),
        Record::StepGone(run, path) => Place::Step(*run, path.as_str()),
        Record::StepValue(run, path, _) => Place::StepValue(*run, path.as_str()),
        Record::Key(used) => Place::Key(used.sender, used.key.as_str()),
        Record::KeyGone(sender, key) => Place::Key(*sender, key.as_str()),
        Record::Note(name, _) => Place::Note(name),
        Record::Parked(role, _) => Place::Parked(role.as_str()),
        Record::Seat(_) => Place::Seat,
        Record::Draft(turn, _) => Place::Draft(*turn),
        Record::Late(turn, _) => Place::Late(*turn),
        Record::Budget(role, _) => Place::Budget(role.as_str()),
        Record::Paused(_) => Place::Paused,
        Record::Event(_) => return None,
    })
}

/// The position of the first is kept, since new steps are numbered in the order in which they are written.
fn last_of_each<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<&'r Record> {
    let mut kept: Vec<&Record> = Vec::with_capacity(records.size_hint().0);
    let mut filled: HashMap<Place<'r>, usize> = HashMap::new();
    for record in records {
        match place(record).map(|place| filled.entry(place)) {
            Some(Entry::Occupied(earlier)) => kept[*earlier.get()] = record,
            Some(Entry::Vacant(free)) => {
                free.insert(kept.len());
                kept.push(record);
            }
            None => kept.push(record),
        }
    }
    kept
}

fn write_one(record: &Record, statements: &mut Statements<'_>) -> Result<(), RowError> {
    let mut put = |sql: &'static str, values: &[&dyn ToSql]| -> Result<(), RowError> {
        statements.get(sql)?.execute(values)?;
        Ok(())
    };
    match record {
        Record::Next(n) => put(META, params!["next", int(*n)]),
        Record::Generation(n) => put(META, params!["generation", int(*n)]),
        Record::Turn(turn) => put_turn(turn, put),
        Record::Prompt(turn, text) => put(PROMPT, params![int(turn.0), &**text]),
        Record::Envelope(envelope) => put(ENVELOPE, params![int(envelope.turn.0), json(envelope)?]),
        Record::Worker(worker) => put(WORKER, params![worker.name.as_str(), json(worker)?]),
        Record::WorkerGone(name) => put("DELETE FROM workers WHERE name = ?1", params![name.as_str()]),
        Record::Message(message) => put(MESSAGE, params![int(message.id.0), json(message)?]),
        Record::MessageGone(id) => put("DELETE FROM messages WHERE id = ?1", params![int(id.0)]),
        Record::Question(question) => put(QUESTION, params![int(question.id.0), json(question)?]),
        Record::QuestionGone(id) => put("DELETE FROM questions WHERE id = ?1", params![int(id.0)]),
        Record::Run(run) => put_run(run, put),
        Record::Job(run, job) => put(JOB, params![int(run.0), json(job)?]),
        Record::RunValue(run, value) => put(RUN_VALUE, params![int(run.0), json(value)?]),
        Record::Step(step) => put(STEP, params![int(step.run.0), step.path.as_str(), step.seq.map(int), json(step)?]),
        Record::StepGone(run, path) => put(STEP_GONE, params![int(run.0), path.as_str()]),
        Record::StepValue(run, path, value) => put(STEP_VALUE, params![int(run.0), path.as_str(), json(value)?]),
        Record::Key(used) => put(KEY, params![used.sender.to_string(), used.key.as_str(), json(used)?]),
        Record::KeyGone(sender, key) => {
            put("DELETE FROM keys WHERE sender = ?1 AND key = ?2", params![sender.to_string(), key.as_str()])
        }
        Record::Note(name, Some(value)) => put(NOTE, params![&**name, json(value)?]),
        Record::Note(name, None) => put("DELETE FROM notes WHERE name = ?1", params![&**name]),
        Record::Parked(role, Some(until)) => put(PARKED, params![role.as_str(), int(until.0)]),
        Record::Parked(role, None) => put("DELETE FROM parked WHERE role = ?1", params![role.as_str()]),
        Record::Seat(Some(seat)) => put(SEAT, params![json(seat)?]),
        Record::Seat(None) => put("DELETE FROM seat", params![]),
        Record::Late(turn, Some(envelope)) => put(LATE, params![int(turn.0), json(envelope)?]),
        Record::Late(turn, None) => put("DELETE FROM late WHERE turn = ?1", params![int(turn.0)]),
        Record::Draft(turn, Some(text)) => put(DRAFT, params![int(turn.0), &**text]),
        Record::Draft(turn, None) => put("DELETE FROM drafts WHERE turn = ?1", params![int(turn.0)]),
        Record::Budget(role, Some(budget)) => put(BUDGET, params![role.as_str(), json(budget)?]),
        Record::Budget(role, None) => put("DELETE FROM budgets WHERE role = ?1", params![role.as_str()]),
        Record::Paused(Some(pause)) => put(PAUSED, params![json(pause)?]),
        Record::Paused(None) => put("DELETE FROM paused", params![]),
        Record::Event(event) => put_event(event, put),
    }
}

fn put_turn<E: From<serde_json::Error>>(
    turn: &Turn,
    mut put: impl FnMut(&'static str, &[&dyn ToSql]) -> Result<(), E>,
) -> Result<(), E> {
    // The queries and indexes know `collected`; the other words are for people who look into the file.
    let state = turn.state.word();
    put(TURN, params![int(turn.id.0), state, int(turn.since().0), int(turn.prompt_of.0), json(turn)?])
}

fn put_run<E: From<serde_json::Error>>(
    run: &Run,
    mut put: impl FnMut(&'static str, &[&dyn ToSql]) -> Result<(), E>,
) -> Result<(), E> {
    let state = match (run.outcome, run.collected) {
        (None, _) => "open",
        (Some(_), false) => "ended",
        (Some(_), true) => "collected",
    };
    let at = run.ended.unwrap_or(run.started);
    put(RUN, params![int(run.id.0), state, int(at.0), run.generation.hash, json(run)?])
}

fn put_event<E: From<serde_json::Error>>(
    event: &Event,
    mut put: impl FnMut(&'static str, &[&dyn ToSql]) -> Result<(), E>,
) -> Result<(), E> {
    let turn = event.turn.map(|turn| int(turn.0));
    let run = event.run.map(|run| int(run.0));
    let worker = event.worker.as_ref().map(|worker| worker.as_str());
    put(EVENT, params![int(event.at.0), turn, run, worker, json(event)?])
}

fn json<T: Serialize>(row: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(row)
}

const META: &str = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const TURN: &str = "INSERT INTO turns (id, state, at, prompt_of, row) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO \
    UPDATE SET state = excluded.state, at = excluded.at, prompt_of = excluded.prompt_of, row = excluded.row";
const PROMPT: &str = "INSERT INTO prompts (turn, text) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET text = excluded.text";
const ENVELOPE: &str = "INSERT INTO envelopes (turn, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const WORKER: &str = "INSERT INTO workers (name, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const MESSAGE: &str = "INSERT INTO messages (id, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const QUESTION: &str = "INSERT INTO questions (id, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const RUN: &str = "INSERT INTO runs (id, state, at, sources, row) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO \
    UPDATE SET state = excluded.state, at = excluded.at, sources = excluded.sources, row = excluded.row";
const JOB: &str = "INSERT INTO jobs (run, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const RUN_VALUE: &str =
    "INSERT INTO run_values (run, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const STEP: &str = "INSERT INTO steps (run, path, seq, row) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run, path) DO \
    UPDATE SET seq = excluded.seq, row = excluded.row";
const STEP_GONE: &str = "DELETE FROM steps WHERE run = ?1 AND path = ?2 AND seq IS NULL";
const STEP_VALUE: &str = "INSERT INTO step_values (run, path, value) VALUES (?1, ?2, ?3) ON CONFLICT DO \
    UPDATE SET value = excluded.value";
const KEY: &str =
    "INSERT INTO keys (sender, key, row) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET row = excluded.row";
const NOTE: &str = "INSERT INTO notes (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const PARKED: &str =
    "INSERT INTO parked (role, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = excluded.until";
const SEAT: &str = "INSERT INTO seat (one, row) VALUES (1, ?1) ON CONFLICT DO UPDATE SET row = excluded.row";
const DRAFT: &str = "INSERT INTO drafts (turn, text) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET text = excluded.text";
const LATE: &str = "INSERT INTO late (turn, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const BUDGET: &str = "INSERT INTO budgets (role, row) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET row = excluded.row";
const PAUSED: &str = "INSERT INTO paused (one, row) VALUES (1, ?1) ON CONFLICT DO UPDATE SET row = excluded.row";
const EVENT: &str = "INSERT INTO events (at, turn, run, worker, row) VALUES (?1, ?2, ?3, ?4, ?5)";
