//! The state directory of a fleet: made private, checked, and locked, so that one daemon at a time has it.
//!
//! The lock is the kernel's (`flock`) on the directory itself: it ends with the process, however that ends, and no file
//! can be removed with it. What stands in the lock file is for people and for the command line, which finds the daemon
//! by it. No SQL here.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use crate::process::ProcessId;

pub(super) const STORE: &str = "fleet.db";
const LOCK: &str = "lock";
const TURNS: &str = "turns";
const SESSIONS: &str = "sessions";
const AUDIT: &str = "audit.jsonl";
/// What the pane server has here: its socket, its lock, its logs.
const PANES: &str = "panes.";
/// What the command line reads to find the daemon; there only while one listens.
const DAEMON: &str = "daemon.json";

/// How long the lock of a daemon is waited for that was killed: a program that it was about to start has it for a moment.
const LEFT: Duration = Duration::from_secs(2);

/// The state directory, held by this process as long as one clone lives.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
    lock: Arc<Lock>,
}

/// Who holds a state directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The daemon's pid.
    pub pid: i32,
    /// When that process started, in the kernel's clock ticks since boot, to tell it from a later one with its pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Where it listens, once it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
}

impl StateDir {
    /// Makes the directory where it is missing, checks that it is ours and private, and takes its lock.
    pub fn take(path: &Path) -> Result<StateDir, StoreError> {
        make(path)?;
        let path = fs::canonicalize(path).map_err(|error| StoreError::of_dir(path, &error))?;
        check(&path)?;
        let lock = Lock::take(&path)?;
        for inner in [TURNS, SESSIONS].map(|name| path.join(name)) {
            private_builder().create(&inner).map_err(|error| StoreError::of_dir(&inner, &error))?;
        }
        Ok(StateDir { path, lock: Arc::new(lock) })
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file of the store.
    pub fn store_file(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// Returns the file of the audit; older ones lie beside it.
    pub fn audit_file(&self) -> PathBuf {
        self.path.join(AUDIT)
    }

    /// Returns the directory in which each turn of a process has its files.
    pub fn turns(&self) -> PathBuf {
        self.path.join(TURNS)
    }

    /// Returns the directory in which each session has its files.
    pub fn sessions(&self) -> PathBuf {
        self.path.join(SESSIONS)
    }

    /// Moves the files of all turns and sessions aside, where there are any, for a store that is new: it gives the
    /// numbers of those before once more, and what an older one left would pass for theirs.
    pub(super) fn set_old_files_aside(&self) -> Result<(), StoreError> {
        for name in [TURNS, SESSIONS] {
            let files = self.path.join(name);
            let failed = |error: std::io::Error| StoreError::of_dir(&files, &error);
            if fs::read_dir(&files).map_err(failed)?.next().is_none() {
                continue;
            }
            let mut aside = (1..).map(|n| self.path.join(format!("{name}.old-{n}")));
            let aside = aside.find(|aside| fs::symlink_metadata(aside).is_err()).expect("numbers do not end");
            fs::rename(&files, &aside).map_err(failed)?;
            private_builder().create(&files).map_err(failed)?;
            File::open(&self.path).and_then(|dir| dir.sync_all()).map_err(failed)?;
            tracing::warn!(aside = %aside.display(), "the store is new: files that an older one left were moved aside");
        }
        Ok(())
    }

    /// Writes where the daemon listens: into the lock, for a second daemon's refusal, and into `daemon.json`, where
    /// the command line looks for it.
    pub fn announce(&self, listen: &str) -> Result<(), StoreError> {
        let holder = Holder { listen: Some(listen.into()), ..Holder::this_process() };
        let written = self.lock.write(&holder).and_then(|()| self.lock.tell(&holder));
        written.map_err(|error| StoreError::of_dir(&self.path, &error))
    }

    /// Returns who says that it holds a directory. It may have died since: only talking to it shows that it lives.
    pub fn holder(path: &Path) -> Option<Holder> {
        let mut text = String::new();
        File::open(path.join(LOCK)).ok()?.take(4096).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

impl Holder {
    /// Returns whether the process that wrote this is known to have ended.
    fn is_dead(&self) -> bool {
        let pid = u32::try_from(self.pid).unwrap_or_default();
        let process = self.start.map(|start_time| ProcessId { pid, start_time });
        process.is_some_and(|process| !process.is_alive())
    }

    fn this_process() -> Holder {
        Holder { pid: rustix::process::getpid().as_raw_nonzero().get(), start: start_of_this_process(), listen: None }
    }
}

fn lock_both(file: &File, dir: &File) -> Result<(), Errno> {
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    match flock(dir, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
        // Some file systems of a network lock files only.
        _ => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody tells when a lock is free that is not waited for in the kernel")]
fn rest() {
    std::thread::sleep(Duration::from_millis(10));
}

#[derive(Debug)]
struct Lock {
    file: File,
    /// The directory, locked as well where its file system can: somebody may remove the file.
    _dir: File,
    told: PathBuf,
}

impl Lock {
    fn take(dir: &Path) -> Result<Lock, StoreError> {
        let failed = |error: &std::io::Error| StoreError::of_dir(dir, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(dir.join(LOCK))
            .map_err(|error| failed(&error))?;
        let opened = File::open(dir).map_err(|error| failed(&error))?;
        let end = Instant::now() + LEFT;
        loop {
            match lock_both(&file, &opened) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) => {
                    let holder = StateDir::holder(dir);
                    if holder.as_ref().is_some_and(Holder::is_dead) && Instant::now() < end {
                        rest();
                        continue;
                    }
                    let (pid, listen) = holder.map_or((None, None), |holder| (Some(holder.pid), holder.listen));
                    return Err(StoreError::Held { dir: dir.into(), pid, listen });
                }
                Err(errno) => return Err(failed(&errno.into())),
            }
        }
        let lock = Lock { file, _dir: opened, told: dir.join(DAEMON) };
        // What a killed daemon left would send the command line to an address that may now be another program's.
        lock.untell().and_then(|()| lock.write(&Holder::this_process())).map_err(|error| failed(&error))?;
        Ok(lock)
    }

    /// Writes first and cuts after, so that a reader sees the old text, the new one, or one that does not parse,
    /// and never an empty file of a living daemon.
    fn write(&self, holder: &Holder) -> std::io::Result<()> {
        let mut text = serde_json::to_string(holder)?;
        text.push('\n');
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }

    /// Written aside and renamed: a reader sees all of it or nothing.
    fn tell(&self, holder: &Holder) -> std::io::Result<()> {
        let aside = self.told.with_extension("json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(serde_json::to_string(holder)?.as_bytes())?;
        fs::rename(&aside, &self.told)
    }

    fn untell(&self) -> std::io::Result<()> {
        match fs::remove_file(&self.told) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A name in a lock that nobody holds would only mislead; the lock itself goes with the file.
        if let Err(error) = self.untell().and_then(|()| self.file.set_len(0)) {
            tracing::debug!(%error, "the name of this daemon stays in its state directory");
        }
    }
}

fn private_builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

fn make(path: &Path) -> Result<(), StoreError> {
    private_builder().create(path).map_err(|error| match fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            StoreError::NotWritable { dir: path.into(), why: "it is a file and not a directory".into() }
        }
        _ => StoreError::of_dir(path, &error),
    })
}

/// Refuses what is not ours, and closes what is ours but open: not where other things lie, since that may be a
/// directory such as `/tmp` that was named by mistake.
fn check(dir: &Path) -> Result<(), StoreError> {
    let found = fs::metadata(dir).map_err(|error| StoreError::of_dir(dir, &error))?;
    let me = rustix::process::geteuid().as_raw();
    if found.uid() != me {
        return Err(StoreError::OtherOwner { dir: dir.into(), owner: found.uid(), me });
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let begins = [TURNS, SESSIONS, STORE, DAEMON, AUDIT, PANES];
    let is_ours = |name: &str| name == LOCK || begins.iter().any(|begin| name.starts_with(begin));
    let names = fs::read_dir(dir).map_err(|error| StoreError::of_dir(dir, &error))?;
    let holds_others = names.flatten().any(|entry| !entry.file_name().to_str().is_some_and(is_ours));
    if holds_others {
        return Err(StoreError::OpenToOthers { dir: dir.into(), mode });
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(|error| StoreError::of_dir(dir, &error))
}

/// Returns field 22 of `/proc/self/stat`, where there is one. The name in field 2 may hold spaces and brackets.
fn start_of_this_process() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
