//! Random histories with git really run: whatever happens in a tree and beside it, a removal loses nothing, what must
//! stay stays, and what can go goes. What must be is told by other means than those of the code under test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fleetd::launch::worktree::{Made, make};
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::rig::{Rig, all_files, commit, git, try_git, write};

/// Something that happens. Files are few, so that histories meet in them.
#[derive(Clone, Debug)]
enum Act {
    /// In the tree.
    Commit(u8),
    Amend(u8),
    Back,
    Revert,
    Dirty(u8),
    Untracked(u8),
    Ignored,
    Stage,
    Clean,
    Stash,
    Unstash,
    Detach,
    OwnBranch,
    Home,
    MergeMain,
    Rebase,
    Push,
    Enter,
    Leave,
    /// In the leader's checkout, or at the remote.
    Lead(u8),
    Merge,
    Squash,
    Pick,
    SquashAtRemote,
    Fetch,
    Tag,
    /// The removal, and a new tree if it is gone.
    Remove,
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    let file = 0..4_u8;
    prop_oneof![
        8 => file.clone().prop_map(Commit),
        2 => file.clone().prop_map(Amend),
        1 => Just(Back),
        1 => Just(Revert),
        2 => file.clone().prop_map(Dirty),
        1 => file.clone().prop_map(Untracked),
        1 => Just(Ignored),
        1 => Just(Stage),
        3 => Just(Clean),
        1 => Just(Stash),
        1 => Just(Unstash),
        1 => Just(Detach),
        1 => Just(OwnBranch),
        1 => Just(Home),
        2 => Just(MergeMain),
        2 => Just(Rebase),
        2 => Just(Push),
        1 => Just(Enter),
        2 => Just(Leave),
        3 => file.prop_map(Lead),
        2 => Just(Merge),
        4 => Just(Squash),
        3 => Just(Pick),
        2 => Just(SquashAtRemote),
        1 => Just(Fetch),
        1 => Just(Tag),
        5 => Just(Remove),
    ]
}

/// A world in which things happen, with what is known of it.
struct World {
    rig: Rig,
    made: Made,
    trees: u32,
    /// Counts up: each text is written once in a world.
    texts: u32,
    /// All commits that were ever checked out in a tree.
    seen: BTreeSet<String>,
    /// The commit at which all of the tree's work was squashed or picked.
    landed: Option<String>,
    inside: Option<Child>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.act(&Act::Leave);
    }
}

impl World {
    fn new() -> World {
        let rig = Rig::new();
        for file in 0..3 {
            write(&rig.repo().join(name(file)), body(0, "start"));
        }
        commit(&rig.repo(), "more.txt", "more");
        git(&rig.repo(), &["push", "-q", "origin", "main"]);
        git(&rig.dir, &["clone", "-q", "remote.git", "other"]);
        let made = rig.tree("w-1-1");
        World { rig, made, trees: 1, texts: 0, seen: BTreeSet::new(), landed: None, inside: None }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("tok-{}-", self.texts)
    }

    /// Puts a new line into a file: the worker's and the leader's lie at different places, so that they often merge.
    fn edit(&mut self, dir: &Path, file: u8, line: usize) {
        let token = self.text();
        let path = dir.join(name(file));
        let old = fs::read_to_string(&path).unwrap_or_else(|_| body(0, "new"));
        let mut lines: Vec<&str> = old.lines().collect();
        let line = line.min(lines.len());
        lines.insert(line, &token);
        write(&path, lines.join("\n") + "\n");
    }

    fn head(&self) -> String {
        git(&self.made.path, &["rev-parse", "HEAD"])
    }

