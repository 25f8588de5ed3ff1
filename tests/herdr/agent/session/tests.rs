//! What the program does, key by key and moment by moment,
//! with neither a terminal nor a clock.

use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use clap::Parser;

use super::super::habits::Options;
use super::super::keys::Keys;
use super::super::screen::Size;
use super::{Next, Session};

struct Played<'a> {
    session: Session<'a>,
    keys: Keys,
    now: Instant,
    last: Next,
    screen: vt100::Parser,
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn options(flags: &str) -> Options {
    Options::parse_from(std::iter::once("test-agent").chain(flags.split_whitespace()))
}

impl<'a> Played<'a> {
    fn new(options: &'a Options) -> Self {
        let now = Instant::now();
        let session = Session::new(options, Vec::new(), now).unwrap();
        let mut played = Self {
            session,
            keys: Keys::default(),
            now,
            last: Next::Go,
            screen: vt100::Parser::new(cells(20), cells(30), 0),
        };
        played.after(0);
        played
    }

    fn after(&mut self, ms: u64) -> &mut Self {
        let end = self.now + Duration::from_millis(ms);
        loop {
            self.step();
            match self.session.deadline() {
                Some(at) if at <= end && self.last == Next::Go => self.now = self.now.max(at),
                _ => break,
            }
        }
        self.now = end;
        self.step();
        self
    }

    fn step(&mut self) {
        let next = self.session.tick(self.now).unwrap();
        if next != Next::Go {
            self.last = next;
        }
        if let Some(bytes) = self.session.draw(self.now, Size { rows: 20, columns: 30 }) {
            self.screen.process(&bytes);
        }
    }

    fn types(&mut self, bytes: &str) -> &mut Self {
        for key in self.keys.feed(bytes.as_bytes()) {
            let next = self.session.key(key, self.now).unwrap();
            if next != Next::Go {
                self.last = next;
            }
        }
        for key in self.keys.rest() {
            self.session.key(key, self.now).unwrap();
        }
        self.after(0)
    }

    fn rows(&self) -> Vec<String> {
        let rows = self.screen.screen().rows(0, 30).map(|row| row.trim_end().to_owned());
        let mut rows: Vec<String> = rows.collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }
}

#[test]
fn a_text_is_composed_submitted_worked_on_and_answered() {
    let options = options("--work 100 --answer upper");
    let mut played = Played::new(&options);
    assert_eq!(played.rows(), [">"]);
    assert_eq!(played.types("\x1b[200~do this\nand that\x1b[201~").rows(), ["> do this", "  and that"]);
    let working = ["» do this", "  and that", "working (esc to interrupt)", ">"];
    assert_eq!(played.types("\r").rows(), working);
    assert_eq!(played.after(99).rows(), working);
    assert_eq!(played.after(1).rows(), ["» do this", "  and that", "DO THIS", "AND THAT", ">"]);
}

#[test]
fn what_is_submitted_during_a_turn_waits_for_its_end() {
    let options = options("--work 100");
    let mut played = Played::new(&options);
    played.types("one\r").types("two\r");
    assert_eq!(played.rows(), ["» one", "working (esc to interrupt)", ">"]);
    assert_eq!(played.after(100).rows(), ["» one", "one", "» two", "working (esc to interrupt)", ">"]);
    assert_eq!(played.after(100).rows(), ["» one", "one", "» two", "two", ">"]);
}

#[test]
fn a_booting_program_loses_what_is_typed() {
    let options = options("--boot 500");
    let mut played = Played::new(&options);
    assert_eq!(played.types("lost\r").rows(), ["starting"]);
    assert_eq!(played.after(500).rows(), [">"]);
}

#[test]
fn a_slow_program_shows_each_change_late() {
    let options = options("--slow 300");
    let mut played = Played::new(&options);
    played.after(300).types("a").after(200).types("b");
    assert_eq!(played.rows(), [">"]);
    assert_eq!(played.after(100).rows(), ["> ab"]);
}

