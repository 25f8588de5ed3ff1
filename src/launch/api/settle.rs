//! How a turn of a program that is called goes on and ends: its text is seen in the program's own record, the program is at
//! rest, and the last answer to that text is complete. Events only say when to look; a look that is lost is made up for.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use tokio::time::Instant;

use super::super::session::text::Same;
use super::super::turn_dir::TEXT_LIMIT;
use super::hand::OWN_WORK;
use super::http::HttpError;
use super::keeper::{Doing, Keeper};
use super::story::{self, Story};
use crate::fleet::envelope::{Finish, Truncated};
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::Api;
use crate::fleet::turn::Outcome;

/// How soon a text that was given is looked for again.
const LOOK_TAKEN: Duration = Duration::from_millis(500);
/// How soon an answer is looked for again whose program is at rest.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// How often a program at work is asked that tells its events, and one that does not.
const AT_WORK: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(500));
/// How long a program at rest may take to show its answer.
const UNANSWERED: Duration = Duration::from_secs(5);
/// How long a program may be silent before that is told.
const SILENT: Duration = Duration::from_secs(15);
/// How soon its conversation is shown in its pane again.
const SHOW: Duration = Duration::from_secs(1);

impl Keeper {
    /// Sees how everything stands, and does what follows.
    pub(super) async fn look(&mut self) {
        let Some(api) = self.api() else { return };
        self.listen().await;
        if let Some(show) = api.show.as_ref().filter(|_| self.shows > 0) {
            self.shows -= 1;
            drop(self.ask(show).await);
            self.soon(SHOW);
        }
        match &self.doing {
            Doing::Idle => self.look_at_rest(&api).await,
            Doing::At(_) => self.look_at_turn(&api).await,
            Doing::Stopping(_) => self.look_at_stop(&api).await,
        }
    }

    /// Without a turn: is it still there, and free?
    async fn look_at_rest(&mut self, api: &Api) {
        let worker = self.worker.name.clone();
        if let Some(why) = self.site().astray(&self.facts) {
            return self.bar(Some(why.clone()), Sighting::Unreachable { worker, why }).await;
        }
        match self.at_rest(api).await {
            Some(true) => self.bar_by(None).await,
            Some(false) => {
                self.bar_by(Some(OWN_WORK.into())).await;
                self.soon(Duration::from_secs(1));
            }
            None => self.soon(Duration::from_secs(1)),
        }
    }

    /// Returns whether it is at rest, if it says so; one that is silent for long is reported.
    pub(super) async fn at_rest(&mut self, api: &Api) -> Option<bool> {
        match self.shows(&api.rest).await {
            Ok(rests) => {
                self.silent = None;
                Some(rests)
            }
            Err(error) => {
                self.silent_by(&error).await;
                None
            }
        }
    }

    async fn silent_by(&mut self, error: &HttpError) {
        let since = *self.silent.get_or_insert_with(Instant::now);
        if since.elapsed() >= SILENT && !self.stop.is_cancelled() {
            let (worker, why) = (self.worker.name.clone(), format!("it does not answer: {error}"));
            self.bar(Some(why.clone()), Sighting::Unreachable { worker, why }).await;
        }
    }

    async fn look_at_turn(&mut self, api: &Api) {
        let Doing::At(at) = &self.doing else { return };
        if !at.is_taken {
            match self.story(api).await {
                Some(story) if story.taken == Same::Part => return self.end_cut().await,
                Some(_) => self.taken().await,
                None => {}
            }
            let Doing::At(at) = &self.doing else { return };
            if !at.is_taken && at.given.elapsed() >= at.patience {
                return self.give_up().await;
            }
            if !at.is_taken {
                return self.soon(LOOK_TAKEN);
            }
        }
        let often = if self.events.is_some() { AT_WORK.0 } else { AT_WORK.1 };
        let Doing::At(at) = &mut self.doing else { return };
        let is_due = at.told_rest || at.rested.is_some() || at.asked.is_none_or(|asked| asked.elapsed() >= often);
        if is_due {
            (at.told_rest, at.asked) = (false, Some(Instant::now()));
            match self.at_rest(api).await {
                Some(true) => return self.settle(api).await,
                Some(false) => {
                    if let Doing::At(at) = &mut self.doing {
                        at.rested = None;
                    }
                }
                None => return self.soon(Duration::from_secs(1)),
            }
        }
        self.soon(often);
    }

