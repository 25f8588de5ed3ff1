//! The `git` program: always by its arguments and never by a shell, in an environment of its own, without hooks.
//!
//! Whoever started fleetd may have meant another repository, and what a repository names as a hook is not for us to
//! start. What an answer means is for the callers.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::run::{Keep, Ran, RunError, kill_group, run};

/// How long one question may take: also a big tree on a slow disk is looked through in this time.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a tree may take to be written.
const LIMIT_TO_WRITE: Duration = Duration::from_secs(30 * 60);
/// How many commits are asked about at once: their names fit into a pipe that nobody reads yet.
const AT_ONCE: usize = 500;

/// What git gets of our environment: where it is, whose settings it reads, where it may put temporary files.
const ALLOWED: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

/// Settings that win over those of the repository: nothing is started, nothing is tidied up, nothing is coloured.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "worktree.useRelativePaths=false",
];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program is not there.
    #[error("there is no program 'git' on the PATH: install it, or do without worktrees")]
    NoGit,
    /// It said no.
    #[error("git {did} failed: {said}")]
    Failed {
        /// What it was to do.
        did: String,
        /// What it said.
        said: String,
    },
    /// It could not be run to its end.
    #[error("git {did}: {why}")]
    Broke {
        /// What it was to do.
        did: String,
        /// What went wrong.
        why: String,
    },
}

/// git in one directory.
#[derive(Clone, Debug)]
pub(super) struct Git {
    dir: PathBuf,
    /// Whether the directory may lie anywhere in the repository.
    inside: bool,
}

impl Git {
    /// In the top directory of a tree, or in a repository itself: one around it is never taken for it.
    pub(super) fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), inside: false }
    }

    /// Anywhere in a repository.
    pub(super) fn within(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), inside: true }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns what git prints; its failure is an error.
    pub(super) fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        let ran = self.ran(args, LIMIT)?;
        if ran.status.success() { Ok(ran.out) } else { Err(failed(args, &ran)) }
    }

    /// As `run`, for what writes a tree.
    pub(super) fn write<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<(), GitError> {
        let ran = self.ran(args, LIMIT_TO_WRITE)?;
        if ran.status.success() { Ok(()) } else { Err(failed(args, &ran)) }
    }

    /// As `run`, for questions that git answers with no by its exit code 1.
    pub(super) fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Option<Vec<u8>>, GitError> {
        let ran = self.ran(args, LIMIT)?;
        match ran.status.code() {
            Some(0) => Ok(Some(ran.out)),
            Some(1) => Ok(None),
            _ => Err(failed(args, &ran)),
        }
    }

    /// Returns the one line that git prints.
    pub(super) fn line<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        Ok(line_of(&self.run(args)?))
    }

    /// Returns the lines that git prints.
    pub(super) fn lines<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<String>, GitError> {
        let text = self.run(args)?;
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }

    /// Returns the commit that a name means, if there is one.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let wanted = format!("{name}^{{commit}}");
        let found = self.ran(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted], LIMIT)?;
        Ok(found.status.success().then(|| line_of(&found.out)))
    }

    /// Returns the patch ids of these commits, each with its commit, or of what lies between two: what they change,
    /// byte by byte, wherever it is. What changes nothing has none.
    pub(super) fn patch_ids(&self, of: Patches) -> Result<Vec<(String, String)>, GitError> {
        let what = ["-p", "-r", "--root", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let mut args = vec!["diff-tree"];
        args.extend(what);
        let mut found = Vec::new();
        match of {
            Patches::Between(from, to) => {
                args.extend([from, to]);
                found.extend(self.piped(&args, &[])?);
            }
            Patches::Of(commits) => {
                args.push("--stdin");
                for some in commits.chunks(AT_ONCE) {
                    found.extend(self.piped(&args, some)?);
                }
            }
        }
        Ok(found)
    }

    /// Runs `git … | git patch-id`, without a shell between them.
    fn piped(&self, args: &[&str], input: &[String]) -> Result<Vec<(String, String)>, GitError> {
        let broke = |error: io::Error| GitError::Broke { did: args.join(" "), why: error.to_string() };
        let mut first = self.command(args);
        let mut child =
            first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(broke)?;
        if let Some(mut stdin) = child.stdin.take() {
            let text: String = input.iter().map(|commit| format!("{commit}\n")).collect();
            // One that has died already tells by its exit code.
            let _ = stdin.write_all(text.as_bytes());
        }
        // `--verbatim`: a change of white space alone is a change, and in some languages the whole of it.
        let mut second = self.command(&["patch-id", "--verbatim"]);
        if let Some(stdout) = child.stdout.take() {
            second.stdin(Stdio::from(stdout));
        }
        let ran = run(&mut second, LIMIT, Keep::All);
        if ran.is_err() {
            kill_group(&child);
        }
        let status = child.wait().map_err(broke)?;
        let ran = ran.map_err(|error| GitError::Broke { did: "patch-id".into(), why: error.to_string() })?;
        if !ran.status.success() || !status.success() {
            return Err(failed(if status.success() { &["patch-id"] } else { args }, &ran));
        }
        let text = String::from_utf8_lossy(&ran.out);
        let pair = |(id, commit): (&str, &str)| (id.to_owned(), commit.to_owned());
        Ok(text.lines().filter_map(|line| line.split_once(' ').map(pair)).collect())
    }

    fn ran<A: AsRef<OsStr>>(&self, args: &[A], limit: Duration) -> Result<Ran, GitError> {
        let ran = run(self.command(args).stdin(Stdio::null()), limit, Keep::All);
        ran.map_err(|error| not_run(&error, said(args), self.dir.is_dir()))
    }

    fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir(&self.dir);
        let allowed = ALLOWED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        command.envs(allowed.collect::<Vec<(&str, OsString)>>());
        // A question must not take a lock from the worker, ask a person, or have an opinion on the language.
        command
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
        if !self.inside {
            command.env("GIT_CEILING_DIRECTORIES", self.dir.parent().unwrap_or(Path::new("/")));
        }
        // Commits of ours hold on to others and are nobody's work.
        for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{who}_NAME"), "fleetd").env(format!("{who}_EMAIL"), "fleetd@localhost");
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args);
        command
    }
}

