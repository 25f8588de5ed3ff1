//! How a turn of a program that is called goes on and ends: its text is seen in the program's own record, the program is at
//! rest, and the last answer to that text is complete. Events only say when to look; a look that is lost is made up for.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::super::session::text::Same;
use super::hand::{NO_TOOLS, OWN_WORK};
use super::hearing::ASKS;
use super::keeper::{Doing, Keeper};
use super::story::{self, Story, Wanted};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::plan::{Api, Record};
use crate::fleet::turn::Outcome;

/// How soon a text that was given is looked for again.
const LOOK_TAKEN: Duration = Duration::from_millis(500);
/// How soon an answer is looked for again whose program is at rest.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// How often a program at work is asked that tells its events, and one that does not.
const AT_WORK: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(500));
/// How long a program at rest may take to show its answer.
const UNANSWERED: Duration = Duration::from_secs(5);
/// How often the answers of a turn are counted in its record while its events are heard, which are counted too.
const COUNT: Duration = Duration::from_secs(60);
/// How long a program may be silent before that is told, and what is told then.
const SILENT: Duration = Duration::from_secs(15);
const SILENCE: &str = "it does not answer";
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
            Doing::Idle => self.look_at_idle(&api).await,
            Doing::At(_) => self.look_at_turn(&api).await,
            Doing::Stopping(_) => self.look_at_stop(&api).await,
        }
    }

    /// Without a turn: is it still there, and would it take one? A text that it refused is not tried again at once.
    async fn look_at_idle(&mut self, api: &Api) {
        let worker = self.worker.name.clone();
        if let Some(why) = self.site().astray(&self.facts) {
            return self.bar(Some(why.clone()), Sighting::Unreachable { worker, why }).await;
        }
        let Some(rests) = self.at_rest(api).await else { return self.soon(Duration::from_secs(1)) };
        if !rests {
            self.bar_by(Some(OWN_WORK.into())).await;
            return self.soon(Duration::from_secs(1));
        }
        let now = Instant::now();
        if now < self.retry {
            return self.soon(self.retry - now);
        }
        if self.refusals == 0 {
            return self.bar_by(None).await;
        }
        match self.mend_tools(api).await {
            Ok(()) => self.bar_by(None).await,
            Err(why) => {
                self.back_off();
                self.bar_by(Some(format!("{NO_TOOLS}: {why}"))).await;
            }
        }
    }

    /// Returns whether it is at rest, if it says so; one that is silent for long is reported.
    pub(super) async fn at_rest(&mut self, api: &Api) -> Option<bool> {
        match self.shows(&api.rest).await {
            Ok(rests) => {
                self.answered().await;
                Some(rests)
            }
            Err(error) => {
                self.silent_by(&error.brief()).await;
                None
            }
        }
    }

    async fn answered(&mut self) {
        self.silent = None;
        if self.barred.as_deref().is_some_and(|why| why.starts_with(SILENCE)) {
            self.bar_by(None).await;
        }
    }

    async fn silent_by(&mut self, why: &str) {
        let since = *self.silent.get_or_insert_with(Instant::now);
        if since.elapsed() >= SILENT && !self.stop.is_cancelled() {
            let (worker, why) = (self.worker.name.clone(), format!("{SILENCE}: {why}"));
            self.bar(Some(why.clone()), Sighting::Unreachable { worker, why }).await;
        }
    }

    async fn look_at_turn(&mut self, api: &Api) {
        let Doing::At(at) = &self.doing else { return };
        if !at.is_taken {
            match self.story(api).await {
                Ok(Some(story)) if story.taken == Same::Part => return self.end_cut().await,
                Ok(Some(_)) => self.taken().await,
                Ok(None) => {}
                // What cannot be read shows nothing, either way.
                Err(()) => {
                    if let Doing::At(at) = &mut self.doing {
                        at.given = Instant::now();
                    }
                    return self.soon(Duration::from_secs(1));
                }
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
                    self.look_at_work(api).await;
                }
                None => return self.soon(Duration::from_secs(1)),
            }
        }
        self.soon(often);
    }

    /// It works: does it ask somebody, and does it come to an end? Events tell both, if they are heard.
    async fn look_at_work(&mut self, api: &Api) {
        if let Some(asks) = &api.asks {
            match self.shows(asks).await {
                Ok(true) if self.barred.as_deref().is_some_and(|why| why.starts_with(ASKS)) => self.bar_by(None).await,
                Ok(false) if self.barred.as_deref().is_none_or(|why| !why.starts_with(ASKS)) => {
                    self.bar_by(Some(ASKS.into())).await;
                }
                _ => {}
            }
        }
        let Doing::At(at) = &mut self.doing else { return };
        let often = if self.events.is_some() { COUNT } else { AT_WORK.0 };
        if at.counted.elapsed() >= often {
            at.counted = Instant::now();
            if let Ok(Some(story)) = self.story(api).await {
                self.see_endless(story.answers).await;
            }
        }
    }

    /// It is at rest: its last answer is the turn's, if it is complete.
    async fn settle(&mut self, api: &Api) {
        let Ok(story) = self.story(api).await else { return self.soon(Duration::from_secs(1)) };
        let Doing::At(at) = &mut self.doing else { return };
        let turn = at.turn;
        let waited = at.rested.get_or_insert_with(Instant::now).elapsed();
        let finish = match story {
            Some(Story { end: Some(end), .. }) => end,
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

    /// Returns what its record says of the turn at hand, if it can be read; why not is told when it lasts.
    async fn story(&mut self, api: &Api) -> Result<Option<Story>, ()> {
        let read = match self.entries(api).await {
            Ok((entries, record)) => {
                let Doing::At(at) = &self.doing else { return Err(()) };
                let wanted = Wanted { turn: at.turn, given: at.known.as_deref(), before: at.before };
                Ok(story::read(&entries, &record, wanted))
            }
            Err(why) => Err(why),
        };
        match read {
            Ok(story) => {
                self.answered().await;
                Ok(story)
            }
            Err(why) => {
                self.silent_by(&why).await;
                Err(())
            }
        }
    }

    /// Returns its record, entry by entry.
    pub(super) async fn entries(&self, api: &Api) -> Result<(Vec<Box<RawValue>>, Record), String> {
        let record = self.filled(&api.record, self.fill())?;
        let answer = self.ask_record(&record.call).await.map_err(|error| error.brief())?;
        story::entries(&answer, &record).map(|entries| (entries, record))
    }

    async fn taken(&mut self) {
        let Doing::At(at) = &mut self.doing else { return };
        (at.is_taken, at.told_rest) = (true, true);
        let (worker, turn) = (self.worker.name.clone(), at.turn);
        self.desk.common.tell(Sighting::Taken { worker, turn, process: None }).await;
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
    pub(super) async fn see_endless(&mut self, answers: usize) {
        let (Doing::At(at), Some(api)) = (&self.doing, self.api()) else { return };
        if answers <= api.most as usize {
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

    pub(super) async fn finished(&mut self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.tree().work_done().await;
        self.ended = Some(turn);
        let worker = self.worker.name.clone();
        self.desk.common.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}
