//! What does not keep a tree from being removed: one shape of a history a test, and where its work is afterwards.
//! What keeps one is in `staying`, what becomes of the trash in `trash`.

use std::fs;

use fleetd::launch::worktree::{Made, make};

use super::rig::{Rig, commit, git, is_reachable, try_git, worked, write};
use super::staying::kept_for;

fn has_branch(rig: &Rig) -> bool {
    try_git(&rig.repo(), &["show-ref", "--verify", "refs/heads/fleet/w-1-5"]).0
}

#[test]
fn an_untouched_tree_goes_with_its_branch() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let entry = rig.gone(&made);
    assert!(!has_branch(&rig));
    assert_eq!(entry.kept, None, "nothing is held that the base has");
}

#[test]
fn build_output_and_what_was_brought_along_keep_nothing_but_are_in_the_trash() {
    let rig = Rig::new();
    write(&rig.repo().join(".env"), "KEY=1");
    write(&rig.repo().join("local.toml"), "mine");
    write(&rig.repo().join("a.txt"), "the leader's");
    let mut wanted = rig.wanted("w-1-5");
    wanted.copy = vec![".env".into(), "local.toml".into(), "a.txt".into()];
    let made = make(&wanted).unwrap();
    write(&made.path.join("target/debug/out"), "built");
    write(&made.path.join(".fleet/t1.md"), "a text");
    let entry = rig.gone(&made);
    for (file, text) in [("target/debug/out", "built"), (".env", "KEY=1"), ("local.toml", "mine")] {
        assert_eq!(fs::read_to_string(entry.tree().join(file)).unwrap(), text);
    }
}

#[test]
fn what_was_brought_along_and_changed_since_is_work() {
    let rig = Rig::new();
    write(&rig.repo().join("local.toml"), "mine");
    write(&rig.repo().join("a.txt"), "the leader's");
    let mut wanted = rig.wanted("w-1-5");
    wanted.copy = vec!["local.toml".into(), "a.txt".into()];
    let made = make(&wanted).unwrap();
    write(&made.path.join("local.toml"), "the worker's");
    kept_for(&rig, &made, "1 file is not tracked (local.toml)");
    write(&made.path.join("local.toml"), "mine");
    write(&made.path.join("a.txt"), "the worker's");
    kept_for(&rig, &made, "1 file is changed and not committed (a.txt)");
}

#[test]
fn merged_work_goes() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    commit(&rig.repo(), "c.txt", "c");
    git(&rig.repo(), &["merge", "-q", "--no-edit", "fleet/w-1-5"]);
    let entry = rig.gone(&made);
    assert!(!has_branch(&rig) && is_reachable(&rig.repo(), &tip));
    assert_eq!(entry.kept, None);
}

#[test]
fn pushed_work_goes() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    kept_for(&rig, &made, "push it: git -C ");
    git(&made.path, &["push", "-q", "-u", "origin", "fleet/w-1-5"]);
    rig.gone(&made);
    assert!(!has_branch(&rig) && is_reachable(&rig.repo(), &tip));
    assert!(!try_git(&rig.repo(), &["config", "branch.fleet/w-1-5.remote"]).0, "nothing is left in the settings");
}

#[test]
fn pushed_but_for_the_last_commit_stays() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    git(&made.path, &["push", "-q", "-u", "origin", "fleet/w-1-5"]);
    commit(&made.path, "late.txt", "late");
    kept_for(&rig, &made, "1 commit is in no other branch and not pushed (");
}

#[test]
fn a_squash_of_several_commits_is_known_and_the_commits_are_held() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    commit(&rig.repo(), "c.txt", "c");
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "all of it"]);
    let entry = rig.gone(&made);
    assert!(!has_branch(&rig));
    let (name, held) = entry.kept.expect("the two commits are nowhere else");
    assert!(name.starts_with("refs/fleet/trash/w-1-5-"), "{name}");
    assert_eq!(held, tip);
    assert!(is_reachable(&rig.repo(), &tip));
}

#[test]
fn a_squash_is_known_also_when_the_branch_has_long_moved_on() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "all of it"]);
    commit(&rig.repo(), "a.txt", "another\n");
    commit(&rig.repo(), "b.txt", "another\n");
    rig.gone(&made);
}

#[test]
fn a_squash_beside_a_change_of_somebody_else_is_known() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    // Near enough to stand in the patch, so that the squash is another patch.
    commit(&rig.repo(), "a.txt", "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\neight\n");
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "all of it"]);
    rig.gone(&made);
}

#[test]
fn a_merge_that_drops_a_side_by_attributes_shows_nothing() {
    let rig = Rig::new();
    commit(&rig.repo(), ".gitattributes", "*.txt merge=ours\n");
    git(&rig.repo(), &["config", "merge.ours.driver", "true"]);
    let made = rig.tree("w-1-5");
    commit(&made.path, "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n");
    commit(&rig.repo(), "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n");
    kept_for(&rig, &made, "1 commit is in no other branch");
}

