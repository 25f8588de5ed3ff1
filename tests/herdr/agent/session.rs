//! What the program does with keys and as time passes: boots, asks, composes, works, answers. Reads no terminal and
//! no clock: both are given to it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::composer::Composer;
use super::habits::{DEATH, Death, Options};
use super::keys::Key;
use super::record::Record;
use super::screen::{Size, frame, wrap};

/// How long a lone Escape may be the beginning of something longer.
const ESC_WAITS: Duration = Duration::from_millis(30);
/// How often a spinner turns.
const SPIN: Duration = Duration::from_millis(80);

/// Whether the program goes on.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It does.
    Go,
    /// It ends with this code.
    End(u8),
}

/// The program between its start and its end.
pub struct Session<'a> {
    options: &'a Options,
    log: Record,
    submitted: Record,
    composer: Composer,
    transcript: Vec<String>,
    phase: Phase,
    dialog_on_paste: Option<&'a str>,
    eaten: u32,
    leaving: bool,
    queued: VecDeque<Said>,
    draw_at: Option<Instant>,
    spun: usize,
    spin_at: Instant,
    esc_until: Option<Instant>,
    drawn: Vec<u8>,
}

enum Phase {
    Booting(Instant),
    Asking(String),
    Composing,
    Working { text: String, until: Option<Instant> },
}

/// A text as it is, and as it is shown.
struct Said {
    text: String,
    shown: String,
}

impl<'a> Session<'a> {
    /// Begins to boot.
    ///
    /// # Errors
    ///
    /// Fails when a file of the options cannot be opened.
    pub fn new(options: &'a Options, children: Vec<u32>, now: Instant) -> io::Result<Self> {
        let mut composer = Composer::new(options.collapse);
        composer.add(options.draft.as_deref().unwrap_or_default());
        if options.draft.as_deref().unwrap_or_default().is_empty() {
            composer.clear();
        }
        let children: Vec<String> = children.iter().map(u32::to_string).collect();
        let transcript =
            if children.is_empty() { Vec::new() } else { vec![format!("children {}", children.join(" "))] };
        Ok(Self {
            options,
            log: Record::open(options.log.as_deref())?,
            submitted: Record::open(options.submitted.as_deref())?,
            composer,
            transcript,
            phase: Phase::Booting(now + Duration::from_millis(options.boot)),
            dialog_on_paste: options.dialog_on_paste.as_deref(),
            eaten: 0,
            leaving: false,
            queued: VecDeque::new(),
            draw_at: Some(now),
            spun: 0,
            spin_at: now,
            esc_until: None,
            drawn: Vec::new(),
        })
    }

    /// Writes down what was read.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written.
    pub fn heard(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.esc_until = (bytes.last() == Some(&0x1b)).then(|| Instant::now() + ESC_WAITS);
        self.log.append(bytes)
    }

    /// Tells whether the composer has been there, and with it the wish for bracketed pastes.
    pub fn takes_pastes(&self) -> bool {
        !matches!(self.phase, Phase::Booting(_))
    }

    /// Wants everything to be drawn anew.
    pub fn redraw(&mut self, now: Instant) {
        self.drawn.clear();
        self.changed(now);
    }

    /// Returns when it must be woken though nobody types.
    pub fn deadline(&self) -> Option<Instant> {
        let phase = match &self.phase {
            Phase::Booting(until) => Some(*until),
            Phase::Working { until, .. } => *until,
            Phase::Asking(_) | Phase::Composing => None,
        };
        let spin = (self.options.spinner && self.is_working()).then_some(self.spin_at);
        [phase, spin, self.draw_at, self.esc_until].into_iter().flatten().min()
    }

    /// Does what the time has come for.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be written or the reply's command not be started.
    pub fn tick(&mut self, now: Instant) -> io::Result<Next> {
        if self.esc_until.is_some_and(|until| until <= now) {
            self.esc_until = None;
        }
        match &self.phase {
            Phase::Booting(until) if *until <= now => {
                self.phase = self.options.dialog.clone().map_or(Phase::Composing, Phase::Asking);
                self.changed(now);
            }
            Phase::Working { until: Some(until), text } if *until <= now => {
                let text = text.clone();
                self.end_turn(&text, now)?;
            }
            _ => {}
        }
        if self.is_working() && self.options.spinner && self.spin_at <= now {
            self.spun += 1;
            self.spin_at = now + SPIN;
            self.changed(now);
        }
        // A queued text is begun only when the one before has been answered.
        if matches!(self.phase, Phase::Composing)
            && let Some(said) = self.queued.pop_front()
        {
            return self.submit(said, now);
        }
        Ok(Next::Go)
    }

