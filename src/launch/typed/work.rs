//! What a keeper does with a turn: types it, watches it to its end, makes the agent stop it.
//!
//! What is typed next, `submit` decides, by what `look` reads; here it is carried out and reported.

use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use super::keeper::{Keeper, Order};
use super::look::{Look, tail_of};
use super::submit::{Act, End, OWN_WORK, Submission};
use super::text;
use crate::engine::panes::{Key, PaneError, Screen};
use crate::fleet::envelope::Finish;
use crate::fleet::ids::TurnId;
use crate::fleet::input::Sighting;
use crate::fleet::turn::{Outcome, Turn, TurnState};

/// How long the screen rests after the worker's own reply before the turn is over.
const REST_AFTER_REPLY: Duration = Duration::from_millis(200);
/// How often a working agent is looked at on hosts that do not tell of changes.
const LOOK_AT_WORK: Duration = Duration::from_millis(500);
/// How often an agent that was told to stop is looked at.
const LOOK_AT_STOP: Duration = Duration::from_millis(200);
/// How long an agent that goes on working has until it is told again.
const TELL_AGAIN: Duration = Duration::from_secs(2);

/// What a session is at.
pub(super) enum Doing {
    /// Nothing: it waits for a text.
    Idle,
    /// A text is on its way into it.
    Submitting(Box<Submitting>),
    /// It works at a turn.
    Working(Working),
    /// It was told to stop a turn that is over for the fleet.
    Stopping(Stopping),
}

pub(super) struct Stopping {
    /// When it was last told.
    told: Instant,
    /// The end of a text of ours that may still stand in its composer.
    tail: Option<String>,
}

pub(super) struct Submitting {
    turn: Arc<Turn>,
    text: String,
    submission: Submission,
    began: Instant,
    proof: bool,
}

pub(super) struct Working {
    turn: TurnId,
    /// What the screen showed last, and since when.
    last: Option<Screen>,
    since: Instant,
    replied: bool,
}

impl Keeper {
    /// Takes an order.
    pub(super) async fn take(&mut self, order: Order) {
        match order {
            Order::Hand(turn) => self.take_turn(turn).await,
            Order::Interrupt(turn) => self.interrupt(turn).await,
            Order::Replied(turn) => match &mut self.doing {
                Doing::Submitting(submitting) if submitting.turn.id == turn => submitting.proof = true,
                Doing::Working(working) if working.turn == turn => working.replied = true,
                _ => {}
            },
            // Nothing on the screen changes by that.
            Order::Forget(turn) => return self.forget(turn).await,
        }
        self.soon(Duration::ZERO);
    }