#[test]
fn a_squash_on_the_remote_is_known_once_it_is_fetched() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    let other = rig.dir.join("other");
    git(&rig.dir, &["clone", "-q", "remote.git", "other"]);
    git(&other, &["fetch", "-q", rig.repo().to_str().unwrap(), "fleet/w-1-5"]);
    git(&other, &["merge", "-q", "--squash", "FETCH_HEAD"]);
    git(&other, &["commit", "-q", "-m", "squashed (#1)"]);
    git(&other, &["push", "-q", "origin", "main"]);
    kept_for(&rig, &made, "2 commits are in no other branch");
    git(&rig.repo(), &["fetch", "-q", "origin"]);
    rig.gone(&made);
}

#[test]
fn rebased_and_picked_commits_are_known() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    commit(&rig.repo(), "c.txt", "c");
    // Picked one by one, in another order, with work of others between them.
    git(&rig.repo(), &["cherry-pick", "fleet/w-1-5"]);
    kept_for(&rig, &made, "2 commits are in no other branch");
    commit(&rig.repo(), "d.txt", "d");
    git(&rig.repo(), &["cherry-pick", "fleet/w-1-5~1"]);
    commit(&rig.repo(), "b.txt", "b and more\n");
    rig.gone(&made);
}

#[test]
fn a_squash_after_the_worker_merged_the_base_is_known() {
    let rig = Rig::new();
    let (made, _) = worked(&rig);
    commit(&rig.repo(), "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n");
    git(&made.path, &["merge", "-q", "--no-edit", "main"]);
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "all of it"]);
    rig.gone(&made);
}

#[test]
fn work_that_was_rebased_onto_the_base_and_squashed_there_goes() {
    let rig = Rig::new();
    let (made, before) = worked(&rig);
    commit(&rig.repo(), "c.txt", "c");
    git(&made.path, &["rebase", "-q", "main"]);
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "all of it"]);
    rig.gone(&made);
    assert!(is_reachable(&rig.repo(), &before), "also what it was before the rebase");
}

#[test]
fn discarded_commits_keep_nothing_but_are_held() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    git(&made.path, &["reset", "-q", "--hard", "HEAD~2"]);
    commit(&made.path, "other.txt", "another way");
    let other = git(&made.path, &["rev-parse", "HEAD"]);
    git(&made.path, &["reset", "-q", "--hard", "HEAD~1"]);
    let entry = rig.gone(&made);
    assert!(entry.kept.is_some());
    assert!(is_reachable(&rig.repo(), &tip) && is_reachable(&rig.repo(), &other));
}

#[test]
fn a_commit_of_nothing_but_a_message_keeps_nothing() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    git(&made.path, &["commit", "-q", "--allow-empty", "-m", "note"]);
    let tip = git(&made.path, &["rev-parse", "HEAD"]);
    rig.gone(&made);
    assert!(is_reachable(&rig.repo(), &tip));
}

#[test]
fn work_on_a_branch_of_the_workers_own_goes_and_the_branch_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    git(&made.path, &["checkout", "-q", "-b", "feature"]);
    let tip = commit(&made.path, "b.txt", "b");
    rig.gone(&made);
    assert_eq!(git(&rig.repo(), &["rev-parse", "feature"]), tip);
    assert!(!has_branch(&rig));
}

#[test]
fn commits_of_a_leader_without_a_branch_are_the_leaders() {
    let rig = Rig::new();
    git(&rig.repo(), &["checkout", "-q", "--detach"]);
    commit(&rig.repo(), "l.txt", "the leader's");
    let made = rig.tree("w-1-5");
    let entry = rig.gone(&made);
    assert!(entry.kept.is_some(), "and are held all the same: the leader may go elsewhere");
}

#[test]
fn a_renamed_branch_stays_with_its_commits() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    git(&made.path, &["branch", "-m", "feature"]);
    rig.gone(&made);
    assert_eq!(git(&rig.repo(), &["rev-parse", "feature"]), tip);
}

#[test]
fn a_tree_that_somebody_removed_by_hand_is_forgotten_and_its_branch_stays() {
    let rig = Rig::new();
    let (made, tip) = worked(&rig);
    git(&rig.repo(), &["worktree", "remove", "--force", made.path.to_str().unwrap()]);
    let removed = rig.remove(&made).unwrap();
    assert_eq!(removed.trash, None);
    assert_eq!(git(&rig.repo(), &["rev-parse", "fleet/w-1-5"]), tip);
    assert!(Made::all(&rig.dir.join("state/worktrees")).unwrap().is_empty());
}
