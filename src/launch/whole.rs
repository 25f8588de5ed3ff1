//! The whole of a long reply: an envelope carries its beginning, and a file of its turn all of it, in the directory of the
//! turn. It stays as long as the store knows the turn, whatever becomes of the session that said it.
//!
//! The fleet sees only the beginning, so a long reply is held against its schema here. Only files are written; nothing is
//! decided about the turn.

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

/// JSON that fits, and where it is.
enum Fitting {
    Here(Value),
    InFile(PathBuf),
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
    pub fn settle(&self, turn: TurnId, shape: Option<&Shape>, finish: Finish) -> Finish {
        let mut finish = self.cut(turn, finish);
        let (Some(shape), Some(whole), Outcome::Replied) = (shape, &mut finish.truncated, finish.outcome) else {
            return finish;
        };
        match self.check(turn, shape, whole) {
            Ok(Fitting::Here(data)) => finish.data = Some(data),
            Ok(Fitting::InFile(path)) => whole.data = Some(path.display().to_string()),
            Err(complaint) => finish.complaint = Some(complaint),
        }
        finish
    }

    fn cut(&self, turn: TurnId, finish: Finish) -> Finish {
        if finish.text.len() <= TEXT_LIMIT {
            return finish;
        }
        let (bytes, beginning) =
            (finish.text.len() as u64, &finish.text[..finish.text.floor_char_boundary(TEXT_LIMIT)]);
        match self.write(turn, "reply", finish.text.as_bytes()) {
            Ok(path) => Finish {
                truncated: Some(Truncated { path: path.display().to_string(), bytes, data: None }),
                text: beginning.into(),
                ..finish
            },
            // Half a reply must never pass for a whole one.
            Err(error) => Finish {
                outcome: if finish.outcome == Outcome::Replied { Outcome::Failed } else { finish.outcome },
                why: Some(format!("its reply of {bytes} bytes could not be kept whole: {error}")),
                text: beginning.into(),
                ..finish
            },
        }
    }

    fn check(&self, turn: TurnId, shape: &Shape, whole: &Truncated) -> Result<Fitting, String> {
        if whole.bytes > MOST_ANSWER {
            return Err(format!(
                "it has {} bytes, and {} MiB is the most; put the long part into a file and name its path",
                whole.bytes,
                MOST_ANSWER >> 20
            ));
        }
        let bytes = fs::read(&whole.path).map_err(|error| format!("it could not be read again: {error}"))?;
        let data = shape.check(&String::from_utf8_lossy(&bytes))?;
        drop(bytes);
        let json = data.to_string();
        if json.len() <= TEXT_LIMIT {
            return Ok(Fitting::Here(data));
        }
        let written = self.write(turn, "data.json", json.as_bytes());
        written.map(Fitting::InFile).map_err(|error| format!("its JSON could not be kept: {error}"))
    }

    fn write(&self, turn: TurnId, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let dir = TurnDir::new(self.turns.join(turn.to_string()));
        dir.create().map_err(|error| error.source)?;
        durable::replace(dir.path(), name, bytes)?;
        Ok(dir.path().join(name))
    }
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

    fn numbers() -> Shape {
        Shape::read(&json!("integer[]"), None, &Shapes::new()).expect("valid")
    }

    #[test]
    fn a_long_reply_is_cut_between_characters_and_all_of_it_is_in_a_file() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().join("turns"));
        let short = said("short".into());
        assert!(!Wholes::is_long(&short));
        assert_eq!(wholes.settle(TURN, None, short.clone()), short);
        let text = "é".repeat(TEXT_LIMIT);
        let finish = wholes.settle(TURN, None, said(text.clone()));
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
        let finish = wholes.settle(TURN, Some(&shape), prose);
        assert_eq!((finish.data, finish.truncated.expect("cut").data), (Some(json!([1, 2])), None));
        let long = vec![123_456_789_u64; 150_000];
        let finish = wholes.settle(TURN, Some(&shape), said(serde_json::to_string(&long).expect("JSON")));
        let path = finish.truncated.expect("cut").data.expect("it fits");
        assert_eq!((finish.data, finish.complaint), (None, None));
        let read: Vec<u64> = serde_json::from_slice(&fs::read(path).expect("there")).expect("JSON");
        assert_eq!(read, long);
        let wrong = said(serde_json::to_string(&vec!["x"; TEXT_LIMIT / 3]).expect("JSON"));
        let complaint = wholes.settle(TURN, Some(&shape), wrong).complaint.expect("it does not fit");
        assert!(complaint.starts_with("at /0: \"x\" is not of type \"integer\""), "{complaint}");
    }

    #[test]
    fn a_reply_over_the_bound_is_not_read_and_the_bound_is_named() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let wholes = Wholes::new(place.path().to_path_buf());
        let finish = wholes.settle(TURN, Some(&numbers()), said("1".repeat(MOST_ANSWER as usize + 1)));
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
        let finish = Wholes::new(file).settle(TURN, Some(&numbers()), said("1".repeat(TEXT_LIMIT + 1)));
        assert_eq!((finish.outcome, finish.text.len(), finish.truncated), (Outcome::Failed, TEXT_LIMIT, None));
        let why = finish.why.expect("it says why");
        assert!(why.starts_with("its reply of 1048577 bytes could not be kept whole: "), "{why}");
    }
}
