//! The demo's own directory: its charter, the lists of files and the state of its daemon, gone when the demo ends.
//!
//! A demo that was killed cannot tidy up; the next one does it, for a lock tells whose owner is dead.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Signal, geteuid};

use super::batch;
use super::shipped;
use super::walk::Walked;
use crate::cli::exit::Failure;
use crate::process::marked_with;

const PREFIX: &str = "fleetd-demo-";
const LOCK: &str = "lock";
/// The variable by which a demo's daemon can be told from all others.
pub const MARK: &str = "FLEETD_DEMO";

/// A directory that belongs to one demo and goes with it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _held: File,
}

impl Scratch {
    /// Makes one below `base`, readable by nobody else; removes those of demos that were killed.
    pub fn new(base: &Path) -> Result<Scratch, Failure> {
        sweep(base);
        for number in 0..1000 {
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Scratch::held(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::io(format!("cannot make {}", path.display()), error)),
            }
        }
        Err(Failure::Other {
            message: format!("cannot make a directory for the demo in {}: every name is taken", base.display()),
            hints: vec!["name another place: TMPDIR=DIR fleetd demo".into()],
        })
    }

    fn held(path: PathBuf) -> Result<Scratch, Failure> {
        let lock = File::create(path.join(LOCK)).and_then(|file| {
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            Ok(file)
        });
        match lock {
            Ok(held) => Ok(Scratch { path, _held: held }),
            Err(error) => Err(Failure::io(format!("cannot write in {}", path.display()), error)),
        }
    }

    /// Returns the directory of the charter, in which the daemon runs.
    pub fn charter(&self) -> PathBuf {
        self.path.join("charter")
    }

    /// Returns the state directory of the daemon.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// Returns the configuration of the daemon: empty, so that the user's own plays no part.
    pub fn config(&self) -> PathBuf {
        self.path.join("fleetd.toml")
    }

    /// Returns where the daemon's output goes.
    pub fn log(&self) -> PathBuf {
        self.path.join("daemon.log")
    }

    /// Returns what marks the daemon in its environment.
    pub fn mark(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes the charter and one list of files for each part; returns the job for the recipe.
    pub fn lay_out(&self, walked: &Walked, top: u32) -> Result<serde_json::Value, Failure> {
        self.write(&self.config(), "")?;
        for (name, text) in shipped::FILES {
            self.write(&self.charter().join(name), text)?;
        }
        let mut parts = Vec::new();
        for (number, part) in batch::parts(&walked.files).into_iter().enumerate() {
            let path = self.path.join(format!("parts/{:02}.list", number + 1));
            self.write(&path, &batch::list(&walked.files[part]))?;
            parts.push(format!("@{}", batch::encode(path.as_os_str())));
        }
        let root = batch::encode(walked.root.as_os_str());
        Ok(serde_json::json!({ "root": root, "parts": parts, "top": top }))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(path, text))
            .map_err(|error| Failure::io(format!("cannot write {}", path.display()), error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next demo.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Removes what killed demos left behind: their daemon first, for it would go on for ever.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if is_ours && is_abandoned(&entry.path()) {
            for process in marked_with(&format!("{MARK}={}", entry.path().display())) {
                drop(process.signal(Signal::KILL));
            }
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// A directory without a lock is being made at this moment.
fn is_abandoned(path: &Path) -> bool {
    File::open(path.join(LOCK)).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cli::demo::walk::{Bounds, walk};

    #[test]
    fn a_scratch_is_private_and_goes_with_its_demo() {
        let base = tempfile::tempdir().expect("a place");
        let scratch = Scratch::new(base.path()).expect("made");
        let mode = fs::metadata(&scratch.path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert_eq!(fs::read_dir(base.path()).expect("there").count(), 0);
    }

    #[test]
    fn what_a_killed_demo_left_is_removed_and_what_a_living_one_has_is_not() {
        let base = tempfile::tempdir().expect("a place");
        let living = Scratch::new(base.path()).expect("made");
        let dead = base.path().join("fleetd-demo-1-0");
        fs::create_dir_all(dead.join("state")).expect("made");
        fs::write(dead.join(LOCK), "").expect("written");
        let other = Scratch::new(base.path()).expect("made");
        assert!(living.path.exists() && other.path.exists() && !dead.exists());
    }

    #[test]
    fn the_job_names_a_list_for_every_part() {
        let base = tempfile::tempdir().expect("a place");
        let tree = tempfile::tempdir().expect("a place");
        for number in 0..60 {
            fs::write(tree.path().join(format!("{number}\n.rs")), "x").expect("written");
        }
        let walked = walk(tree.path(), Bounds::default(), |_| true).expect("walked");
        let scratch = Scratch::new(base.path()).expect("made");
        let job = scratch.lay_out(&walked, 20).expect("written");
        let parts = job["parts"].as_array().expect("a list");
        assert_eq!(parts.len(), 3);
        let mut lines = 0;
        for part in parts {
            let path = part.as_str().and_then(|part| part.strip_prefix('@')).expect("a list");
            lines += fs::read_to_string(path).expect("written").lines().count();
        }
        assert_eq!(lines, 60);
        assert!(scratch.charter().join("bin/common.sh").exists());
    }
}
