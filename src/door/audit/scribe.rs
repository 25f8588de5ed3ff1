//! The one who writes the audit, on a thread of its own, so that a slow or full disk holds up nobody.
//! What cannot be written is lost, counted and told; the first line that can be written again says how many.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::line::{Gap, line};
use super::rotation::{Rotated, Rotation};
use super::{Audit, Ending, Losses, Order};

/// How long further lines are waited for once there is one: waking a thread and writing to a file cost more than all
/// else in a call that only looks. A daemon that is killed loses so much of its audit.
const REST: Duration = Duration::from_millis(20);

/// How much is written at once.
const MOST: usize = 256 << 10;

/// Writes what doors decided.
#[derive(Debug)]
pub struct Scribe {
    path: PathBuf,
    file: Rotated,
    orders: Receiver<Order>,
    losses: Arc<Losses>,
    ending: Arc<Ending>,
}

impl Scribe {
    pub(super) fn new(path: PathBuf, rotation: Rotation, orders: Receiver<Order>, audit: &Audit) -> Scribe {
        let (losses, ending) = (audit.losses.clone(), audit.ending.clone());
        Scribe { file: Rotated::new(path.clone(), rotation), path, orders, losses, ending }
    }

    /// Writes until it is told to end or nobody is left; blocks, so it belongs on a thread of its own.
    pub fn run(mut self) {
        let mut lines = Vec::new();
        let mut goes_on = true;
        while goes_on && let Ok(first) = self.orders.recv() {
            self.ending.rest(REST);
            goes_on = gather(first, &self.orders, &mut lines);
            self.write_all(&lines);
            lines.clear();
        }
        if let Err(error) = self.file.sync() {
            tracing::warn!(%error, file = %self.path.display(), "the end of the audit may not be on the disk");
        }
    }

    /// Writes lines at once, or, where that fails, as many of them as can be.
    fn write_all(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        match self.file.write(lines) {
            Ok(()) => self.tell_gap(),
            Err(failed) => {
                lines[failed.written..].split_inclusive(|&byte| byte == b'\n').for_each(|line| self.write(line))
            }
        }
    }

    fn write(&mut self, line: &[u8]) {
        match self.file.write(line) {
            Ok(()) => self.tell_gap(),
            Err(failed) => {
                let error = failed.error;
                let why = format!("{} cannot be written: {error}", self.path.display());
                if !self.losses.is_troubled() {
                    tracing::error!(%error, file = %self.path.display(), "the audit cannot be written");
                }
                self.losses.lose(|| why);
            }
        }
    }

    /// Writes how many lines are missing, if any are.
    fn tell_gap(&mut self) {
        let Some(trouble) = self.losses.end() else { return };
        tracing::info!(lost = trouble.lost, "the audit can be written again");
        let mut gap = Vec::new();
        line(&Gap::of(trouble), &mut gap);
        // If this line is lost too, the count of all losses still tells.
        let _ = self.file.write(&gap);
    }
}

/// Adds the lines of all orders that are there; returns whether there is none to end among them.
fn gather(first: Order, orders: &Receiver<Order>, lines: &mut Vec<u8>) -> bool {
    let mut next = Some(first);
    while let Some(order) = next {
        match order {
            Order::Write(decision) => line(&*decision, lines),
            Order::End => return false,
        }
        next = if lines.len() < MOST { orders.try_recv().ok() } else { None };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::{Decision, Who};
    use super::*;
    use crate::fleet::caller::CallerKind;
    use crate::fleet::rules::{Door, Verb};
    use crate::fleet::time::Time;

    fn decision(at: u64) -> Decision {
        Decision {
            at: Time(at),
            door: Door::Mcp,
            who: Who { caller: CallerKind::Leader, worker: None, via_child: None, pid: None, peer: None },
            verb: Verb::Poll,
            target: Vec::new(),
            allowed: true,
            refusal: None,
            outcome: None,
            bytes: None,
            generation: 1,
        }
    }

    fn text(at: u64) -> Vec<u8> {
        let mut text = Vec::new();
        line(&decision(at), &mut text);
        text
    }

    #[test]
    fn what_was_decided_is_written_before_the_scribe_ends() {
        let dir = tempfile::tempdir().unwrap();
        let (audit, scribe) = Audit::to(dir.path().join("audit.jsonl"), Rotation::default());
        for at in 0..500 {
            audit.decided(decision(at));
        }
        audit.end();
        audit.decided(decision(501));
        scribe.run();
        let text = std::fs::read_to_string(dir.path().join("audit.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 500);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["verb"] == "poll"));
        assert_eq!((audit.lost(), audit.trouble()), (0, None));
        audit.decided(decision(502));
        let trouble = audit.trouble().unwrap();
        assert_eq!((audit.lost(), trouble.as_str()), (1, "audit: its writer has ended; lines lost since: 1"));
    }

    #[test]
    fn lines_that_find_no_place_are_counted_told_and_noted_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (audit, scribe) = Audit::to(path.clone(), Rotation::default());
        for at in 0..super::super::WAITING as u64 + 3 {
            audit.decided(decision(at));
        }
        assert_eq!(audit.trouble().unwrap(), "audit: the disk is too slow for it; lines lost since: 3");
        let ender = audit.clone();
        let writes = std::thread::spawn(move || scribe.run());
        ender.end();
        writes.join().unwrap();
        assert_eq!((audit.lost(), audit.trouble()), (3, None), "it goes on, and the total stays");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#"{"lost":3,"why":"the disk is too slow for it"}"#));
    }

    #[test]
    fn a_file_that_cannot_be_written_loses_lines_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::create_dir(&path).unwrap();
        let (audit, mut scribe) = Audit::to(path.clone(), Rotation::default());
        scribe.write_all(&[text(1), text(2)].concat());
        let trouble = audit.trouble().unwrap();
        assert!(trouble.starts_with(&format!("audit: {} cannot be written: ", path.display())), "{trouble}");
        assert!(trouble.ends_with("; lines lost since: 2"), "{trouble}");
        std::fs::remove_dir(&path).unwrap();
        scribe.write_all(&text(3));
        assert_eq!((audit.lost(), audit.trouble()), (2, None));
        let lines = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert!(lines.len() == 2 && lines[1].contains(r#""lost":2"#), "{lines:?}");
    }
}
