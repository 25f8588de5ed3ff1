//! The command line of `fleetd pane-exec`, in both directions: the daemon writes it, pane-exec reads it.
//!
//! It is no command for people, so it is read here in a few lines and not by the command line's parser: that keeps
//! its start short. Neither the prompt nor any key is ever in it, since everybody may read it under `/proc`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How much of each output stream is kept when nothing else is said.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// What pane-exec is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Args {
    /// The turn's directory, with its prompt.
    pub dir: PathBuf,
    /// Where the program runs; else where pane-exec does.
    pub cwd: Option<PathBuf>,
    /// How long it may run, from its start.
    pub timeout: Option<Duration>,
    /// How much of stdout, and of stderr, is kept.
    pub max_output: u64,
    /// What the program reads and writes.
    pub mode: Mode,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
}

/// What a program reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is one turn: it reads the prompt, and what it writes is kept up to a limit.
    Turn,
    /// It is a session in a pane and has the terminal of pane-exec.
    Terminal,
    /// It is a session that reads lines from a FIFO and writes lines to a file.
    Lines,
}

/// A command line of pane-exec that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// A word that is no option.
    #[error(
        "unknown option {0} (known: --dir --cwd --timeout-ms --max-output --terminal --lines, then -- and the program)"
    )]
    Unknown(String),
    /// An option whose value is missing or no number.
    #[error("option {0} lacks a value of its kind")]
    Value(&'static str),
    /// Nothing says which turn.
    #[error("option --dir is missing")]
    NoDir,
    /// Nothing says what to run.
    #[error("there is no program after --")]
    NoProgram,
}

impl Args {
    /// Returns the words after `fleetd pane-exec`.
    pub fn to_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--dir".into(), self.dir.clone().into()];
        if let Some(cwd) = &self.cwd {
            words.extend(["--cwd".into(), cwd.clone().into()]);
        }
        if let Some(timeout) = self.timeout {
            words.extend(["--timeout-ms".into(), timeout.as_millis().to_string().into()]);
        }
        match self.mode {
            Mode::Turn => {}
            Mode::Terminal => words.push("--terminal".into()),
            Mode::Lines => words.push("--lines".into()),
        }
        words.extend(["--max-output".into(), self.max_output.to_string().into(), "--".into()]);
        words.extend(self.argv.iter().cloned());
        words
    }

    /// Reads the words after `fleetd pane-exec`.
    ///
    /// # Errors
    ///
    /// Fails on a word that [`Args::to_words`] does not write, and when the directory or the program is missing.
    pub fn from_words(words: impl IntoIterator<Item = OsString>) -> Result<Self, ArgsError> {
        let mut words = words.into_iter();
        let (mut dir, mut cwd, mut timeout, mut max_output, mut mode) = (None, None, None, MAX_OUTPUT, Mode::Turn);
        loop {
            let word = words.next().ok_or(ArgsError::NoProgram)?;
            match word.to_str() {
                Some("--dir") => dir = Some(words.next().ok_or(ArgsError::Value("--dir"))?.into()),
                Some("--cwd") => cwd = Some(words.next().ok_or(ArgsError::Value("--cwd"))?.into()),
                Some("--timeout-ms") => timeout = Some(Duration::from_millis(number(words.next(), "--timeout-ms")?)),
                Some("--max-output") => max_output = number(words.next(), "--max-output")?,
                Some("--terminal") => mode = Mode::Terminal,
                Some("--lines") => mode = Mode::Lines,
                Some("--") => break,
                _ => return Err(ArgsError::Unknown(word.to_string_lossy().into_owned())),
            }
        }
        let argv: Vec<OsString> = words.collect();
        if argv.is_empty() {
            return Err(ArgsError::NoProgram);
        }
        Ok(Self { dir: dir.ok_or(ArgsError::NoDir)?, cwd, timeout, max_output, mode, argv })
    }
}

fn number(word: Option<OsString>, option: &'static str) -> Result<u64, ArgsError> {
    word.as_deref().and_then(OsStr::to_str).and_then(|word| word.parse().ok()).ok_or(ArgsError::Value(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_daemon_writes_is_what_pane_exec_reads() {
        let args = Args {
            dir: "/state/turns/t 1".into(),
            cwd: Some("/a/--cwd".into()),
            timeout: Some(Duration::from_millis(1500)),
            max_output: 7,
            mode: Mode::Terminal,
            argv: vec!["sh".into(), "--dir".into(), "--".into()],
        };
        assert_eq!(Args::from_words(args.to_words()), Ok(args.clone()));
        for mode in [Mode::Turn, Mode::Lines] {
            let bare = Args { cwd: None, timeout: None, mode, ..args.clone() };
            assert_eq!(Args::from_words(bare.to_words()), Ok(bare));
        }
    }

    #[test]
    fn a_wrong_word_is_refused_by_name() {
        let read = |words: &[&str]| Args::from_words(words.iter().map(OsString::from));
        assert_eq!(read(&["--dri", "x"]), Err(ArgsError::Unknown("--dri".into())));
        assert_eq!(read(&["--dir", "x", "--timeout-ms", "soon"]), Err(ArgsError::Value("--timeout-ms")));
        assert_eq!(read(&["--dir", "x", "--"]), Err(ArgsError::NoProgram));
        assert_eq!(read(&["--", "x"]), Err(ArgsError::NoDir));
    }
}
