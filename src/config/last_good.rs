//! The last good copy of a charter, as it lies in the state directory: with it a daemon starts although the directory of
//! the charter is broken, or is not there yet.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A charter that was in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastGood {
    /// The directory that it was read from.
    pub dir: PathBuf,
    /// Its number; only these files have it.
    pub generation: u64,
    /// The texts of its files, by their names.
    pub files: BTreeMap<String, String>,
}

impl LastGood {
    /// Returns where it lies.
    pub fn file(state: &Path) -> PathBuf {
        state.join("charter-last-good.json")
    }

    /// Reads it; nothing if there is none. One from before it had a number is of no directory.
    pub fn read(state: &Path) -> io::Result<Option<LastGood>> {
        let text = match std::fs::read_to_string(LastGood::file(state)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let of_files = |files| LastGood { dir: PathBuf::new(), generation: 0, files };
        match serde_json::from_str(&text) {
            Ok(copy) => Ok(Some(copy)),
            Err(error) => match serde_json::from_str(&text) {
                Ok(files) => Ok(Some(of_files(files))),
                Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            },
        }
    }
}
