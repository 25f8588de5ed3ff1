//! A repository with a leader's checkout, a remote, and a place for trees, for the tests of worktrees.
//! git is really run; nothing of the machine's own settings is read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fleetd::fleet::time::Time;
use fleetd::launch::worktree::{Kept, Made, Reason, Removed, Wanted, make, remove};
use tempfile::TempDir;

pub struct Rig {
    _dir: TempDir,
    /// The directory in which everything is, by its real path.
    pub dir: PathBuf,
}

/// When things happen.
pub const NOW: Time = Time(1_000_000_000);

impl Rig {
    /// Makes a checkout with a few files on `main`, and a bare remote that has it.
    pub fn new() -> Rig {
        let dir = TempDir::new().unwrap();
        let rig = Rig { dir: dir.path().canonicalize().unwrap(), _dir: dir };
        fs::create_dir(rig.repo()).unwrap();
        git(&rig.repo(), &["init", "-q", "-b", "main"]);
        write(&rig.repo().join("a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n");
        write(&rig.repo().join("src/lib.txt"), "fn\n");
        write(&rig.repo().join(".gitignore"), "target/\n.env\n");
        git(&rig.repo(), &["add", "-A"]);
        git(&rig.repo(), &["commit", "-q", "-m", "first"]);
        git(&rig.dir, &["clone", "-q", "--bare", "repo", "remote.git"]);
        git(&rig.repo(), &["remote", "add", "origin", rig.dir.join("remote.git").to_str().unwrap()]);
        git(&rig.repo(), &["fetch", "-q", "origin"]);
        rig
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.join("repo")
    }

    pub fn trash(&self) -> PathBuf {
        self.dir.join("state/trash")
    }

    pub fn wanted(&self, name: &str) -> Wanted {
        Wanted {
            repo: self.repo(),
            base: None,
            copy: Vec::new(),
            place: self.dir.join("state/worktrees").join(name),
            branch: format!("fleet/{name}"),
            owner: "me".into(),
        }
    }

    /// Makes a tree for a worker.
    pub fn tree(&self, name: &str) -> Made {
        make(&self.wanted(name)).unwrap()
    }

    pub fn remove(&self, made: &Made) -> Result<Removed, Kept> {
        remove(made, &self.trash(), NOW)
    }

    /// Removes a tree that must go.
    pub fn gone(&self, made: &Made) -> fleetd::launch::worktree::Entry {
        let removed = self.remove(made).unwrap_or_else(|kept| panic!("{kept}"));
        let entry = removed.trash.expect("it was there");
        assert!(!made.path.exists() && entry.tree().is_dir());
        assert_eq!(Made::find(&made.path).unwrap(), None);
        let listed = git(&self.repo(), &["worktree", "list", "--porcelain"]);
        let line = format!("worktree {}", made.path.display());
        assert!(!listed.lines().any(|known| known == line), "git still knows it: {listed}");
        entry
    }

    /// Removes a tree that must stay, and returns why.
    pub fn kept(&self, made: &Made) -> Vec<Reason> {
        let before = all_files(&made.path);
        let kept = self.remove(made).expect_err("it must not be removed");
        assert_eq!(all_files(&made.path), before, "it must be as it was");
        assert!(fleetd::launch::worktree::entries(&self.trash()).is_empty(), "the trash must be empty");
        assert_eq!(git(&self.repo(), &["for-each-ref", "refs/fleet"]), "", "nothing needs to be held");
        kept.reasons
    }
}

/// Runs git in a directory, as a person or an agent would; it must succeed.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let (ok, text) = try_git(dir, args);
    assert!(ok, "git {args:?} in {}: {text}", dir.display());
    text
}

pub fn try_git(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.args(["-c", "protocol.file.allow=always", "-c", "core.editor=true"]);
    // What git tidies up behind one's back would still be in the tree.
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]).args(args).current_dir(dir);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent").stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "w").env(format!("GIT_{who}_EMAIL"), "w@example.invalid");
    }
    let ran = command.output().unwrap();
    let text = String::from_utf8_lossy(if ran.status.success() { &ran.stdout } else { &ran.stderr }).into_owned();
    (ran.status.success(), text.trim_end().to_owned())
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a file and commits everything.
pub fn commit(dir: &Path, file: &str, text: impl AsRef<[u8]>) -> String {
    write(&dir.join(file), text);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "-m", &format!("change {file}")]);
    git(dir, &["rev-parse", "HEAD"])
}

/// Makes a tree with something to merge or to lose: two commits.
pub fn worked(rig: &Rig) -> (Made, String) {
    let made = rig.tree("w-1-5");
    commit(&made.path, "b.txt", "b\n");
    let tip = commit(&made.path, "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n");
    (made, tip)
}

/// Returns all files below a directory with what they hold.
pub fn all_files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_symlink() => {
                    found.push((
                        entry.path(),
                        fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
                    ));
                }
                _ => found.push((entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found.sort();
    found
}

/// Tells whether a commit can be reached from any ref of the repository.
pub fn is_reachable(repo: &Path, commit: &str) -> bool {
    let (known, text) = try_git(repo, &["for-each-ref", "--contains", commit]);
    known && !text.is_empty()
}