#[test]
fn enters_are_eaten_after_each_paste() {
    let options = options("--eat-enter 2 --work 10");
    let mut played = Played::new(&options);
    for _ in 0..2 {
        played.types("\x1b[200~x\x1b[201~").types("\r").types("\r");
        assert_eq!(played.rows().last().unwrap(), "> x");
        played.types("\r").after(10);
    }
    assert_eq!(played.rows(), ["» x", "x", "» x", "x", ">"]);
}

#[test]
fn a_dialog_hides_the_composer_until_it_is_answered() {
    let options = options("--dialog Trust? --dialog-on-paste Sure?");
    let mut played = Played::new(&options);
    assert_eq!(played.types("\x1b[200~lost 1\x1b[201~\r").rows(), ["Trust?", "1. Yes  2. No"]);
    assert_eq!(played.types("1").rows(), ["Trust? Yes", ">"]);
    assert_eq!(played.types("\x1b[200~kept\x1b[201~").rows(), ["Trust? Yes", "Sure?", "1. Yes  2. No"]);
    assert_eq!(played.types("\r2").rows(), ["Trust? Yes", "Sure? No", "> kept"]);
    assert_eq!(played.types("\x1b[200~!\x1b[201~").rows(), ["Trust? Yes", "Sure? No", "> kept!"], "only once");
}

#[test]
fn a_draft_goes_with_what_comes_after_it() {
    let options = options("--draft half --work 0");
    let mut played = Played::new(&options);
    assert_eq!(played.rows(), ["> half"]);
    assert_eq!(played.types(" whole\r").after(0).rows(), ["» half whole", "half whole", ">"]);
}

#[test]
fn a_turn_that_hangs_is_ended_by_escape() {
    let options = options("--hang");
    let mut played = Played::new(&options);
    played.types("x\r").after(1_000_000);
    assert_eq!(played.rows(), ["» x", "working (esc to interrupt)", ">"]);
    assert_eq!(played.types("\x1b").rows(), ["» x", "interrupted", ">"]);
}

#[test]
fn a_long_paste_is_shown_as_one_and_taken_as_a_whole() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("submitted");
    let options = options(&format!("--collapse 4 --work 0 --answer done --submitted {}", file.display()));
    let mut played = Played::new(&options);
    assert_eq!(played.types("\x1b[200~a\nbcd\x1b[201~").rows(), ["> [Pasted text #1 +1 lines]"]);
    assert_eq!(played.types("\r").after(0).rows(), ["» [Pasted text #1 +1 lines]", "done", ">"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"a\\nbcd\"\n");
}

#[test]
fn it_dies_where_it_was_told_to() {
    for (when, keys) in [("paste", "\x1b[200~x\x1b[201~"), ("enter", "x\r"), ("working", "x\r")] {
        let options = options(&format!("--die {when}"));
        assert_eq!(Played::new(&options).types(keys).last, Next::End(7), "{when}");
    }
}

#[test]
fn it_is_left_by_ctrl_d_or_two_ctrl_c_on_an_empty_composer() {
    let options = options("");
    let mut played = Played::new(&options);
    assert_eq!(played.types("x\x04\x03\x03").last, Next::Go, "one clears, one warns");
    assert_eq!(played.types("\x03").last, Next::End(0));
    assert_eq!(Played::new(&options).types("\x04").last, Next::End(0));
}

#[test]
fn a_spinner_draws_all_the_time() {
    let options = options("--spinner --work 1000");
    let mut played = Played::new(&options);
    played.types("x\r");
    let before = played.rows();
    assert_ne!(played.after(80).rows(), before);
}

#[test]
fn the_reply_gets_the_text_when_the_turn_ends() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("reply");
    let mut options = options("--work 0");
    options.reply = Some(format!("cat > {}", file.display()));
    Played::new(&options).types("text\r").after(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
}