    /// It is at rest: its last answer is the turn's, if it is complete.
    async fn settle(&mut self, api: &Api) {
        let story = self.story(api).await;
        let Doing::At(at) = &mut self.doing else { return };
        let turn = at.turn;
        let waited = at.rested.get_or_insert_with(Instant::now).elapsed();
        let finish = match story {
            Some(Story { end: Some(end), .. }) => self.within_limit(turn, end).await,
            _ if waited < UNANSWERED => return self.soon(LOOK_AGAIN),
            None => Finish::without_reply(Outcome::Unknown, "its record does not hold the text any more"),
            Some(Story { answers: 0, .. }) => {
                let why =
                    at.trouble.clone().unwrap_or_else(|| "it took the text and came to rest without an answer".into());
                Finish { proof: Some("api".into()), ..Finish::without_reply(Outcome::Failed, why) }
            }
            Some(_) => {
                let why = at.trouble.clone().map_or_else(String::new, |why| format!(": {why}"));
                let why = format!("it is at rest, and its record does not show how the turn ended{why}");
                Finish::without_reply(Outcome::Unknown, why)
            }
        };
        self.doing = Doing::Idle;
        self.bar_by(None).await;
        self.finished(turn, finish, true).await;
    }

    /// Returns what its record says of the turn at hand.
    async fn story(&mut self, api: &Api) -> Option<Story> {
        let record = match self.filled(&api.record, self.fill()) {
            Ok(record) => record,
            Err(why) => {
                tracing::warn!(worker = %self.worker.name, why, "its record cannot be asked for");
                return None;
            }
        };
        match self.ask(&api.record.call).await {
            Ok(answer) => {
                self.silent = None;
                let Doing::At(at) = &self.doing else { return None };
                story::read(&answer, &record, at.turn, at.known.as_deref())
            }
            Err(error) => {
                self.silent_by(&error).await;
                None
            }
        }
    }

    async fn taken(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        (at.is_taken, at.told_rest) = (true, true);
        let (worker, turn) = (self.worker.name.clone(), at.turn);
        self.desk.tell(Sighting::Taken { worker, turn, process: None }).await;
    }

    /// It is not known whether the program took the text.
    async fn give_up(&mut self) {
        let Doing::At(at) = &self.doing else { return };
        let turn = at.turn;
        self.stop_turn(turn).await;
        let why = "it is not known whether the worker took the text: its record does not show it";
        self.finished(turn, Finish::without_reply(Outcome::Unknown, why), false).await;
    }

    /// The program took another text than was given: what it does with that is nobody's order.
    async fn end_cut(&mut self) {
        self.taken().await;
        let Doing::At(at) = &self.doing else { return };
        let turn = at.turn;
        self.stop_turn(turn).await;
        let why = "its agent took another text than was given, and was interrupted";
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
    }

    /// Stops a turn in which the model is called without end.
    pub(super) async fn see_endless(&mut self) {
        let (Doing::At(at), Some(api)) = (&self.doing, self.api()) else { return };
        if at.answers.len() <= api.most as usize {
            return;
        }
        let turn = at.turn;
        tracing::warn!(worker = %self.worker.name, %turn, most = api.most, "a turn without end is stopped");
        self.stop_turn(turn).await;
        let why = format!(
            "its model answered more than {} times in this turn, which was stopped as one without end",
            api.most
        );
        self.finished(turn, Finish::without_reply(Outcome::Failed, why), false).await;
    }

    /// Cuts a reply that is too long for an envelope; the whole of it is kept in a file of the session.
    async fn within_limit(&self, turn: TurnId, finish: Finish) -> Finish {
        if finish.text.len() <= TEXT_LIMIT {
            return finish;
        }
        let path = self.dir.path().join(format!("{turn}.reply"));
        let (file, whole) = (path.clone(), finish.text.clone());
        let written = self.dir.on_disk(move |_| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(whole.as_bytes())
        });
        if let Err(error) = written.await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the whole of a long reply cannot be kept");
        }
        let bytes = finish.text.len() as u64;
        let cut: &str = &finish.text[..finish.text.floor_char_boundary(TEXT_LIMIT)];
        Finish { truncated: Some(Truncated { path: path.display().to_string(), bytes }), text: cut.into(), ..finish }
    }

    pub(super) async fn finished(&mut self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        self.ended = Some(turn);
        let worker = self.worker.name.clone();
        self.desk.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
