//! How trees are made: from which base, with which files, and what is in the way.
//! No test of a removal is here, but where it shows that a tree is whole.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use fleetd::launch::worktree::{Made, Progress, WorktreeError, make};

use super::rig::{Rig, commit, git, write};

#[test]
fn a_tree_begins_with_the_leaders_commit_on_a_branch_of_its_own() {
    let rig = Rig::new();
    let head = git(&rig.repo(), &["rev-parse", "HEAD"]);
    let made = rig.tree("w-1-5");
    assert_eq!((made.base.as_str(), made.branch.as_str()), (head.as_str(), "fleet/w-1-5"));
    assert_eq!(made.base_name.as_deref(), Some("refs/heads/main"));
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(git(&made.path, &["symbolic-ref", "HEAD"]), "refs/heads/fleet/w-1-5");
    assert!(made.path.join("src/lib.txt").is_file());
    assert!(made.missing.is_nothing(), "{}", made.missing);
    assert_eq!(git(&rig.repo(), &["status", "--porcelain"]), "", "the leader's checkout is as it was");
    assert_eq!(Made::find(&made.path).unwrap(), Some(made.clone()), "the note says the same");
}

#[test]
fn a_worker_starts_where_the_profile_points_below_the_top() {
    let rig = Rig::new();
    let mut wanted = rig.wanted("w-1-5");
    wanted.repo = rig.repo().join("src");
    let made = make(&wanted).unwrap();
    assert_eq!(made.cwd, made.path.join("src"));
    // A directory that is not in the base.
    fs::create_dir(rig.repo().join("new")).unwrap();
    let mut wanted = rig.wanted("w-1-6");
    wanted.repo = rig.repo().join("new");
    let made = make(&wanted).unwrap();
    assert_eq!(made.cwd, made.path);
}

#[test]
fn the_base_may_be_named_and_what_it_lacks_is_told() {
    let rig = Rig::new();
    let first = git(&rig.repo(), &["rev-parse", "HEAD"]);
    commit(&rig.repo(), "b.txt", "b");
    write(&rig.repo().join("a.txt"), "changed");
    write(&rig.repo().join("notes/new.txt"), "new");
    write(&rig.repo().join("target/out"), "ignored");
    let mut wanted = rig.wanted("w-1-5");
    wanted.base = Some("origin/main".into());
    let made = make(&wanted).unwrap();
    assert_eq!(made.base, first);
    assert_eq!(made.base_name.as_deref(), Some("refs/remotes/origin/main"));
    assert_eq!((made.missing.changed.count, &made.missing.changed.first[..]), (1, &["a.txt".to_owned()][..]));
    assert_eq!(made.missing.untracked.first, ["notes/new.txt"]);
    assert!(made.missing.commits.first[0].ends_with("change b.txt"), "{:?}", made.missing.commits);
    let said = made.missing.to_string();
    assert!(
        said.starts_with("changed and not committed: a.txt; not tracked: notes/new.txt; committed, but not"),
        "{said}"
    );
}