    fn act(&mut self, act: &Act) {
        let (tree, repo) = (self.made.path.clone(), self.rig.repo());
        let in_tree = |args: &[&str]| try_git(&tree, args).0;
        match act {
            Act::Commit(file) => {
                self.edit(&tree, *file, 2);
                in_tree(&["add", "-A"]);
                in_tree(&["commit", "-q", "-m", "work"]);
            }
            Act::Amend(file) if self.head() != self.made.base => {
                self.edit(&tree, *file, 2);
                in_tree(&["commit", "-q", "-a", "--amend", "-m", "amended"]);
            }
            Act::Back if self.head() != self.made.base => drop(in_tree(&["reset", "-q", "--hard", "HEAD~1"])),
            Act::Revert if self.head() != self.made.base => {
                if !in_tree(&["revert", "--no-edit", "HEAD"]) {
                    in_tree(&["revert", "--abort"]);
                }
            }
            Act::Dirty(file) => self.edit(&tree, *file, 2),
            Act::Untracked(file) => self.edit(&tree, 10 + file, 2),
            Act::Ignored => {
                let text = self.text();
                write(&tree.join("target/out"), text);
            }
            Act::Stage => drop(in_tree(&["add", "-A"])),
            Act::Clean => {
                in_tree(&["reset", "-q", "--hard"]);
                in_tree(&["clean", "-q", "-f", "-d"]);
            }
            Act::Stash => drop(in_tree(&["stash", "-q"])),
            Act::Unstash => drop(in_tree(&["stash", "drop", "-q"])),
            Act::Detach => drop(in_tree(&["checkout", "-q", "--detach"])),
            Act::OwnBranch => drop(in_tree(&["checkout", "-q", "-b", &format!("own-{}", self.texts)])),
            Act::Home => drop(in_tree(&["checkout", "-q", &self.made.branch])),
            Act::MergeMain => {
                if !in_tree(&["merge", "-q", "--no-edit", "main"]) {
                    in_tree(&["merge", "--abort"]);
                }
            }
            Act::Rebase => {
                if !in_tree(&["rebase", "-q", "main"]) {
                    in_tree(&["rebase", "--abort"]);
                }
            }
            Act::Push => drop(in_tree(&["push", "-q", "-f", "origin", &self.made.branch])),
            Act::Enter if self.inside.is_none() => {
                let mut sleep = Command::new("sleep");
                self.inside = Some(sleep.arg("600").current_dir(&tree).stdin(Stdio::null()).spawn().unwrap());
            }
            Act::Leave => {
                if let Some(mut child) = self.inside.take() {
                    child.kill().unwrap();
                    child.wait().unwrap();
                }
            }
            Act::Lead(file) => {
                self.edit(&repo, *file, 9);
                git(&repo, &["add", "-A"]);
                git(&repo, &["commit", "-q", "-m", "lead"]);
            }
            Act::Merge => {
                if !try_git(&repo, &["merge", "-q", "--no-edit", &self.head()]).0 {
                    git(&repo, &["merge", "--abort"]);
                }
            }
            Act::Squash => self.squash(&repo),
            Act::SquashAtRemote => {
                let other = self.rig.dir.join("other");
                git(&other, &["pull", "-q"]);
                git(&other, &["fetch", "-q", repo.to_str().unwrap(), &self.head()]);
                let before = self.landed.take();
                self.squash(&other);
                let landed = std::mem::replace(&mut self.landed, before);
                git(&other, &["push", "-q", "origin", "main"]);
                git(&repo, &["fetch", "-q", "origin"]);
                self.landed = landed.or(self.landed.take());
            }
            Act::Pick => {
                let head = self.head();
                let merges = git(&repo, &["rev-list", "--merges", &format!("main..{head}")]);
                let commits = git(&repo, &["rev-list", "--reverse", &format!("main..{head}")]);
                if commits.is_empty() || !merges.is_empty() {
                    return;
                }
                let before = git(&repo, &["rev-parse", "HEAD"]);
                let args: Vec<&str> = ["cherry-pick", "--allow-empty"].into_iter().chain(commits.lines()).collect();
                match try_git(&repo, &args).0 {
                    true => self.landed = Some(head),
                    false => drop(git(&repo, &["reset", "-q", "--hard", &before])),
                }
            }
            Act::Fetch => drop(git(&repo, &["fetch", "-q", "origin"])),
            Act::Tag => drop(try_git(&repo, &["tag", &format!("tag-{}", self.head()), &self.head()])),
            Act::Remove => self.remove(),
            Act::Amend(_) | Act::Back | Act::Revert | Act::Enter => {}
        }
        if !matches!(act, Act::Leave) {
            self.seen.insert(self.head());
        }
    }

    fn squash(&mut self, dir: &Path) {
        let head = self.head();
        let clean = try_git(dir, &["merge", "-q", "--squash", &head]).0;
        let brought = !git(dir, &["status", "--porcelain"]).is_empty();
        match clean && brought && try_git(dir, &["commit", "-q", "-m", "squash"]).0 {
            true => self.landed = Some(head),
            false => drop(git(dir, &["reset", "-q", "--hard"])),
        }
    }

    /// Returns the texts that a history has, in any of its commits.
    fn tokens(&self, args: &[&str]) -> BTreeSet<String> {
        let text = git(&self.rig.repo(), &[&["log", "-p", "-m", "--format="], args].concat());
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .filter(|word| word.starts_with("tok-"))
            .map(str::to_owned)
            .collect()
    }

