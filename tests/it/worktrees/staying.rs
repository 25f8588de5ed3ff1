//! What keeps a tree from being removed: one shape of a history a test, with the reason as people read it.
//! What keeps none is in `going`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fleetd::launch::worktree::{Made, Reason, make, reasons};

use super::rig::{Rig, commit, git, is_reachable, try_git, worked, write};

/// Sees that a tree stays for one reason, which says this.
#[track_caller]
pub fn kept_for(rig: &Rig, made: &Made, what: &str) {
    let found = rig.kept(made);
    let said = found.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(said.len() == 1 && said[0].contains(what), "wanted {what:?}: {said:?}");
}

#[test]
fn what_is_not_committed_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    write(&made.path.join("a.txt"), "changed");
    kept_for(&rig, &made, "1 file is changed and not committed (a.txt)");
    git(&made.path, &["add", "a.txt"]);
    kept_for(&rig, &made, "changed and not committed (a.txt)");
    // Staged, and in the working file taken back: the change is only in the index.
    git(&made.path, &["show", "HEAD:a.txt"]);
    write(&made.path.join("a.txt"), git(&made.path, &["show", "HEAD:a.txt"]) + "\n");
    kept_for(&rig, &made, "changed and not committed (a.txt)");
    git(&made.path, &["reset", "-q", "--hard"]);
    write(&made.path.join("new file"), "x");
    kept_for(&rig, &made, "1 file is not tracked (new file): commit, ignore or remove");
    git(&made.path, &["add", "-N", "new file"]);
    kept_for(&rig, &made, "changed and not committed (new file)");
    git(&made.path, &["rm", "-q", "-f", "--cached", "new file"]);
    fs::remove_file(made.path.join("new file")).unwrap();
    fs::remove_file(made.path.join("a.txt")).unwrap();
    kept_for(&rig, &made, "changed and not committed (a.txt)");
}

#[test]
fn a_repository_of_its_own_inside_the_tree_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    fs::create_dir(made.path.join("nested")).unwrap();
    git(&made.path.join("nested"), &["init", "-q"]);
    commit(&made.path.join("nested"), "x", "x");
    kept_for(&rig, &made, "not tracked (nested/)");
}

#[test]
fn changes_that_git_was_told_not_to_look_at_stay() {
    let rig = Rig::new();
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let made = rig.tree(&format!("w{mark}"));
        git(&made.path, &["update-index", mark, "a.txt"]);
        assert_eq!(reasons(&made), [], "{mark}: nothing is changed yet");
        write(&made.path.join("a.txt"), "hidden");
        assert_eq!(git(&made.path, &["status", "--porcelain"]), "", "git does not see it");
        kept_for(&rig, &made, "1 file is changed that git was told not to look at (a.txt)");
    }
}

#[test]
fn a_stash_on_its_branch_stays_until_it_is_dropped() {
    let rig = Rig::new();
    // One of the leader's own is nobody's business.
    write(&rig.repo().join("a.txt"), "leader");
    git(&rig.repo(), &["stash", "-q"]);
    let made = rig.tree("w-1-5");
    write(&made.path.join("a.txt"), "worker");
    git(&made.path, &["stash", "push", "-q", "-m", "half: done"]);
    kept_for(&rig, &made, "a stash was made on its branch (stash@{0}: On fleet/w-1-5: half: done)");
    git(&made.path, &["stash", "drop", "-q"]);
    git(&made.path, &["checkout", "-q", "--detach"]);
    write(&made.path.join("a.txt"), "worker");
    git(&made.path, &["stash", "-q"]);
    kept_for(&rig, &made, "a stash was made on its branch (stash@{0}: WIP on (no branch)");
    git(&made.path, &["stash", "drop", "-q"]);
    rig.gone(&made);
}

#[test]
fn what_was_begun_and_not_ended_stays() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    git(&made.path, &["push", "-q", "origin", "fleet/w-1-5"]);
    commit(&rig.repo(), "a.txt", "other\n");
    for (begin, what, abort) in [
        (&["merge", "main"][..], "a merge was begun", &["merge", "--abort"][..]),
        (&["rebase", "main"], "a rebase was begun", &["rebase", "--abort"]),
        (&["cherry-pick", "main"], "a cherry-pick was begun", &["cherry-pick", "--abort"]),
    ] {
        assert!(!try_git(&made.path, begin).0, "it is a conflict");
        let said: Vec<String> = rig.kept(&made).iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|line| line.starts_with(what)), "{said:?}");
        assert!(said.iter().any(|line| line.contains("changed and not committed (a.txt)")), "{said:?}");
        git(&made.path, abort);
    }
    git(&made.path, &["bisect", "start"]);
    kept_for(&rig, &made, "a bisection was begun");
    git(&made.path, &["bisect", "reset"]);
    let lock = rig.repo().join(".git/worktrees/w-1-5/index.lock");
    write(&lock, "");
    kept_for(&rig, &made, "a git command is at work in it; if none is, remove ");
    fs::remove_file(lock).unwrap();
    rig.gone(&made);
}

