//! Drops old history, a bounded piece at a time: collected turns and runs with their texts, events, sources that
//! nothing uses, sessions of clients that never came back. What is open is never touched.

use std::collections::HashSet;

use rusqlite::params;
use tokio::sync::oneshot;

use super::statements::{Statements, int};
use crate::engine::ports::JournalError;
use crate::fleet::ids::TurnId;
use crate::fleet::time::Time;

/// How many turns, runs or events go in one transaction.
const PIECE: i64 = 500;
/// How many sets of charter sources are kept although no run that is kept began with them.
const SOURCES: i64 = 20;

/// One order to drop what is older than a moment.
pub(super) struct Prune {
    before: i64,
    keep: HashSet<i64>,
    done: oneshot::Sender<Result<u64, JournalError>>,
    dropped: u64,
    stage: Stage,
    /// How many old turns were met that are kept; they stand before all others.
    kept: i64,
    /// Events up to this number were looked at.
    looked_at: i64,
}

enum Stage {
    Turns,
    Runs,
    Events,
    Sources,
}

impl Prune {
    pub(super) fn new(before: Time, keep: Vec<TurnId>, done: oneshot::Sender<Result<u64, JournalError>>) -> Prune {
        let keep = keep.into_iter().map(|turn| int(turn.0)).collect();
        Prune { before: int(before.0), keep, done, dropped: 0, stage: Stage::Turns, kept: 0, looked_at: 0 }
    }

    /// Drops one piece; returns whether there is more to do.
    pub(super) fn piece(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<bool> {
        let next = match self.stage {
            Stage::Turns => self.turns(statements)?.then_some(Stage::Runs),
            Stage::Runs => (self.runs(statements)? < PIECE).then_some(Stage::Events),
            Stage::Events => (!self.events(statements)?).then_some(Stage::Sources),
            Stage::Sources => {
                statements.get("DELETE FROM sessions WHERE at < ?1")?.execute(params![self.before])?;
                statements.get(SOURCES_UNUSED)?.execute(params![SOURCES])?;
                return Ok(false);
            }
        };
        if let Some(next) = next {
            self.stage = next;
        }
        Ok(true)
    }

    /// Tells the one who asked.
    pub(super) fn finish(self, result: Result<(), JournalError>) {
        self.done.send(result.map(|()| self.dropped)).ok();
    }

    /// Returns whether these were the last.
    fn turns(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<bool> {
        let old: Vec<(i64, i64)> = statements
            .get(TURNS_OLD)?
            .query_map(params![self.before, PIECE, self.kept], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let found = old.len();
        let (kept, old): (Vec<_>, Vec<_>) = old.into_iter().partition(|(turn, _)| self.keep.contains(turn));
        self.kept += i64::try_from(kept.len()).unwrap_or(i64::MAX);
        for (turn, _) in &old {
            statements.get("DELETE FROM turns WHERE id = ?1")?.execute(params![turn])?;
            statements.get("DELETE FROM envelopes WHERE turn = ?1")?.execute(params![turn])?;
            statements.get("DELETE FROM events WHERE turn = ?1")?.execute(params![turn])?;
        }
        for (turn, prompt_of) in &old {
            statements.get(PROMPT_UNUSED)?.execute(params![turn])?;
            if prompt_of != turn {
                statements.get(PROMPT_UNUSED)?.execute(params![prompt_of])?;
            }
        }
        self.count(old.len());
        Ok(i64::try_from(found).unwrap_or(i64::MAX) < PIECE)
    }

    fn runs(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<i64> {
        let old: Vec<i64> = statements
            .get("SELECT id FROM runs WHERE state = 'collected' AND at < ?1 ORDER BY at LIMIT ?2")?
            .query_map(params![self.before, PIECE], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for run in &old {
            statements.get("DELETE FROM runs WHERE id = ?1")?.execute(params![run])?;
            statements.get("DELETE FROM jobs WHERE run = ?1")?.execute(params![run])?;
            statements.get("DELETE FROM run_values WHERE run = ?1")?.execute(params![run])?;
            statements.get("DELETE FROM steps WHERE run = ?1")?.execute(params![run])?;
            statements.get("DELETE FROM step_values WHERE run = ?1")?.execute(params![run])?;
        }
        Ok(self.count(old.len()))
    }

    /// Events are in the order of time as long as the clock is, so the first young one ends it. Those of a turn that
    /// is still open stay until the turn goes.
    fn events(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<bool> {
        let last: Option<i64> =
            statements.get(EVENTS_OLD)?.query_row(params![self.looked_at, PIECE, self.before], |row| row.get(0))?;
        let Some(last) = last else { return Ok(false) };
        let dropped = statements.get(EVENTS_DROP)?.execute(params![self.looked_at, last, self.before])?;
        self.count(dropped);
        self.looked_at = last;
        Ok(true)
    }

    fn count(&mut self, dropped: usize) -> i64 {
        self.dropped += dropped as u64;
        i64::try_from(dropped).unwrap_or(i64::MAX)
    }
}

const TURNS_OLD: &str = "SELECT id, prompt_of FROM turns WHERE state = 'collected' AND at < ?1 \
    ORDER BY at, id LIMIT ?2 OFFSET ?3";
/// A prompt may serve a turn and its retries.
const PROMPT_UNUSED: &str = "DELETE FROM prompts WHERE turn = ?1 \
    AND NOT EXISTS (SELECT 1 FROM turns WHERE id = ?1) \
    AND NOT EXISTS (SELECT 1 FROM turns WHERE prompt_of = ?1 AND prompt_of <> id)";
const EVENTS_OLD: &str = "SELECT max(seq) FROM (SELECT seq, at FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2) \
    WHERE at < ?3";
const EVENTS_DROP: &str = "DELETE FROM events WHERE seq > ?1 AND seq <= ?2 AND at < ?3 \
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = events.turn)";
const SOURCES_UNUSED: &str = "DELETE FROM sources \
    WHERE seq NOT IN (SELECT seq FROM sources ORDER BY seq DESC LIMIT ?1) \
    AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.sources = sources.hash)";
