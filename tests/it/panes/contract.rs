//! What every pane host must do, whoever wrote it: `engine::panes` as tests. A host comes as a [`Rig`], and
//! `contract!(ItsRig)` makes one test of each line. Occupants are plain programs in private directories.
//! Nothing here knows a host, and nothing waits but for something that can be seen.

pub mod ends;
pub mod input;
pub mod starts;
pub mod survives;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleetd::engine::panes::{Pane, PaneError, PaneHost, PaneStart, Screen, Slot};
use fleetd::fleet::ids::{RoleName, WorkerName};
use fleetd::process::{ProcessId, marked_with};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::PATIENCE;

/// One host of its own for one test, and what a test can do to it that none of its clients can. Whatever it started
/// is gone when it is dropped.
pub trait Rig: Sized {
    /// Names of variables that the host itself sets in a pane, by how they begin.
    const ADDS: &'static [&'static str];

    /// Starts a host with private directories, and a client of it. None where there is no such host on this machine.
    async fn start() -> Option<Self>;
    /// Returns the client.
    fn host(&self) -> Arc<dyn PaneHost>;
    /// Ends the client and makes it anew, as the restart of a daemon does. The host must not notice much.
    async fn renew(&mut self);
    /// Kills the host hard, and returns when it is dead.
    async fn kill(&mut self);
    /// Has a host run again after that, where it does not come by itself.
    async fn restart(&mut self);
}

/// Makes a test of each line of the contract for one rig.
macro_rules! contract {
    ($rig:ty) => {
        $crate::panes::contract::contract! { $rig;
            starts: a_program_gets_its_words_its_environment_and_its_directory,
            starts: a_pane_is_listed_under_its_workers_name,
            starts: many_start_at_once_and_each_is_itself,
            starts: a_wrong_directory_is_refused_before_anything_is_left,
            starts: a_wrong_program_is_refused_before_anything_is_left,
            starts: a_screen_is_shown_and_looking_changes_nothing,
            starts: a_screen_follows_what_is_printed,
            input: a_paste_is_typed_as_it_is,
            input: a_paste_is_bracketed_where_the_program_asked_for_it,
            input: a_long_text_arrives_whole,
            input: no_text_presses_a_key_or_ends_its_paste,
            input: every_kind_of_key_is_pressed,
            input: texts_and_keys_arrive_in_their_order,
            input: a_wrong_occupant_gets_nothing,
            input: after_its_root_died_nothing_is_typed_anywhere,
            input: a_pane_that_never_was_is_gone,
            ends: processes_of_every_kind_are_found,
            ends: an_exit_is_told_or_found,
            ends: a_killed_root_is_told_or_found,
            ends: a_close_ends_everything_in_the_pane,
            ends: whoever_ignores_the_hangup_is_killed,
            ends: closing_twice_is_fine,
            ends: closing_leaves_another_in_the_same_place_alone,
            survives: another_client_finds_the_same_panes,
            survives: a_killed_host_takes_its_panes_and_its_successor_gets_no_text,
            survives: a_host_that_is_down_says_so_in_time,
            survives: a_process_is_found_in_its_pane_and_a_stranger_in_none,
        }
    };
    ($rig:ty; $($part:ident: $name:ident,)*) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            match $crate::panes::contract::Stage::<$rig>::set().await {
                Some(stage) => $crate::panes::contract::$part::$name(stage).await,
                None => eprintln!("left out: this host is not on this machine"),
            }
        }
    )* };
}
pub(crate) use contract;

/// A rig with a private directory for its occupants, all of which are gone when it is dropped.
pub struct Stage<R> {
    pub rig: R,
    dir: TempDir,
}

impl<R: Rig> Stage<R> {
    /// Sets a stage, where the host is on this machine.
    pub async fn set() -> Option<Stage<R>> {
        Some(Stage::on(R::start().await?))
    }

    /// Sets a stage on a host that is there already.
    pub fn on(rig: R) -> Stage<R> {
        Stage { rig, dir: TempDir::new().unwrap() }
    }

    pub fn host(&self) -> Arc<dyn PaneHost> {
        self.rig.host()
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Returns a file's bytes; one that is not there is empty.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.file(name)).unwrap_or_default()
    }