    /// Does what a key does.
    ///
    /// # Errors
    ///
    /// Fails when a file cannot be written.
    pub fn key(&mut self, key: Key, now: Instant) -> io::Result<Next> {
        let leaving = std::mem::take(&mut self.leaving);
        match &self.phase {
            Phase::Booting(_) => return Ok(Next::Go),
            Phase::Asking(question) => {
                if let Key::Char(answer @ ('1' | '2')) = key {
                    let word = if answer == '1' { "Yes" } else { "No" };
                    self.transcript.push(format!("{question} {word}"));
                    self.phase = Phase::Composing;
                    self.changed(now);
                }
                return Ok(Next::Go);
            }
            Phase::Composing | Phase::Working { .. } => {}
        }
        match key {
            Key::Paste(text) => {
                if self.options.die == Some(Death::Paste) {
                    return Ok(Next::End(DEATH));
                }
                self.composer.paste(&text);
                self.eaten = 0;
                if let Some(question) = self.dialog_on_paste.take() {
                    self.phase = Phase::Asking(question.to_owned());
                }
            }
            Key::Char(letter) => self.composer.add(letter.encode_utf8(&mut [0; 4])),
            Key::Backspace => self.composer.backspace(),
            Key::Ctrl('u') => self.composer.clear(),
            Key::Ctrl('c') if !self.composer.is_empty() => self.composer.clear(),
            Key::Ctrl('c') if self.is_working() => self.interrupt(now),
            Key::Ctrl('c') if leaving => return Ok(Next::End(0)),
            Key::Ctrl('c') => self.leaving = true,
            Key::Ctrl('d') if self.composer.is_empty() => return Ok(Next::End(0)),
            Key::Esc if self.is_working() => self.interrupt(now),
            Key::Enter => return self.enter(now),
            Key::Esc | Key::Arrow(_) | Key::Ctrl(_) | Key::Report => return Ok(Next::Go),
        }
        self.changed(now);
        Ok(Next::Go)
    }

    fn enter(&mut self, now: Instant) -> io::Result<Next> {
        if self.composer.is_empty() {
            return Ok(Next::Go);
        }
        if self.eaten < self.options.eat_enter {
            self.eaten += 1;
            return Ok(Next::Go);
        }
        if self.options.die == Some(Death::Enter) {
            return Ok(Next::End(DEATH));
        }
        let said = Said { text: self.composer.text(), shown: self.composer.shown() };
        self.composer.clear();
        self.eaten = 0;
        self.changed(now);
        if self.is_working() {
            self.queued.push_back(said);
            return Ok(Next::Go);
        }
        self.submit(said, now)
    }

    fn submit(&mut self, said: Said, now: Instant) -> io::Result<Next> {
        self.submitted.append_text(&said.text)?;
        if self.options.die == Some(Death::Working) {
            return Ok(Next::End(DEATH));
        }
        self.transcript.push(format!("» {}", said.shown));
        let until = (!self.options.hang).then(|| now + self.options.work());
        self.phase = Phase::Working { text: said.text, until };
        self.spin_at = now;
        self.changed(now);
        Ok(Next::Go)
    }

    fn end_turn(&mut self, text: &str, now: Instant) -> io::Result<()> {
        if let Some(command) = &self.options.reply {
            let status = reply(command, text)?;
            if !status.success() {
                self.transcript.push(format!("the reply's command failed: {status}"));
            }
        }
        self.transcript.push(self.options.answer_to(text));
        self.phase = Phase::Composing;
        self.changed(now);
        Ok(())
    }

    fn interrupt(&mut self, now: Instant) {
        self.transcript.push("interrupted".to_owned());
        self.phase = Phase::Composing;
        self.changed(now);
    }

    fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working { .. })
    }

    fn changed(&mut self, now: Instant) {
        // What is late already is not put off by what comes after it.
        self.draw_at.get_or_insert(now + Duration::from_millis(self.options.slow));
    }

    /// Returns the bytes of the picture, if it is time to draw and there is something new.
    pub fn draw(&mut self, now: Instant, size: Size) -> Option<Vec<u8>> {
        self.draw_at.take_if(|at| *at <= now)?;
        let mut above: Vec<String> = Vec::new();
        for entry in &self.transcript {
            match entry.strip_prefix("» ") {
                Some(said) => above.extend(wrap("» ", said, size.columns)),
                None => above.extend(wrap("", entry, size.columns)),
            }
        }
        let below = match &self.phase {
            Phase::Booting(_) => wrap("", "starting", size.columns),
            Phase::Asking(question) => {
                let mut rows = wrap("", question, size.columns);
                rows.push("1. Yes  2. No".to_owned());
                rows
            }
            Phase::Composing => self.composer_rows(size),
            Phase::Working { .. } => {
                let turns = if self.options.spinner { ["", " .", " ..", " ..."][self.spun % 4] } else { "" };
                above.push(format!("working (esc to interrupt){turns}"));
                self.composer_rows(size)
            }
        };
        let bytes = frame(&above, &below, size);
        if bytes == self.drawn {
            return None;
        }
        self.drawn.clone_from(&bytes);
        Some(bytes)
    }

    fn composer_rows(&self, size: Size) -> Vec<String> {
        wrap("> ", &self.composer.shown(), size.columns)
    }
}

fn reply(command: &str, text: &str) -> io::Result<std::process::ExitStatus> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read to the end has heard enough.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait()
}

#[cfg(test)]
mod tests;
