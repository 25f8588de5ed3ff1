//! git, which worktrees of workers need: the program, its version, and whether the directory is a repository with a
//! commit to begin a branch at. Nothing in the repository is changed, and no lock is taken.

use std::path::Path;

use tokio::process::Command;

use super::agents::numbers;
use super::ask::{self, Said, Silent};
use super::finding::{Check, Finding};

/// The oldest version that the removal of a worktree can work with (`patch-id --verbatim`).
const OLDEST: [u64; 2] = [2, 41];
/// What leads git to another repository than that of the directory.
const ELSEWHERE: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES"];

/// What git said: its version, where the top of the repository is, and what is checked out.
#[derive(Clone, Debug)]
struct Facts {
    version: Result<Said, Silent>,
    top: Result<Said, Silent>,
    head: Result<Said, Silent>,
}

/// Asks it all at once.
pub async fn look(dir: &Path) -> Vec<Finding> {
    let version = git(dir, &["--version"]);
    let top = git(dir, &["rev-parse", "--show-toplevel"]);
    let head = git(dir, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let (version, top, head) = tokio::join!(version, top, head);
    judge(&Facts { version, top, head }, dir)
}

async fn git(dir: &Path, args: &[&str]) -> Result<Said, Silent> {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir);
    // A question takes no lock and asks no person, and its answer is read here.
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    ask::program(command, ask::PROGRAM).await
}

fn judge(facts: &Facts, dir: &Path) -> Vec<Finding> {
    let said = match &facts.version {
        Ok(said) => said,
        Err(Silent::Missing) => {
            return vec![
                Finding::warning(Check::Git, "there is no program git on the PATH, so no worker can have a worktree")
                    .fix("install git 2.41 or newer, or do without worktree in profiles"),
            ];
        }
        Err(silent) => {
            return vec![Finding::warning(Check::Git, format!("git was asked for its version: {silent}"))];
        }
    };
    let version = said.out.split_whitespace().nth(2).unwrap_or("of an unknown version");
    // Some builds add words of their own after the third number.
    let is_old = numbers(&version.split('.').take(2).collect::<Vec<_>>().join(".")).is_none_or(|is| is < OLDEST.into());
    let is = match is_old {
        true => Finding::warning(Check::Git, format!("git is {version}, and worktrees of workers need 2.41 or newer"))
            .fix("install git 2.41 or newer, or do without worktree in profiles"),
        false => Finding::ok(Check::Git, format!("git is {version}")),
    };
    vec![is, repository(facts, dir)]
}

fn repository(facts: &Facts, dir: &Path) -> Finding {
    let heard = |asked: &Result<Said, Silent>| asked.as_ref().ok().filter(|said| said.ok).map(|said| said.out.clone());
    let here = dir.display();
    match (heard(&facts.top), heard(&facts.head)) {
        (Some(top), Some(_)) => Finding::ok(Check::Git, format!("{top} is a repository with a commit")),
        (Some(top), None) => Finding::warning(
            Check::Git,
            format!("{top} is a repository without a commit, and a worktree begins at one"),
        )
        .fix(format!("git -C {top} commit --allow-empty -m 'first commit'")),
        (None, _) => match &facts.top {
            Err(silent) => Finding::warning(Check::Git, format!("git was asked about {here}: {silent}")),
            Ok(said) if said.err.contains("not a git repository") => {
                Finding::note(Check::Git, format!("{here} is in no repository, so no worker can have a worktree of it"))
                    .fix(format!("where worktrees are wanted: git init {here}, and a first commit"))
            }
            Ok(said) => {
                let why = said.err.lines().next().unwrap_or("it said nothing");
                Finding::warning(Check::Git, format!("git does not work in {here}: {why}"))
                    .fix(format!("see what it says: git -C {here} status"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn said(ok: bool, out: &str, err: &str) -> Result<Said, Silent> {
        Ok(Said { ok, out: out.into(), err: err.into() })
    }

    fn judged(facts: Facts) -> Vec<(Level, String)> {
        let told = judge(&facts, Path::new("/p"));
        told.into_iter().map(|finding| (finding.level, finding.what)).collect()
    }

    fn facts() -> Facts {
        let version = said(true, "git version 2.47.3", "");
        Facts { version, top: said(true, "/p", ""), head: said(true, "abc", "") }
    }

    #[test]
    fn a_repository_with_a_commit_is_all_that_is_needed() {
        let all = judged(facts());
        assert_eq!(all, [(Level::Ok, "git is 2.47.3".into()), (Level::Ok, "/p is a repository with a commit".into())]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = judged(Facts { version: Err(Silent::Missing), ..facts() });
        assert_eq!((none.len(), none[0].0), (1, Level::Warning));
        let old = judged(Facts { version: said(true, "git version 2.39.5 (Apple Git-154)", ""), ..facts() });
        assert_eq!(old[0], (Level::Warning, "git is 2.39.5, and worktrees of workers need 2.41 or newer".into()));
        let new = judged(Facts { version: said(true, "git version 2.50.windows.1", ""), ..facts() });
        assert_eq!(new[0].0, Level::Ok);
        let empty = judged(Facts { head: said(false, "", ""), ..facts() });
        assert_eq!(empty[1].0, Level::Warning);
        assert!(empty[1].1.contains("without a commit"), "{empty:?}");
        let nowhere = judged(Facts { top: said(false, "", "fatal: not a git repository (or any of"), ..facts() });
        assert_eq!(nowhere[1].0, Level::Note);
        let strange = judged(Facts { top: said(false, "", "fatal: detected dubious ownership\nmore"), ..facts() });
        assert_eq!(strange[1].1, "git does not work in /p: fatal: detected dubious ownership");
    }
}