    /// What every occupant is given; `FLEET_TEST` is the mark by which it is found.
    pub fn env(&self) -> BTreeMap<OsString, OsString> {
        let dir = self.dir().as_os_str().to_owned();
        let path = "/usr/local/bin:/usr/bin:/bin";
        let env = [("PATH", path.into()), ("HOME", dir.clone()), ("LANG", "C.UTF-8".into()), ("FLEET_TEST", dir)];
        env.map(|(name, value)| (name.into(), value)).into()
    }

    /// Returns how to start a script of `sh` as the worker of this name.
    pub fn script(&self, worker: &str, script: &str) -> PaneStart {
        let argv = ["sh", "-c", script].map(OsString::from).to_vec();
        PaneStart { slot: slot(worker), argv, env: self.env(), cwd: self.dir().into() }
    }

    /// Starts a script of `sh`.
    #[track_caller]
    pub fn sh(&self, worker: &str, script: &str) -> impl Future<Output = Pane> {
        let start = self.host().start(self.script(worker, script));
        async { start.await.unwrap() }
    }

    /// Starts a program that writes the bytes of its terminal, just as they come, to the file `typed`; it is ready
    /// when this returns. `first` is done before: it may print modes.
    pub async fn listener(&self, worker: &str, first: &str) -> Pane {
        let pane = self.sh(worker, &format!("stty raw -echo; {first} printf ready; exec cat >> typed")).await;
        self.shows(&pane, "ready").await;
        pane
    }

    /// Waits until a file holds exactly these bytes.
    pub async fn gets(&self, name: &str, wanted: &[u8]) {
        let got = || Some(self.bytes(name)).filter(|bytes| bytes.len() >= wanted.len());
        until(&format!("{} bytes in {name}", wanted.len()), async || got()).await;
        let got = self.bytes(name);
        assert!(got == wanted, "{name}: {:?} and not {:?}", tail(&got), tail(wanted));
    }

    /// Waits until the screen shows a text in one of its rows.
    pub async fn shows(&self, pane: &Pane, text: &str) -> Screen {
        self.shows_within(pane, text, PATIENCE).await
    }

    /// As [`Stage::shows`], for what takes longer than anything else.
    pub async fn shows_within(&self, pane: &Pane, text: &str, patience: Duration) -> Screen {
        let host = self.host();
        until_within(patience, &format!("'{text}' on the screen"), async || {
            let screen = host.screen(pane.clone()).await.unwrap();
            screen.lines.iter().any(|line| line.contains(text)).then_some(screen)
        })
        .await
    }

    /// Waits until the pane is not listed any more.
    pub async fn is_gone(&self, pane: &Pane) {
        until("the pane is gone", async || {
            let listed = self.host().panes().await.ok()?;
            (!listed.iter().any(|listed| listed.pane.root == pane.root)).then_some(())
        })
        .await;
    }

    /// Returns the living processes that were started on this stage.
    pub fn alive(&self) -> Vec<ProcessId> {
        let mark = format!("FLEET_TEST={}", self.dir().display());
        marked_with(&mark).into_iter().filter(|process| process.is_alive()).collect()
    }

    /// Waits until no process of this stage lives.
    pub async fn nobody_is_left(&self) {
        until("everybody is gone", async || self.alive().is_empty().then_some(())).await;
    }
}

impl<R> Drop for Stage<R> {
    fn drop(&mut self) {
        // Each round looks anew, for one that is forking may have a child that the last look did not see.
        let mark = format!("FLEET_TEST={}", self.dir.path().display());
        loop {
            let left: Vec<ProcessId> = marked_with(&mark).into_iter().filter(|process| process.is_alive()).collect();
            if left.is_empty() {
                return;
            }
            for process in left {
                let _ = process.signal(Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

/// Returns the slot of a worker of the role `w`.
pub fn slot(worker: &str) -> Slot {
    let name = format!("w-{worker}");
    Slot { role: RoleName::from("w"), worker: WorkerName::from(name.as_str()) }
}

/// Waits until something is there; what is waited for happens in other processes, which tell nobody.
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, look).await
}

async fn until_within<T>(patience: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < patience, "it never came: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Tells whether a call was refused because the pane is gone.
pub fn is_gone<T>(result: &Result<T, PaneError>) -> bool {
    matches!(result, Err(PaneError::Gone(_)))
}

fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(300)..]).into_owned()
}