#[test]
fn files_are_brought_along_by_name_and_by_pattern_and_only_from_inside() {
    let rig = Rig::new();
    let repo = rig.repo();
    write(&repo.join(".env"), "KEY=1");
    fs::set_permissions(repo.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    for file in ["config/local.toml", "config/deep/er.toml", "config/other.txt", "keys/a", "keys/in/b", ".git/x.toml"] {
        write(&repo.join(file), file);
    }
    symlink("a", repo.join("keys/link")).unwrap();
    write(&repo.join("a.txt"), "the leader's own");
    let mut wanted = rig.wanted("w-1-5");
    wanted.copy = [".env", "**/*.toml", "keys", "a.txt", "none.*", "gone.txt"].map(str::to_owned).to_vec();
    let made = make(&wanted).unwrap();
    let copied: Vec<_> = made.copied.iter().map(|file| file.path.to_str().unwrap()).collect();
    let expected = [".env", "a.txt", "config/deep/er.toml", "config/local.toml", "keys/a", "keys/in/b", "keys/link"];
    assert_eq!(copied, expected);
    assert_eq!(fs::read_to_string(made.path.join("a.txt")).unwrap(), "the leader's own");
    assert_eq!(fs::metadata(made.path.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_link(made.path.join("keys/link")).unwrap().to_str(), Some("a"));
    assert_eq!(made.missing.not_found, ["none.*", "gone.txt"]);
    assert_eq!(made.missing.untracked.first, ["config/other.txt"], "what was brought along is not missing");
    assert_eq!(made.missing.changed.count, 0);
}

#[test]
fn no_name_and_no_link_leads_out_of_the_repository() {
    let rig = Rig::new();
    write(&rig.dir.join("secret"), "outside");
    symlink(rig.dir.join("secret"), rig.repo().join("link")).unwrap();
    symlink(&rig.dir, rig.repo().join("dir")).unwrap();
    for (pattern, why) in [
        ("../secret", "without '..'"),
        ("/etc/passwd", "only what lies in the repository"),
        (".git/config", "git's own files"),
        ("sub/.git", "git's own files"),
        ("link", "leads out of the repository"),
        ("dir/secret", "leads out of the repository"),
        ("li*", "leads out of the repository"),
        ("", "it names nothing"),
    ] {
        let mut wanted = rig.wanted("w-1-5");
        wanted.copy = vec![pattern.to_owned()];
        let said = make(&wanted).unwrap_err().to_string();
        assert!(said.contains(why), "{pattern}: {said}");
        assert!(!wanted.place.exists() && Made::find(&wanted.place).unwrap().is_none(), "{pattern} left something");
    }
}

#[test]
fn a_link_in_the_base_does_not_lead_a_copy_out_of_the_tree() {
    let rig = Rig::new();
    let outside = rig.dir.join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, rig.repo().join("config")).unwrap();
    git(&rig.repo(), &["add", "-A"]);
    git(&rig.repo(), &["commit", "-q", "-m", "a link"]);
    fs::remove_file(rig.repo().join("config")).unwrap();
    write(&rig.repo().join("config/local.toml"), "mine");
    let mut wanted = rig.wanted("w-1-5");
    wanted.copy = vec!["config/local.toml".into()];
    let said = make(&wanted).unwrap_err().to_string();
    assert!(said.contains("in the way"), "{said}");
    assert!(!outside.join("local.toml").exists());
}

#[test]
fn what_is_in_the_way_is_said_with_what_to_do() {
    let rig = Rig::new();
    let says = |change: &dyn Fn(&mut fleetd::launch::worktree::Wanted), wanted: &str| {
        let mut asked = rig.wanted("w-1-5");
        change(&mut asked);
        let said = make(&asked).unwrap_err().to_string();
        assert!(said.contains(wanted), "{said}");
    };
    says(&|w| w.repo = rig.dir.clone(), "is in no git repository");
    says(&|w| w.repo = rig.dir.join("nowhere"), "there is no such directory");
    says(&|w| w.repo = rig.dir.join("remote.git"), "is in no git repository that has files");
    says(&|w| w.base = Some("mian".into()), "there is no commit 'mian' in ");
    says(&|w| w.base = Some("mian".into()), "its branches: main");
    says(&|w| w.base = Some("--help".into()), "there is no commit '--help'");
    says(&|w| w.branch = "main".into(), "branch 'main' cannot be made: there is one already");
    says(&|w| w.branch = "main/x".into(), "there is a branch 'main', below which");
    says(&|w| w.branch = "a..b".into(), "this is no name of a branch");
    says(&|w| w.place = rig.repo().join("trees/w"), "is inside the repository");
    write(&rig.dir.join("state/worktrees/w-1-5/mine"), "x");
    says(&|_| (), "is taken by something else: move it away");
    assert_eq!(git(&rig.repo(), &["branch", "--list", "fleet/*"]), "", "no branch is left");

    let empty = rig.dir.join("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "-q"]);
    says(&|w| w.repo.clone_from(&empty), "has no commit yet");
}

#[test]
fn a_second_call_finds_the_same_tree_though_the_leader_has_moved_on() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    write(&made.path.join("work.txt"), "mine");
    commit(&rig.repo(), "b.txt", "b");
    let again = rig.tree("w-1-5");
    assert_eq!(again, made);
    assert_eq!(fs::read_to_string(made.path.join("work.txt")).unwrap(), "mine");
    fs::rename(&made.path, rig.dir.join("elsewhere")).unwrap();
    let said = make(&rig.wanted("w-1-5")).unwrap_err();
    assert!(matches!(said, WorktreeError::Gone { .. }), "{said}");
}

#[test]
fn a_crash_at_any_step_of_making_is_finished_by_the_next_call() {
    // What a kill leaves at each moment, from the note alone to all but the last word of the note.
    for step in 0..6 {
        let rig = Rig::new();
        let base = git(&rig.repo(), &["rev-parse", "HEAD"]);
        let mut wanted = rig.wanted("w-1-5");
        write(&rig.repo().join(".env"), "KEY=1");
        wanted.copy = vec![".env".into()];
        let made = make(&wanted).unwrap();
        let note = made.path.with_file_name("w-1-5.json");
        let text = fs::read_to_string(&note).unwrap().replace("\"progress\": \"made\"", "\"progress\": \"begun\"");
        assert!(text.contains("begun"), "{text}");
        fs::write(&note, text).unwrap();
        let own = rig.repo().join(".git/worktrees/w-1-5");
        let tree = &made.path;
        match step {
            // The note was written, nothing else.
            0 => {
                git(&rig.repo(), &["worktree", "remove", "--force", tree.to_str().unwrap()]);
                git(&rig.repo(), &["branch", "-D", "fleet/w-1-5"]);
            }
            // The branch was made.
            1 => drop(git(&rig.repo(), &["worktree", "remove", "--force", tree.to_str().unwrap()])),
            // Git's own directory was made, locked as git does it, and the tree's directory is empty.
            2 => {
                fs::remove_dir_all(tree).unwrap();
                fs::create_dir(tree).unwrap();
                fs::write(own.join("locked"), "initializing").unwrap();
                fs::remove_file(own.join("index")).unwrap();
            }
            // The tree is there without its files, or with half of them, and git was killed while it wrote.
            3 => {
                fs::remove_file(tree.join("a.txt")).unwrap();
                fs::remove_file(own.join("index")).unwrap();
                fs::write(own.join("index.lock"), "").unwrap();
            }
            4 => fs::write(tree.join("a.txt"), "hal").unwrap(),
            // All is there but what is brought along.
            _ => fs::remove_file(tree.join(".env")).unwrap(),
        }
        // Meanwhile the leader goes on: the base is the one that was noted.
        commit(&rig.repo(), "b.txt", "b");
        let again = make(&wanted).unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert_eq!((&again.base, again.progress), (&base, Progress::Made), "step {step}");
        assert_eq!(git(tree, &["status", "--porcelain"]), "", "step {step}");
        assert_eq!(git(tree, &["rev-parse", "HEAD"]), base, "step {step}");
        assert!(!tree.join("b.txt").exists() && tree.join(".env").is_file(), "step {step}");
        rig.gone(&again);
    }
}

#[test]
fn hooks_of_the_repository_are_not_run_and_its_words_are_no_options() {
    let rig = Rig::new();
    let ran = rig.dir.join("ran");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"] {
        let path = rig.repo().join(".git/hooks").join(hook);
        write(&path, format!("#!/bin/sh\necho {hook} >> '{}'\n", ran.display()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let made = rig.tree("w-1-5");
    rig.gone(&made);
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap_or_default());
}

#[test]
fn fleetds_own_files_are_not_seen_by_git_in_any_tree() {
    let rig = Rig::new();
    write(&rig.repo().join(".git/info/exclude"), "# mine\n*.bak");
    let made = rig.tree("w-1-5");
    rig.tree("w-1-6");
    write(&made.path.join(".fleet/t1.md"), "a long text");
    write(&rig.repo().join(".fleet/x"), "x");
    assert_eq!(git(&made.path, &["status", "--porcelain"]), "");
    assert_eq!(git(&rig.repo(), &["status", "--porcelain"]), "");
    let listed = fs::read_to_string(rig.repo().join(".git/info/exclude")).unwrap();
    assert_eq!(listed, "# mine\n*.bak\n/.fleet/\n", "once, and below what was there");
    // Also where somebody took the line away: it is no work of the worker's.
    fs::write(rig.repo().join(".git/info/exclude"), "").unwrap();
    rig.gone(&made);
}

#[test]
fn a_tree_can_be_made_from_another_tree_of_the_repository() {
    let rig = Rig::new();
    let side = rig.dir.join("side");
    git(&rig.repo(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    let tip = commit(&side, "s.txt", "s");
    let mut wanted = rig.wanted("w-1-5");
    wanted.repo = side;
    let made = make(&wanted).unwrap();
    assert_eq!((made.base, made.base_name.as_deref()), (tip, Some("refs/heads/side")));
    assert_eq!(made.common, rig.repo().join(".git"));
}