    /// The turn is over and stored: what was kept for a restart goes, and the file that held its text.
    async fn forget(&self, turn: TurnId) {
        if let Err(error) = self.dir.on_disk(move |dir| dir.forget(turn)).await {
            tracing::warn!(worker = %self.worker.name, %turn, %error, "the note of a turn that is over stays");
        }
        let file = self.cwd().join(file_of(turn));
        if let Err(error) = tokio::fs::remove_file(&file).await
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(file = %file.display(), %error, "the file of a turn that is over stays");
        }
    }

    async fn take_turn(&mut self, turn: Arc<Turn>) {
        let has = match &self.doing {
            Doing::Submitting(submitting) => Some(submitting.turn.id),
            Doing::Working(working) => Some(working.turn),
            Doing::Idle | Doing::Stopping(_) => None,
        };
        if has == Some(turn.id) {
            return;
        }
        if turn.at(TurnState::Submitted).is_some() {
            // It was shown before a restart that the agent has it.
            return self.work(turn.id, false).await;
        }
        let prepared = self.prepare(&turn).await;
        let (text, is_typed) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => return self.hold(&turn, why).await,
        };
        let submission = match is_typed {
            true => Submission::resumed(&text, text::mark(turn.id)),
            false => Submission::new(&text, Some(text::mark(turn.id))),
        };
        self.doing =
            Doing::Submitting(Box::new(Submitting { turn, text, submission, began: Instant::now(), proof: false }));
    }

    /// Returns the text of a turn as it is typed, and whether it may have been typed before.
    async fn prepare(&self, turn: &Turn) -> Result<(String, bool), String> {
        let prompt = self.desk.options.journal.prompt(turn.prompt_of).await.map_err(|error| error.to_string())?;
        let prompt = prompt.ok_or("its prompt is not in the store")?;
        let is_typed = self.dir.is_typed(turn.id).map_err(|error| format!("{}: {error}", self.dir.path().display()))?;
        let from = turn.sender.to_string();
        if prompt.len() <= self.typing().limit {
            return Ok((text::typed(turn.id, &from, &prompt), is_typed));
        }
        let file = file_of(turn.id);
        if !is_typed {
            let written = self.write_file(&file, prompt.as_bytes()).await;
            written
                .map_err(|error| format!("its text is too long to be typed, and {file} cannot be written: {error}"))?;
        }
        Ok((text::by_file(turn.id, &from, &file, prompt.len()), is_typed))
    }

    fn cwd(&self) -> std::path::PathBuf {
        self.worker.profile.cwd.clone().unwrap_or_else(|| ".".into())
    }

    /// Writes a text that is too long to be typed into the worker's directory, where git does not see it.
    async fn write_file(&self, file: &str, bytes: &[u8]) -> std::io::Result<()> {
        let cwd = self.cwd();
        let path = cwd.join(file);
        tokio::fs::create_dir_all(path.parent().unwrap_or(&cwd)).await?;
        let mut git = Command::new("git");
        // Whoever started fleetd may have meant another repository.
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").current_dir(&cwd);
        let asked = git.args(["rev-parse", "--git-path", "info/exclude"]).output().await;
        if let Ok(found) = asked
            && found.status.success()
        {
            let exclude = cwd.join(String::from_utf8_lossy(&found.stdout).trim());
            let listed = tokio::fs::read_to_string(&exclude).await.unwrap_or_default();
            if !listed.lines().any(|line| line.trim() == "/.fleet/") {
                let start = if listed.is_empty() || listed.ends_with('\n') { "" } else { "\n" };
                tokio::fs::create_dir_all(exclude.parent().unwrap_or(&cwd)).await?;
                tokio::fs::write(&exclude, format!("{listed}{start}/.fleet/\n")).await?;
            }
        }
        tokio::fs::write(path, bytes).await
    }

    /// Does what the screen asks for.
    pub(super) async fn step(&mut self, screen: &Screen, look: &Look) {
        let typing = self.typing();
        match &mut self.doing {
            Doing::Idle => {
                let why = look.obstacle().or(look.busy.then(|| OWN_WORK.to_owned()));
                self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
            }
            Doing::Submitting(_) => self.submit(screen, look).await,
            Doing::Working(_) => self.watch(screen, look).await,
            Doing::Stopping(stopping) => {
                let again = stopping.told.elapsed() >= TELL_AGAIN && look.busy;
                // A person's draft is no reason to end a session; a text of ours that nobody took is.
                let is_ours = stopping.tail.as_ref().is_some_and(|tail| look.holds(tail, &typing));
                if !look.busy && look.dialog.is_none() && look.composer.is_some() && !is_ours {
                    self.doing = Doing::Idle;
                    self.barred = None;
                    self.soon(Duration::ZERO);
                    return self.desk.tell(Sighting::Idle { worker: self.worker.name.clone() }).await;
                }
                if again {
                    stopping.told = Instant::now();
                    self.press_interrupt().await;
                }
                self.soon(LOOK_AT_STOP);
            }
        }
    }

    async fn submit(&mut self, screen: &Screen, look: &Look) {
        let typing = self.typing();
        let Doing::Submitting(submitting) = &mut self.doing else { return };
        let is_above =
            |mark: &str| screen.lines[..look.row.min(screen.lines.len())].iter().any(|line| line.contains(mark));
        let act = submitting.submission.next(submitting.began.elapsed(), look, &typing, is_above, submitting.proof);
        let (turn, text) = (submitting.turn.clone(), submitting.text.clone());
        match act {
            Act::Look(after) => {
                let why = look.dialog.as_ref().map(|line| format!("a dialog is open: {line}"));
                self.bar(why.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
                self.soon(after);
            }
            Act::Paste => {
                if let Err(why) = self.paste(&turn, text).await {
                    self.hold(&turn, why).await;
                }
                self.soon(Duration::ZERO);
            }
            Act::Enter => {
                if let Some(pane) = self.pane()
                    && let Err(error) = self.desk.host().press(pane, vec![Key::Enter]).await
                {
                    tracing::info!(worker = %self.worker.name, %error, "Enter was not pressed");
                }
                self.soon(Duration::from_millis(5));
            }
            Act::End(End::Taken) => {
                self.bar(None).await;
                self.tell_taken(turn.id).await;
                let replied = matches!(&self.doing, Doing::Submitting(submitting) if submitting.proof);
                self.work(turn.id, replied).await;
            }
            Act::End(End::Held(why)) => self.hold(&turn, why).await,
            Act::End(End::Unknown(why)) => {
                let finish = Finish::without_reply(
                    Outcome::Unknown,
                    format!("it is not known whether the worker took the text: {why}"),
                );
                self.doing = Doing::Stopping(Stopping { told: Instant::now(), tail: Some(tail_of(&text)) });
                self.finished(turn.id, finish, false).await;
                self.soon(LOOK_AT_STOP);
            }
        }
    }

    /// Types the text. The error says why nothing was typed.
    async fn paste(&mut self, turn: &Turn, text: String) -> Result<(), String> {
        let pane = self.pane().ok_or("its pane is not known")?;
        let id = turn.id;
        match self.dir.on_disk(move |dir| dir.note_typed(id)).await {
            Ok(true) => {}
            // Somebody noted it since it was looked for: from here on it counts as typed, and the screen decides.
            Ok(false) => return Ok(()),
            Err(error) => return Err(format!("it cannot be noted that it is typed: {error}")),
        }
        match self.desk.host().paste(pane, text.into()).await {
            // Whether it was typed, the screen shows.
            Ok(()) | Err(PaneError::Unknown(_)) => Ok(()),
            Err(error) => {
                self.dir.on_disk(move |dir| dir.forget(id)).await.map_err(|error| format!("{error}"))?;
                Err(error.to_string())
            }
        }
    }

    /// Nothing of the turn was typed: it goes back.
    async fn hold(&mut self, turn: &Turn, why: String) {
        self.doing = Doing::Idle;
        self.barred = Some(why.clone());
        let (worker, hand) = (self.worker.name.clone(), turn.hands());
        self.desk.tell(Sighting::Held { worker, turn: turn.id, hand, why }).await;
        self.soon(Duration::from_secs(1));
    }

    async fn work(&mut self, turn: TurnId, replied: bool) {
        self.doing = Doing::Working(Working { turn, last: None, since: Instant::now(), replied });
        self.soon(Duration::ZERO);
    }

    /// Sees whether the turn is over: the composer is back, nothing works, and the screen rests.
    async fn watch(&mut self, screen: &Screen, look: &Look) {
        let quiet = self.typing().quiet.std();
        let Doing::Working(working) = &mut self.doing else { return };
        if working.last.as_ref() != Some(screen) {
            (working.last, working.since) = (Some(screen.clone()), Instant::now());
        }
        let (turn, rested, replied) = (working.turn, working.since.elapsed(), working.replied);
        let wanted = if replied { quiet.min(REST_AFTER_REPLY) } else { quiet };
        let dialog = look.dialog.clone().map(|line| format!("a dialog is open: {line}"));
        let open = dialog.is_some();
        self.bar(dialog.map(|why| Sighting::Blocked { worker: self.worker.name.clone(), why })).await;
        if open || look.busy || look.composer.is_none() {
            return self.soon(LOOK_AT_WORK);
        }
        if rested < wanted {
            return self.soon((wanted - rested).min(LOOK_AT_WORK));
        }
        let finish = Finish {
            outcome: Outcome::Replied,
            why: None,
            text: text::answer(screen, look, turn).into(),
            proof: Some("screen".into()),
            ..Finish::without_reply(Outcome::Replied, "")
        };
        self.doing = Doing::Idle;
        self.finished(turn, finish, true).await;
        self.soon(Duration::ZERO);
    }

    /// Makes the agent stop a turn that is over for the fleet.
    async fn interrupt(&mut self, turn: TurnId) {
        let was_typed = match &self.doing {
            Doing::Submitting(submitting) if submitting.turn.id == turn => self.dir.is_typed(turn).unwrap_or(true),
            _ => true,
        };
        let tail = match &self.doing {
            Doing::Submitting(submitting) => Some(tail_of(&submitting.text)),
            _ => None,
        };
        if was_typed {
            self.press_interrupt().await;
        }
        self.doing = Doing::Stopping(Stopping { told: Instant::now(), tail });
    }

    async fn press_interrupt(&mut self) {
        let keys: Vec<Key> = self.typing().interrupt.iter().filter_map(|name| Key::parse(name).ok()).collect();
        let Ok(screen) = self.screen().await else { return };
        // An agent that is idle already has nothing to stop, and a key would mean something else to it.
        let look = Look::of(&screen, &self.typing());
        if let Some(pane) = self.pane()
            && !look.is_idle()
            && look.dialog.is_none()
            && let Err(error) = self.desk.host().press(pane, keys).await
        {
            tracing::info!(worker = %self.worker.name, %error, "a worker could not be told to stop its turn");
        }
    }

    async fn tell_taken(&self, turn: TurnId) {
        self.desk.tell(Sighting::Taken { worker: self.worker.name.clone(), turn, process: None }).await;
    }

    async fn finished(&self, turn: TurnId, mut finish: Finish, idle: bool) {
        finish.work = self.work_done().await;
        let worker = self.worker.name.clone();
        self.desk.tell(Sighting::Finished { worker, turn, finish: Box::new(finish), idle }).await;
    }
}

/// Returns where a text that is too long to be typed lies, below the worker's directory.
fn file_of(turn: TurnId) -> String {
    format!(".fleet/{turn}.md")
}