/// Whose patch ids are asked for.
pub(super) enum Patches<'a> {
    /// What these commits change, each compared with its parent.
    Of(&'a [String]),
    /// What lies between two commits, as one patch.
    Between(&'a str, &'a str),
}

fn line_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned()
}

fn said<A: AsRef<OsStr>>(args: &[A]) -> String {
    let words = args.iter().take(3).map(|arg| arg.as_ref().to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

fn failed<A: AsRef<OsStr>>(args: &[A], ran: &Ran) -> GitError {
    let text = String::from_utf8_lossy(&ran.err);
    let text = text.trim();
    let said_by_git = match text.is_empty() {
        true => format!("{} and no word why", ran.status),
        false => text.to_owned(),
    };
    GitError::Failed { did: said(args), said: said_by_git }
}

/// Says why git did not run to its end. Where its directory is there, what is not found is the program.
fn not_run(error: &RunError, did: String, has_directory: bool) -> GitError {
    match error {
        RunError::Io(error) if error.kind() == ErrorKind::NotFound && has_directory => GitError::NoGit,
        error => GitError::Broke { did, why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_git_is_told_what_to_install() {
        let ran = run(&mut Command::new("no-such-git"), LIMIT, Keep::All).unwrap_err();
        assert!(not_run(&ran, "status".into(), true).to_string().contains("no program 'git' on the PATH: install it"));
        let elsewhere = not_run(&ran, "status".into(), false).to_string();
        assert!(elsewhere.starts_with("git status: "), "{elsewhere}");
    }

    #[test]
    fn nothing_of_our_environment_leads_git_elsewhere() {
        let command = Git::at("/tmp/x").command(&["status"]);
        let names: Vec<_> = command.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        let led = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"];
        assert!(led.iter().all(|name| !names.iter().any(|set| set == name)), "{names:?}");
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..2], ["-c", "core.hooksPath=/dev/null"]);
    }
}
