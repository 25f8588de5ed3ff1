//! What the program writes down for the test that watches it:
//! bytes and submitted texts, each there before it goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that is only appended to, or none.
pub struct Record {
    file: Option<File>,
}

impl Record {
    /// Opens it where a path is given.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be opened.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self { file: path.map(open).transpose()? })
    }

    /// Appends in one write.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// Appends a text as one line of JSON.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be written.
    pub fn append_text(&mut self, text: &str) -> io::Result<()> {
        self.append(format!("{}\n", serde_json::Value::from(text)).as_bytes())
    }
}
