//! The whole of a long reply: an envelope carries its beginning, and a file of its turn all of it, in the directory of the
//! turn. It stays as long as the store knows the turn, whatever becomes of the session that said it.
//!
//! The fleet sees only the beginning, so a long reply is held against its schema here. Only files are written. An answer
//! that does not fit is the agent's to mend; what the disk did is not, so nobody is asked again for it.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::turn_dir::{TEXT_LIMIT, TurnDir, durable};
use crate::fleet::envelope::{Finish, Truncated};
use crate::fleet::ids::TurnId;
use crate::fleet::shape::{MOST_ANSWER, Shape};
use crate::fleet::turn::Outcome;

/// The files of long replies.
#[derive(Clone, Debug)]
pub struct Wholes {
    turns: PathBuf,
}

/// A long reply for which the disk has no room. Nothing is lost yet: it may be tried again.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for a long reply: {0}")]
pub struct NoRoom(#[from] io::Error);

/// JSON that fits, and where it is.
enum Fitting {
    Here(Value),
    InFile(PathBuf),
}

/// Why there is no JSON.
enum Wrong {
    /// It does not fit, and whoever gave it is told so.
    Misfit(String),
    /// What was tried with a file, and what the system said.
    Disk(&'static str, io::Error),
}

impl Wholes {
    /// Keeps them in the directories of turns below this one.
    pub fn new(turns: PathBuf) -> Wholes {
        Wholes { turns }
    }

    /// Returns whether a reply is one that `settle` must see.
    pub fn is_long(finish: &Finish) -> bool {
        finish.text.len() > TEXT_LIMIT || finish.truncated.is_some()
    }

    /// Brings a long reply into the form in which the fleet is told of it: its beginning, the file with all of it, and
    /// whether it fits the schema that was asked for. Blocks.
    ///
    /// # Errors
    ///
    /// Fails only where the disk is full, and may then be called again.
    pub fn settle(&self, turn: TurnId, shape: Option<&Shape>, finish: Finish) -> Result<Finish, NoRoom> {
        let mut finish = self.cut(turn, finish)?;
        let (Some(shape), Some(whole), Outcome::Replied) = (shape, &mut finish.truncated, finish.outcome) else {
            return Ok(finish);
        };
        match self.check(turn, shape, whole) {
            Ok(Fitting::Here(data)) => finish.data = Some(data),
            Ok(Fitting::InFile(path)) => whole.data = Some(path.display().to_string()),
            Err(Wrong::Misfit(complaint)) => finish.complaint = Some(complaint),
            Err(Wrong::Disk(_, error)) if is_full(&error) => return Err(NoRoom(error)),
            Err(Wrong::Disk(tried, error)) => return Ok(failed(finish, format!("{tried}: {error}"))),
        }
        Ok(finish)
    }

    /// Returns what is told of a long reply at which nobody could look: its beginning, and what it took.
    pub fn unseen(finish: Finish) -> Finish {
        let text = beginning(&finish.text).into();
        failed(Finish { text, ..finish }, "its long reply could not be looked at".into())
    }

    fn cut(&self, turn: TurnId, finish: Finish) -> Result<Finish, NoRoom> {
        if finish.text.len() <= TEXT_LIMIT {
            return Ok(finish);
        }
        let (bytes, text) = (finish.text.len() as u64, beginning(&finish.text).into());
        match self.write(turn, "reply", finish.text.as_bytes()) {
            Ok(path) => {
                let truncated = Some(Truncated { path: path.display().to_string(), bytes, data: None });
                Ok(Finish { truncated, text, ..finish })
            }
            Err(error) if is_full(&error) => Err(NoRoom(error)),
            Err(error) => {
                let why = format!("its reply of {bytes} bytes could not be kept whole: {error}");
                Ok(failed(Finish { text, ..finish }, why))
            }
        }
    }

    fn check(&self, turn: TurnId, shape: &Shape, whole: &Truncated) -> Result<Fitting, Wrong> {
        if whole.bytes > MOST_ANSWER {
            return Err(Wrong::Misfit(format!(
                "it has {} bytes, and {} MiB is the most; put the long part into a file and name its path",
                whole.bytes,
                MOST_ANSWER >> 20
            )));
        }
        let bytes =
            fs::read(&whole.path).map_err(|error| Wrong::Disk("its long reply could not be read again", error))?;
        let data = shape.check(&String::from_utf8_lossy(&bytes)).map_err(Wrong::Misfit)?;
        drop(bytes);
        let json = data.to_string();
        if json.len() <= TEXT_LIMIT {
            return Ok(Fitting::Here(data));
        }
        let written = self.write(turn, "data.json", json.as_bytes());
        written.map(Fitting::InFile).map_err(|error| Wrong::Disk("the JSON of its reply could not be kept", error))
    }

    fn write(&self, turn: TurnId, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let dir = TurnDir::new(self.turns.join(turn.to_string()));
        dir.create().map_err(|error| error.source)?;
        durable::replace(dir.path(), name, bytes)?;
        Ok(dir.path().join(name))
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_LIMIT)]
}

/// Half a reply, and one at which nobody looked, must never pass for a whole one.
fn failed(finish: Finish, why: String) -> Finish {
    let outcome = if finish.outcome == Outcome::Replied { Outcome::Failed } else { finish.outcome };
    Finish { outcome, why: Some(why), ..finish }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fleet::shape::Shapes;

    const TURN: TurnId = TurnId(7);

    fn said(text: String) -> Finish {
        Finish { text: text.into(), why: None, ..Finish::without_reply(Outcome::Replied, "") }
    }

    fn settled(wholes: &Wholes, shape: Option<&Shape>, finish: Finish) -> Finish {
        wholes.settle(TURN, shape, finish).expect("there is room")
    }

    /// Numbers whose JSON is too long for an envelope.
    fn long() -> Vec<u64> {
        vec![123_456_789; 150_000]
    }

    fn numbers() -> Shape {
        Shape::read(&json!("integer[]"), None, &Shapes::new()).expect("valid")
    }

    #[test]
    fn a_long_reply_is_cut_between_characters_and_all_of_it_is_in_a_file() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().join("turns"));
        let short = said("short".into());
        assert!(!Wholes::is_long(&short));
        assert_eq!(settled(&wholes, None, short.clone()), short);
        let text = "é".repeat(TEXT_LIMIT);
        let finish = settled(&wholes, None, said(text.clone()));
        let whole = finish.truncated.expect("it was cut");
        assert_eq!((finish.outcome, finish.text.len(), whole.bytes), (Outcome::Replied, TEXT_LIMIT, text.len() as u64));
        assert_eq!(fs::read_to_string(&whole.path).expect("it is there"), text);
        assert_eq!((whole.data, finish.data, finish.complaint), (None, None, None), "no schema was asked for");
    }

    #[test]
    fn a_long_reply_is_held_against_its_schema_and_long_data_goes_by_a_file() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().to_path_buf());
        let shape = numbers();
        // A long text whose data is short.
        let prose = said(format!("{}\n```json\n[1, 2]\n```\n", "word ".repeat(TEXT_LIMIT / 4)));
        let finish = settled(&wholes, Some(&shape), prose);
        assert_eq!((finish.data, finish.truncated.expect("cut").data), (Some(json!([1, 2])), None));
        let finish = settled(&wholes, Some(&shape), said(json!(long()).to_string()));
        let path = finish.truncated.expect("cut").data.expect("it fits");
        assert_eq!((finish.data, finish.complaint), (None, None));
        let read: Vec<u64> = serde_json::from_slice(&fs::read(path).expect("there")).expect("JSON");
        assert_eq!(read, long());
        let wrong = said(serde_json::to_string(&vec!["x"; TEXT_LIMIT / 3]).expect("JSON"));
        let complaint = settled(&wholes, Some(&shape), wrong).complaint.expect("it does not fit");
        assert!(complaint.starts_with("at /0: \"x\" is not of type \"integer\""), "{complaint}");
    }

    #[test]
    fn a_reply_over_the_bound_is_not_read_and_the_bound_is_named() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().to_path_buf());
        let finish = settled(&wholes, Some(&numbers()), said("1".repeat(MOST_ANSWER as usize + 1)));
        assert_eq!(
            finish.complaint.as_deref(),
            Some("it has 16777217 bytes, and 16 MiB is the most; put the long part into a file and name its path")
        );
    }

    #[test]
    fn a_reply_that_cannot_be_kept_whole_is_a_failure() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let file = place.path().join("file");
        fs::write(&file, "in the way").expect("written");
        let finish = settled(&Wholes::new(file), Some(&numbers()), said("1".repeat(TEXT_LIMIT + 1)));
        assert_eq!((finish.outcome, finish.text.len(), finish.truncated), (Outcome::Failed, TEXT_LIMIT, None));
        let why = finish.why.expect("it says why");
        assert!(why.starts_with("its reply of 1048577 bytes could not be kept whole: "), "{why}");
    }
    /// An agent that is asked again costs money, and would only meet the same disk.
    #[test]
    fn a_fault_of_the_disk_is_a_failure_and_no_complaint() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().to_path_buf());
        let gone = place.path().join("gone").display().to_string();
        let cut = Finish {
            truncated: Some(Truncated { path: gone, bytes: TEXT_LIMIT as u64 + 1, data: None }),
            ..said("1".into())
        };
        // A file does not take the place of a directory.
        fs::create_dir_all(place.path().join(TURN.to_string()).join("data.json")).expect("made");
        for (finish, tried) in [
            (cut, "its long reply could not be read again: "),
            (said(json!(long()).to_string()), "the JSON of its reply could not be kept: "),
        ] {
            let finish = settled(&wholes, Some(&numbers()), finish);
            assert_eq!((finish.outcome, finish.complaint), (Outcome::Failed, None));
            let why = finish.why.expect("it says why");
            assert!(why.starts_with(tried), "{why}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_a_disk_is_full_nothing_is_settled_and_the_same_may_be_tried_again() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().to_path_buf());
        let dir = place.path().join(TURN.to_string());
        fs::create_dir(&dir).expect("made");
        for name in ["reply", "data.json"] {
            // What is written beside the name goes to a device that is always full; when that has failed it is removed.
            let beside = dir.join(format!(".{name}.{}", std::process::id()));
            std::os::unix::fs::symlink("/dev/full", beside).expect("made");
            let error = wholes.settle(TURN, Some(&numbers()), said(json!(long()).to_string()));
            let error = error.expect_err("there is no room").to_string();
            assert!(error.starts_with("there is no room for a long reply: "), "{name}: {error}");
        }
        let finish = settled(&wholes, Some(&numbers()), said(json!(long()).to_string()));
        assert_eq!((finish.outcome, finish.complaint), (Outcome::Replied, None));
        assert!(finish.truncated.expect("cut").data.is_some());
    }
}