#[test]
fn detached_commits_stay() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    git(&made.path, &["checkout", "-q", "--detach"]);
    commit(&made.path, "b.txt", "b");
    kept_for(&rig, &made, "1 commit is in no branch and not pushed (");
    git(&made.path, &["branch", "mine", "HEAD"]);
    assert_eq!(reasons(&made), []);
    // And the branch's own, when something else is checked out.
    let made = rig.tree("w-1-6");
    commit(&made.path, "c.txt", "c");
    git(&made.path, &["checkout", "-q", "--detach", "main"]);
    kept_for(&rig, &made, "1 commit is in no other branch");
}

#[test]
fn what_only_looks_merged_stays() {
    let rig = Rig::new();
    // A change of white space alone, which the usual patch id does not see.
    let made = rig.tree("w-space");
    commit(&made.path, "a.txt", "one\n  two\nthree\nfour\nfive\nsix\nseven\neight\n");
    commit(&rig.repo(), "a.txt", "one\n    two\nthree\nfour\nfive\nsix\nseven\neight\n");
    kept_for(&rig, &made, "1 commit is in no other branch");
    // Two binary files of the same name.
    let made = rig.tree("w-binary");
    commit(&made.path, "image", b"\0\x01the worker's");
    commit(&rig.repo(), "image", b"\0\x01the leader's");
    kept_for(&rig, &made, "1 commit is in no other branch");
    // The same files and other modes.
    let made = rig.tree("w-mode");
    git(&made.path, &["update-index", "--chmod=+x", "a.txt"]);
    git(&made.path, &["commit", "-q", "-m", "mode"]);
    git(&made.path, &["checkout", "-q", "--", "a.txt"]);
    kept_for(&rig, &made, "1 commit is in no other branch");
    // An empty file.
    let made = rig.tree("w-empty");
    commit(&made.path, "empty", "");
    kept_for(&rig, &made, "1 commit is in no other branch");
    // Done and undone: what was done in between is nowhere.
    let made = rig.tree("w-undone");
    commit(&made.path, "idea.txt", "idea");
    git(&made.path, &["revert", "--no-edit", "HEAD"]);
    kept_for(&rig, &made, "2 commits are in no other branch");
    // Half of it.
    let made = rig.tree("w-half");
    commit(&made.path, "x.txt", "x\n");
    commit(&made.path, "y.txt", "y\n");
    commit(&rig.repo(), "z.txt", "z");
    git(&rig.repo(), &["cherry-pick", "fleet/w-half~1"]);
    kept_for(&rig, &made, "2 commits are in no other branch");
}

#[test]
fn a_binary_file_that_was_squashed_as_it_is_goes() {
    let rig = Rig::new();
    let made = rig.tree("w-binary");
    commit(&made.path, "image", b"\0\x01one");
    commit(&made.path, "image", b"\0\x01two");
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-binary"]);
    git(&rig.repo(), &["commit", "-q", "-m", "squashed"]);
    commit(&rig.repo(), "image", b"\0\x01three");
    rig.gone(&made);
}

#[test]
fn what_a_merge_added_itself_stays() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    commit(&rig.repo(), "c.txt", "c");
    git(&made.path, &["merge", "-q", "--no-commit", "main"]);
    write(&made.path.join("smuggled.txt"), "in the merge alone");
    git(&made.path, &["add", "-A"]);
    git(&made.path, &["commit", "-q", "-m", "merge"]);
    git(&rig.repo(), &["cherry-pick", "fleet/w-1-5~2", "fleet/w-1-5~1"]);
    kept_for(&rig, &made, "3 commits are in no other branch");
}

#[test]
fn a_merge_that_added_nothing_goes_with_its_picked_commits() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    commit(&rig.repo(), "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n");
    git(&made.path, &["merge", "-q", "--no-edit", "main"]);
    git(&rig.repo(), &["cherry-pick", "fleet/w-1-5~2", "fleet/w-1-5~1"]);
    commit(&rig.repo(), "b.txt", "moved on\n");
    rig.gone(&made);
}

#[test]
fn a_locked_tree_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let path = made.path.to_str().unwrap();
    git(&rig.repo(), &["worktree", "lock", "--reason", "on a stick", path]);
    kept_for(&rig, &made, "it is locked (on a stick): git worktree unlock");
    git(&rig.repo(), &["worktree", "unlock", path]);
    rig.gone(&made);
}

struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn sleeper(dir: &Path, stdin: Stdio) -> Sleeper {
    Sleeper(Command::new("sleep").arg("600").current_dir(dir).stdin(stdin).spawn().unwrap())
}

#[test]
fn a_tree_in_use_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let process = sleeper(&made.path.join("src"), Stdio::null());
    kept_for(&rig, &made, &format!("it is in use by {} (sleep): end or leave", process.0.id()));
    drop(process);
    let process = sleeper(Path::new("/"), fs::File::open(made.path.join("a.txt")).unwrap().into());
    kept_for(&rig, &made, &format!("in use by {} (sleep)", process.0.id()));
    drop(process);
    rig.gone(&made);
}

