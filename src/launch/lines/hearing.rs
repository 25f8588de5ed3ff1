//! What a keeper reads of its program's output and hears of its hooks, and what it does with what was read.
//!
//! What a line means for a turn is in `story`; how a turn got into the program, in `work`.

use super::super::session::text::Same;
use super::keeper::Keeper;
use super::output::{Line, punch};
use super::story::Heard;
use super::work::Doing;
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::signs;

/// How much of the output may be on the disk that nobody needs any more.
const LEFT: u64 = 1024 * 1024;

impl Keeper {
    /// Reads all that the program has written by now, and not what it writes meanwhile.
    pub(super) async fn read_to_now(&mut self) {
        let end = self.output.length();
        while self.output.place() < end && self.read_on().await {}
    }

    /// Reads what the program has written since. Returns whether there was something.
    pub(super) async fn read_on(&mut self) -> bool {
        if !self.output.has_more() {
            return false;
        }
        let mut output = std::mem::take(&mut self.output);
        let (output, lines) = self
            .dir
            .on_disk(move |_| {
                let lines = output.read();
                (output, lines)
            })
            .await;
        self.output = output;
        match lines {
            Ok(lines) => {
                for line in lines {
                    self.heard(&line).await;
                }
                true
            }
            Err(error) => {
                tracing::warn!(worker = %self.worker.name, %error, "what a session wrote cannot be read");
                self.rest().await;
                false
            }
        }
    }

    /// Takes in a line.
    pub(super) async fn heard(&mut self, line: &Line) {
        let (worker, Some(said)) = (self.worker.clone(), &line.said) else { return };
        let Some(plan) = worker.profile.plan.as_deref() else { return };
        let Some(read) = signs::read(&plan.signs, said) else { return };
        let heard = match &mut self.doing {
            Doing::Idle => Heard::Nothing,
            Doing::At(at) => at.story.hear(&read),
            Doing::Stopping(_) => Heard::Nothing,
        };
        self.cost = read.cost_so_far.unwrap_or(self.cost);
        if let Doing::Stopping(stopping) = self.doing
            && read.sign.is.is_end()
        {
            return self.stopped(stopping, line.end).await;
        }
        match heard {
            Heard::Nothing => {}
            Heard::Taken => self.tell_taken().await,
            Heard::Cut => self.end_cut().await,
            Heard::Said => self.bar_by(None).await,
            Heard::Retrying(why) => {
                tracing::debug!(worker = %self.worker.name, why, "it tries again to reach its model");
                self.bar_by(Some(format!("it tries again to reach its model: {why}"))).await;
            }
            Heard::Over(finish) => self.over(*finish, line.end).await,
        }
    }

    /// Hears by a hook which text the program took.
    pub(super) async fn hear_taken(&mut self, text: Option<&str>) {
        let Doing::At(at) = &mut self.doing else { return };
        match text.map_or(Same::Other, |text| at.story.compare(text)) {
            Same::Whole | Same::Within => at.story.was_taken(),
            Same::Part => return self.end_cut().await,
            Same::Other => return,
        }
        self.tell_taken().await;
    }

    pub(super) async fn over(&mut self, finish: Finish, end: u64) {
        let Doing::At(at) = &self.doing else { return };
        let turn = at.turn;
        self.doing = Doing::Idle;
        self.bar_by(None).await;
        self.finished(turn, finish, !self.is_gone).await;
        self.mark_read(end).await;
    }

    /// Writes down how far the output was read to the end of a turn.
    pub(super) async fn mark_read(&mut self, end: u64) {
        (self.facts.read, self.facts.cost) = (end, self.cost);
        let facts = self.facts.clone();
        if let Err(error) = self.dir.on_disk(move |dir| dir.write_facts(&facts)).await {
            tracing::warn!(worker = %self.worker.name, %error, "how far a session was read cannot be written down");
        }
    }

    /// The turn is over and stored: its note goes, and what was read is taken off the disk.
    pub(super) async fn forget(&mut self, turn: TurnId) {
        if let Doing::Stopping(stopping) = &mut self.doing
            && stopping.turn == turn
        {
            stopping.forgets = true;
            return;
        }
        if let Err(error) = self.dir.on_disk(move |dir| dir.forget(turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the note of a turn that is over stays");
        }
        let to = match &self.doing {
            Doing::Idle if self.ended.is_none_or(|ended| ended == turn) => self.facts.read,
            Doing::Idle => return,
            Doing::At(at) => at.from.min(self.facts.read),
            Doing::Stopping(stopping) => stopping.from.min(self.facts.read),
        };
        let from = self.facts.punched;
        if to < from + LEFT {
            return;
        }
        let path = self.dir.output();
        match self.dir.on_disk(move |_| punch(&path, from, to)).await {
            Ok(()) => self.facts.punched = to,
            // Not every file system can; the file then lives as long as its session.
            Err(error) => {
                tracing::info!(worker = %self.worker.name, %error, "what a session wrote in turns that are over stays on the disk");
            }
        }
    }
}
