//! The trash: what lies in it, how it comes back, when it is deleted, and removals that are cut short.
//! Also what is done in a tree while it stands: its setup, and how it is told.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;
use std::{collections::BTreeMap, time::Instant};

use fleetd::fleet::time::{Span, Time};
use fleetd::launch::worktree::{Made, Progress, entries, make, remove, set_up, standing, sweep};

use super::rig::{NOW, Rig, commit, git, is_reachable, try_git, write};

const TTL: Span = Span::days(14);

#[test]
fn git_still_works_in_the_trash() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let tip = commit(&made.path, "b.txt", "b");
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "squashed"]);
    let entry = rig.gone(&made);
    assert_eq!(git(&entry.tree(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(git(&entry.tree(), &["status", "--porcelain"]), "");
    git(&entry.tree(), &["push", "-q", "origin", "HEAD:refs/heads/back"]);
}

#[test]
fn an_entry_is_deleted_after_its_time_and_not_before() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let tip = commit(&made.path, "b.txt", "b");
    git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
    git(&rig.repo(), &["commit", "-q", "-m", "squashed"]);
    let outside = rig.dir.join("outside");
    write(&outside.join("x"), "x");
    write(&made.path.join("target/deep/x"), "x");
    symlink(&outside, made.path.join("target/link")).unwrap();
    fs::set_permissions(made.path.join("target/deep"), fs::Permissions::from_mode(0o555)).unwrap();
    rig.gone(&made);
    write(&rig.trash().join("not-ours/x"), "x");
    let swept = sweep(&rig.trash(), NOW + Span(TTL.0 - 1), TTL);
    assert!(swept.deleted.is_empty() && swept.failed.is_empty(), "{swept:?}");
    assert!(is_reachable(&rig.repo(), &tip));
    let swept = sweep(&rig.trash(), NOW + TTL, TTL);
    assert_eq!((swept.deleted, swept.failed), (vec!["w-1-5".to_owned()], vec![]));
    assert!(entries(&rig.trash()).is_empty() && !rig.trash().join("w-1-5").exists());
    assert_eq!(git(&rig.repo(), &["for-each-ref", "refs/fleet"]), "", "nothing is held any more");
    assert!(outside.join("x").is_file(), "a link is not followed");
    assert!(rig.trash().join("not-ours/x").is_file(), "what is not ours stays");
}

#[test]
fn an_entry_goes_also_when_its_repository_is_gone() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    rig.gone(&made);
    fs::remove_dir_all(rig.repo()).unwrap();
    assert_eq!(sweep(&rig.trash(), NOW + TTL, TTL).deleted, ["w-1-5"]);
}

#[test]
fn a_tree_whose_repository_is_gone_stays() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    fs::rename(rig.repo(), rig.dir.join("moved")).unwrap();
    let said = rig.remove(&made).unwrap_err().to_string();
    assert!(said.contains("its repository") && made.path.join("a.txt").is_file(), "{said}");
}

#[test]
fn trees_of_one_name_lie_side_by_side() {
    let rig = Rig::new();
    for n in 0..3 {
        let made = rig.tree("w-1-5");
        write(&made.path.join("target/n"), n.to_string());
        rig.gone(&made);
    }
    let found: Vec<String> =
        entries(&rig.trash()).iter().map(|entry| fs::read_to_string(entry.tree().join("target/n")).unwrap()).collect();
    assert_eq!(found, ["0", "1", "2"]);
}

#[test]
fn a_removal_that_was_cut_short_is_given_up_or_finished_but_nothing_is_lost() {
    // What a kill leaves at each moment, and whether a second removal or the sweep comes next.
    for step in 0..5 {
        for by_sweep in [false, true] {
            let rig = Rig::new();
            let made = rig.tree("w-1-5");
            let tip = commit(&made.path, "b.txt", "b");
            git(&rig.repo(), &["merge", "-q", "--squash", "fleet/w-1-5"]);
            git(&rig.repo(), &["commit", "-q", "-m", "squashed"]);
            write(&made.path.join("target/out"), "built");
            let own = rig.repo().join(".git/worktrees/w-1-5");
            let branch = "refs/heads/fleet/w-1-5";
            let saved = rig.dir.join("saved");
            assert!(std::process::Command::new("cp").arg("-a").args([&own, &saved]).status().unwrap().success());
            let note = fs::read(made.path.with_file_name("w-1-5.json")).unwrap();
            let entry = rig.gone(&made);
            // Back to what it was before the last steps.
            let record = entry.path.join("entry.json");
            let text = fs::read_to_string(&record).unwrap();
            fs::write(&record, text.replace("\"done\": true", "\"done\": false")).unwrap();
            fs::write(made.path.with_file_name("w-1-5.json"), &note).unwrap();
            if step < 4 {
                fs::remove_dir_all(entry.path.join("git")).unwrap();
                fs::rename(&saved, &own).unwrap();
                fs::write(entry.tree().join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
            }
            if step == 3 {
                // On another file system: copied, and not yet removed where it was.
                assert!(
                    std::process::Command::new("cp")
                        .arg("-a")
                        .arg(&own)
                        .arg(entry.path.join("git"))
                        .status()
                        .unwrap()
                        .success()
                );
            }
            if step < 2 {
                git(&rig.repo(), &["update-ref", branch, &tip]);
            }
            if step == 0 {
                fs::rename(entry.tree(), &made.path).unwrap();
            }
            assert!(is_reachable(&rig.repo(), &tip), "step {step}");
            if by_sweep {
                let swept = sweep(&rig.trash(), NOW, TTL);
                assert!(swept.failed.is_empty(), "step {step}: {swept:?}");
                assert_eq!(made.path.exists(), step == 0, "step {step}: what had not moved is where it was");
            } else {
                remove(&made, &rig.trash(), NOW).unwrap_or_else(|kept| panic!("step {step}: {kept}"));
                assert!(!made.path.exists());
            }
            let tree = if made.path.exists() { made.path.clone() } else { entries(&rig.trash())[0].tree() };
            assert_eq!(fs::read_to_string(tree.join("target/out")).unwrap(), "built", "step {step}");
            assert_eq!(git(&tree, &["rev-parse", "HEAD"]), tip, "step {step}");
            assert_eq!(entries(&rig.trash()).len(), usize::from(!made.path.exists()));
            assert_eq!(made.path.exists(), try_git(&rig.repo(), &["show-ref", "--verify", branch]).0);
            assert_eq!(made.path.exists(), own.exists());
            assert_eq!(made.path.exists(), Made::find(&made.path).unwrap().is_some());
            assert!(is_reachable(&rig.repo(), &tip), "step {step}");
        }
    }
}

#[test]
fn a_tree_that_was_never_whole_goes_to_the_trash_as_it_is() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    fs::write(made.path.join("a.txt"), "hal").unwrap();
    let note = made.path.with_file_name("w-1-5.json");
    let text = fs::read_to_string(&note).unwrap().replace("\"progress\": \"made\"", "\"progress\": \"begun\"");
    fs::write(&note, text).unwrap();
    let begun = Made::find(&made.path).unwrap().unwrap();
    assert_eq!(begun.progress, Progress::Begun);
    let entry = rig.gone(&begun);
    assert_eq!(fs::read_to_string(entry.tree().join("a.txt")).unwrap(), "hal");
    assert!(make(&rig.wanted("w-1-5")).is_ok(), "its place and its branch are free again");
}