#[test]
fn a_tree_beside_one_with_a_longer_name_is_not_taken_for_it() {
    let rig = Rig::new();
    let (made, longer) = (rig.tree("w-1-5"), rig.tree("w-1-55"));
    let _process = sleeper(&longer.path, Stdio::null());
    rig.gone(&made);
    assert!(matches!(reasons(&longer)[..], [Reason::InUse(_)]));
}

#[test]
fn commits_in_a_submodule_stay_until_they_are_pushed() {
    let rig = Rig::new();
    git(&rig.dir, &["clone", "-q", "--bare", "repo", "sub.git"]);
    let url = rig.dir.join("sub.git");
    git(&rig.repo(), &["submodule", "add", "-q", url.to_str().unwrap(), "sub"]);
    git(&rig.repo(), &["commit", "-q", "-m", "a submodule"]);
    let made = rig.tree("w-1-5");
    git(&made.path, &["submodule", "update", "-q", "--init"]);
    assert_eq!(reasons(&made), []);
    let sub = made.path.join("sub");
    commit(&sub, "s.txt", "s");
    git(&made.path, &["commit", "-q", "-am", "bump"]);
    git(&made.path, &["push", "-q", "origin", "fleet/w-1-5"]);
    kept_for(&rig, &made, "the submodule sub has commits or stashes that are not pushed");
    git(&sub, &["push", "-q", "origin", "HEAD:refs/heads/work"]);
    let entry = rig.gone(&made);
    assert_eq!(git(&entry.tree().join("sub"), &["log", "-1", "--format=%s"]), "change s.txt");
}

#[test]
fn what_is_not_the_tree_that_was_made_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    fs::remove_file(made.path.join(".git")).unwrap();
    kept_for(&rig, &made, "it has no file .git");
    git(&made.path, &["init", "-q"]);
    kept_for(&rig, &made, "it has no file .git");
    fs::remove_dir_all(made.path.join(".git")).unwrap();
    write(&made.path.join(".git"), format!("gitdir: {}\n", rig.dir.join("remote.git").display()));
    kept_for(&rig, &made, "its file .git names another repository");
    write(&made.path.join(".git"), format!("gitdir: {}\n", rig.repo().join(".git/worktrees/none").display()));
    kept_for(&rig, &made, "the repository does not know it any more");
}

#[test]
fn of_two_trees_with_the_same_commits_the_last_one_stays() {
    let rig = Rig::new();
    let (first, tip) = worked(&rig);
    let mut wanted = rig.wanted("w-2-6");
    wanted.base = Some("fleet/w-1-5".into());
    let second = make(&wanted).unwrap();
    commit(&second.path, "more.txt", "more");
    rig.gone(&first);
    assert!(is_reachable(&rig.repo(), &tip), "the second one has them");
    let found = reasons(&second);
    assert!(matches!(&found[..], [Reason::Unmerged { .. }]), "{found:?}");
}

#[test]
fn a_tree_that_began_with_the_work_of_one_that_went_since_stays() {
    let rig = Rig::new();
    let (first, tip) = worked(&rig);
    let mut wanted = rig.wanted("w-2-6");
    wanted.base = Some("fleet/w-1-5".into());
    let second = make(&wanted).unwrap();
    // The second one has them all, and did nothing of its own.
    rig.gone(&first);
    let found = reasons(&second);
    assert!(matches!(&found[..], [Reason::Unmerged { commits, .. }] if commits.count == 2), "{found:?}");
    assert!(is_reachable(&rig.repo(), &tip));
}

#[test]
fn two_that_go_at_once_do_not_rely_on_each_other() {
    for _ in 0..4 {
        let rig = Rig::new();
        let (first, tip) = worked(&rig);
        let second = rig.tree("w-2-6");
        git(&second.path, &["reset", "-q", "--hard", &tip]);
        let other = &rig;
        let (one, two) = std::thread::scope(|scope| {
            let one = scope.spawn(|| other.remove(&first).is_ok());
            let two = scope.spawn(|| other.remove(&second).is_ok());
            (one.join().unwrap(), two.join().unwrap())
        });
        assert!(one != two, "exactly one goes: {one} {two}");
        assert!(try_git(&rig.repo(), &["for-each-ref", "--contains", &tip, "refs/heads"]).1.contains("fleet/"));
    }
}

#[test]
fn why_it_was_kept_is_noted_beside_it() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    write(&made.path.join("new.txt"), "x");
    let kept = rig.remove(&made).unwrap_err();
    assert_eq!(kept.to_string(), "w-1-5 is kept: 1 file is not tracked (new.txt): commit, ignore or remove");
    let noted = Made::find(&made.path).unwrap().unwrap();
    assert_eq!(noted.kept, ["1 file is not tracked (new.txt): commit, ignore or remove"]);
}
