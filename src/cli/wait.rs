//! Waiting for a turn or a run: in pieces, so that a person sees how it goes; over a restart of the daemon; and until
//! Ctrl-C, after which it goes on without us.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::client::{Client, Reply};
use super::exit::Failure;
use super::interrupt;
use super::look::{Look, one_line};
use super::terminal::Terminal;
use crate::fleet::time::Span;

/// How long one request waits where nobody looks at it.
const LONG: Span = Span::minutes(5);
/// How long one request waits where somebody does.
const SHORT: Span = Span(700);
/// How long a daemon that went away may take to come back.
const RETURN: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_millis(200);

/// `--wait` with or without a bound.
#[derive(Args, Clone, Debug)]
pub struct WaitArg {
    /// Wait until it ends, or at most so long (--wait=90s)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = Span::parse)]
    #[allow(clippy::option_option, reason = "clap's form for an option whose value may be left out")]
    pub wait: Option<Option<Span>>,
}

impl WaitArg {
    /// Returns the bound of the wait; `None` = do not wait.
    pub fn bound(&self) -> Option<Bound> {
        self.wait.map(|span| span.map_or(Bound::End, Bound::Span))
    }
}

/// Joins `--wait 5s` to `--wait=5s`: a bound may be left out, so that clap would take the word after it for the next
/// argument, which sends a prompt with `5s` at its end. After `--` all words are left alone.
pub fn join(words: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    let mut open = true;
    for word in words {
        open &= word != "--";
        let is_time = |text: &str| Span::parse(text).is_ok() || text.parse::<f64>().is_ok();
        match joined.last_mut() {
            Some(last) if open && last == "--wait" && word.to_str().is_some_and(is_time) => {
                last.push("=");
                last.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// How long a wait goes on.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// Until the end.
    End,
    /// At most so long.
    Span(Span),
}

/// What is waited for.
pub struct Wait<'a> {
    /// Where to wait, without the query: `/v1/turns/t17/wait`.
    pub path: String,
    /// How long.
    pub bound: Bound,
    /// What goes on after Ctrl-C, and how to see it.
    pub goes_on: String,
    /// What a person is shown while it goes on.
    pub progress: &'a dyn Fn(&Client, &Look) -> Option<Progress>,
}

/// How far something is.
pub struct Progress {
    /// Parts that ended, and all parts, where there are parts.
    pub parts: Option<(u64, u64)>,
    /// In a few words.
    pub text: String,
}

/// Waits; the answer is the end of it, or why the wait is over.
pub fn wait(terminal: &Terminal, client: &mut Client, wait: &Wait) -> Result<Reply, Failure> {
    let begin = Instant::now();
    let bar = terminal.err.terminal.then(|| Bar::new(terminal.err));
    let reply = loop {
        let left = match wait.bound {
            Bound::End => LONG,
            Bound::Span(span) => Span(span.0.saturating_sub(begin.elapsed().as_millis() as u64)),
        };
        let piece = left.min(if bar.is_some() { SHORT } else { LONG });
        let asked = Instant::now();
        let reply = once(terminal, client, wait, piece)?;
        let is_over = match wait.bound {
            Bound::End => false,
            Bound::Span(_) => left <= piece,
        };
        if !reply.is_open() || asks(&reply) || is_over {
            break reply;
        }
        if asked.elapsed() < piece.std() / 2 {
            // A daemon that closes answers at once: it is not asked again and again until it is gone.
            interrupt::pause(RETRY);
        }
        if let Some(bar) = &bar
            && let Some(progress) = (wait.progress)(client, &terminal.err)
        {
            bar.show(&progress);
        }
    };
    Ok(reply)
}

/// Waits one piece of the time; a daemon that went away is looked for until it is back.
fn once(terminal: &Terminal, client: &mut Client, wait: &Wait, piece: Span) -> Result<Reply, Failure> {
    let path = format!("{}?wait={}ms", wait.path, piece.0);
    let mut gone: Option<Instant> = None;
    loop {
        let failure = match client.get(&path, piece) {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        match failure {
            Failure::Interrupted { .. } => break,
            Failure::Unreachable { .. } | Failure::NotRunning(_) => {
                let since = *gone.get_or_insert_with(|| {
                    terminal.talk("fleetd went away; waiting for it to come back");
                    Instant::now()
                });
                if since.elapsed() > RETURN {
                    return Err(failure);
                }
                interrupt::pause(RETRY);
                if interrupt::pressed() {
                    break;
                }
                // While it is not back its file may be missing; then the old address is as good as any.
                let _ = client.find_again();
            }
            failure => return Err(failure),
        }
    }
    Err(Failure::Interrupted { goes_on: Some(wait.goes_on.clone()) })
}

fn asks(reply: &Reply) -> bool {
    reply.read::<crate::engine::requests::Pending>().is_ok_and(|pending| !pending.questions.is_empty())
}

/// The line or bar that a person sees.
struct Bar {
    bar: ProgressBar,
    look: Look,
}

impl Bar {
    fn new(look: Look) -> Bar {
        let bar = ProgressBar::new_spinner();
        let bar = Bar { bar, look };
        bar.bar.set_style(bar.style("{spinner} {elapsed} {msg}"));
        bar
    }

    fn show(&self, progress: &Progress) {
        if let Some((settled, all)) = progress.parts.filter(|(_, all)| *all > 1) {
            if self.bar.length() != Some(all) {
                self.bar.set_style(self.style("{spinner} {elapsed} {bar:20} {pos}/{len} {msg}"));
                self.bar.set_length(all);
            }
            self.bar.set_position(settled);
        }
        self.bar.set_message(one_line(&progress.text, self.look.width.saturating_sub(40).max(12), &self.look));
        self.bar.tick();
    }

    fn style(&self, template: &str) -> ProgressStyle {
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        match self.look.unicode {
            true => style.progress_chars("━╸─").tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "),
            false => style.progress_chars("=> ").tick_chars("-\\|/ "),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_after_wait_belongs_to_it() {
        let join = |words: &str| join(words.split(' ').map(OsString::from).collect()).join(" ".as_ref()).into_string();
        for (words, joined) in [
            ("send w x --wait 5s", "send w x --wait=5s"),
            ("send w --wait 5 x", "send w --wait=5 x"),
            ("send w --wait x 5s", "send w --wait x 5s"),
            ("send w --wait=1s 5s", "send w --wait=1s 5s"),
            ("send w -- --wait 5s", "send w -- --wait 5s"),
            ("send w x --wait", "send w x --wait"),
        ] {
            assert_eq!(join(words).as_deref(), Ok(joined));
        }
    }
}