    fn remove(&mut self) {
        let (repo, tree) = (self.rig.repo(), self.made.path.clone());
        let branch = format!("refs/heads/{}", self.made.branch);
        let mut tips = vec![self.head()];
        tips.extend(
            try_git(&repo, &["rev-parse", "--verify", "-q", &branch]).0.then(|| git(&repo, &["rev-parse", &branch])),
        );
        let elsewhere = [&format!("--exclude={}", self.made.branch), "--branches", "--remotes", "--tags"];

        let dirty = !git(&tree, &["status", "--porcelain"]).is_empty();
        let stashed = try_git(&repo, &["stash", "list"]).1;
        let on = git(&tree, &["rev-parse", "--abbrev-ref", "HEAD"]);
        let may_be_ours = stashed.lines().any(|line| {
            line.contains("(no branch)")
                || line.contains(&format!("on {}: ", self.made.branch))
                || line.contains(&format!("on {on}: "))
        });
        let theirs = self.tokens(&elsewhere);
        let mut unmerged = false;
        let mut unclear = false;
        for tip in &tips {
            let own =
                git(&repo, &[&["rev-list", tip, &format!("^{}", self.made.base), "--not"], &elsewhere[..]].concat());
            let (_, words) = try_git(&repo, &["grep", "-h", "-o", "-E", "tok-[0-9]+-", tip]);
            // One that no other history has ever had can be in no squash and in no pick.
            unmerged |= words.lines().any(|word| !theirs.contains(word));
            unclear |= !own.is_empty() && self.landed.as_ref() != Some(tip);
        }

        let files = all_files(&tree);
        let refs = git(&repo, &["for-each-ref"]);
        let removed = self.rig.remove(&self.made);
        let told = removed.as_ref().map_or_else(ToString::to_string, |_| "removed".into());
        if dirty || unmerged || self.inside.is_some() {
            assert!(removed.is_err(), "it must stay: dirty {dirty}, unmerged {unmerged}, {:?}", self.inside);
        }
        if !dirty && !may_be_ours && !unclear && self.inside.is_none() {
            assert!(removed.is_ok(), "it must go: {told}");
        }
        let Ok(removed) = removed else {
            assert_eq!(all_files(&tree), files, "{told}");
            assert_eq!(git(&repo, &["for-each-ref"]), refs, "{told}");
            return;
        };
        let entry = removed.trash.expect("it was there");
        let is_git = |path: &PathBuf, top: &Path| path == &top.join(".git");
        let below = |files: Vec<(PathBuf, Vec<u8>)>, top: &Path| -> Vec<(PathBuf, Vec<u8>)> {
            let kept = files.into_iter().filter(|(path, _)| !is_git(path, top));
            kept.map(|(path, bytes)| (path.strip_prefix(top).unwrap().to_owned(), bytes)).collect()
        };
        assert_eq!(below(all_files(&entry.tree()), &entry.tree()), below(files, &tree), "all files are in the trash");
        for commit in &self.seen {
            let held = git(&repo, &["for-each-ref", "--count=1", "--contains", commit]);
            assert!(!held.is_empty(), "{commit} is lost ({told})");
        }
        let lost = git(&repo, &["fsck", "--no-dangling", "--connectivity-only"]);
        assert_eq!(lost, "");

        self.trees += 1;
        self.landed = None;
        let mut wanted = self.rig.wanted(&format!("w-1-{}", self.trees));
        // A stash of the tree that went is no matter of the next one.
        wanted.base = Some("main".into());
        self.made = make(&wanted).unwrap();
    }
}

fn name(file: u8) -> String {
    format!("file-{file}.txt")
}

fn body(from: u32, word: &str) -> String {
    (from..from + 12).map(|n| format!("{word} {n}\n")).collect()
}

/// Lets everything happen, and then removes the tree, at the latest when nothing is left to commit.
fn play(acts: &[Act]) {
    let mut world = World::new();
    acts.iter().for_each(|act| world.act(act));
    for act in [Act::Remove, Act::Leave, Act::Clean, Act::Remove] {
        world.act(&act);
    }
}

/// Commits, and the ways in which they come to other branches.
fn landing() -> impl Strategy<Value = Act> {
    use Act::*;
    let file = 0..3_u8;
    prop_oneof![
        6 => file.clone().prop_map(Commit),
        1 => file.clone().prop_map(Amend),
        1 => Just(Revert),
        2 => Just(MergeMain),
        2 => Just(Rebase),
        1 => Just(Push),
        3 => file.prop_map(Lead),
        2 => Just(Merge),
        4 => Just(Squash),
        3 => Just(Pick),
        2 => Just(SquashAtRemote),
        4 => Just(Remove),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 8, failure_persistence: None, max_shrink_iters: 0, ..Config::default() })]

    #[test]
    fn whatever_happens_nothing_is_lost_and_what_can_go_goes(acts in prop::collection::vec(act(), 6..20)) {
        play(&acts);
    }

    #[test]
    fn however_work_lands_it_is_known_again_and_no_other_is(acts in prop::collection::vec(landing(), 4..14)) {
        play(&acts);
    }
}