#[test]
fn setup_is_run_once_in_the_tree_with_the_environment_that_it_is_given() {
    let rig = Rig::new();
    let mut made = rig.tree("w-1-5");
    let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into()), ("X".into(), "7".into())]);
    let command = |script: &str| vec!["sh".to_owned(), "-c".into(), script.into()];
    let minute = Duration::from_secs(60);
    let failed = |made: &mut Made, script: &str, limit| {
        set_up(made, &command(script), &environment, limit, &|| false).unwrap_err().to_string()
    };
    let said = failed(&mut made, "seq 100; echo 'no such package' >&2; exit 3", minute);
    assert!(said.contains("it ended with exit status: 3; its last lines:\n90\n"), "{said}");
    assert!(said.ends_with("\n100\nno such package"), "{said}");
    let began = Instant::now();
    let said = failed(&mut made, "echo begun; sleep 600 & sleep 600", Duration::from_millis(200));
    assert!(said.contains("did not end within 0.2 s and was killed") && said.ends_with("\nbegun"), "{said}");
    assert!(began.elapsed() < minute);
    let began = Instant::now();
    let stopped = set_up(&mut made, &command("sleep 600"), &environment, minute, &|| true).unwrap_err().to_string();
    assert!(stopped.contains("it was stopped") && began.elapsed() < minute, "{stopped}");
    let other = std::process::Command::new("sleep").arg("600").current_dir(&made.path).spawn();
    let mut other = other.unwrap();
    let busy = set_up(&mut made, &command("true"), &environment, minute, &|| false).unwrap_err().to_string();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(busy.contains(&format!("in use by {} (sleep): try again", other.id())), "{busy}");
    let missing = set_up(&mut made, &["nosuchprogram"], &environment, minute, &|| false).unwrap_err().to_string();
    assert!(missing.contains("there is no program 'nosuchprogram' on its PATH"), "{missing}");
    let script =
        command("env > target.env; mkdir target; mv target.env target; echo run >> target/runs; test -z \"$HOME\"");
    set_up(&mut made, &script, &environment, minute, &|| false).unwrap();
    set_up(&mut made, &script, &environment, minute, &|| false).unwrap();
    assert_eq!(fs::read_to_string(made.path.join("target/runs")).unwrap(), "run\n");
    assert!(fs::read_to_string(made.path.join("target/target.env")).unwrap().contains("X=7\n"));
    // Also not by a daemon that comes back.
    let mut again = rig.tree("w-1-5");
    assert_eq!(again.progress, Progress::SetUp);
    set_up(&mut again, &script, &environment, minute, &|| false).unwrap();
    assert_eq!(fs::read_to_string(made.path.join("target/runs")).unwrap(), "run\n");
    rig.gone(&again);
}

#[test]
fn how_far_the_work_has_come_is_told() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    let work = standing(&made).unwrap();
    assert_eq!(
        (work.branch.as_deref(), work.commits, work.files_changed, work.dirty),
        (Some("fleet/w-1-5"), 0, 0, false)
    );
    commit(&made.path, "b.txt", "b");
    commit(&made.path, "a.txt", "changed");
    write(&made.path.join("a.txt"), "changed again");
    write(&made.path.join("new.txt"), "new");
    write(&made.path.join("target/x"), "ignored");
    let work = standing(&made).unwrap();
    assert_eq!((work.base.as_str(), work.commits, work.files_changed, work.dirty), (made.base.as_str(), 2, 3, true));
    git(&made.path, &["checkout", "-q", "-f", "--detach"]);
    assert_eq!(standing(&made).unwrap().branch, None);
    fs::rename(&made.path, rig.dir.join("elsewhere")).unwrap();
    assert!(standing(&made).unwrap_err().to_string().contains("somebody removed it"));
}

#[test]
fn times_before_the_removal_delete_nothing() {
    let rig = Rig::new();
    let made = rig.tree("w-1-5");
    rig.gone(&made);
    // The clock of the machine was set back.
    assert!(sweep(&rig.trash(), Time(5), TTL).deleted.is_empty());
}
