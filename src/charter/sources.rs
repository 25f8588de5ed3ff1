//! The sources of a charter, read once into memory: what was read is what runs.
//!
//! Names are relative to the charter directory with `/`; the hash over sorted names and bytes is the identity of a
//! generation. No Lua here.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::error::{CharterError, CharterErrors};
use super::shipped;

/// How many files a charter may have.
pub const MOST_FILES: usize = 256;
/// How large one of them may be.
pub const MOST_BYTES: u64 = 1024 * 1024;

/// What is said of a file without a text.
const EMPTY: &str = "this file is empty, as in the middle of a save; remove it if it is not needed";

/// All Lua files of a charter with their text, and the hash over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: BTreeMap<String, Arc<str>>,
    hash: String,
}

impl Sources {
    /// Reads every `*.lua` below a directory; ignores dot files, `*~` and names outside `[a-z0-9_/-]`.
    pub fn read(dir: &Path) -> Result<Sources, CharterErrors> {
        let mut found = BTreeMap::new();
        let mut errors = Vec::new();
        walk(dir, "", &mut found, &mut errors).map_err(|error| {
            CharterError::plain(format!("cannot read the charter directory {}: {error}", dir.display()))
        })?;
        errors.extend(too_many(found.len()));
        if found.is_empty() && errors.is_empty() {
            errors.push(CharterError::plain(format!("the charter directory {} has no .lua file", dir.display())));
        }
        match errors.is_empty() {
            true => Ok(Sources::from_files(found)),
            false => Err(CharterErrors(errors)),
        }
    }

    /// Takes the files of somebody else, who has read them for us, by the rules for those of a directory.
    pub fn given(files: BTreeMap<String, String>) -> Result<Sources, CharterErrors> {
        let wrong =
            |name: &str, why: &str| CharterError { file: Some(name.to_owned()), ..CharterError::plain(why.to_owned()) };
        let why =
            |name: &str, text: &str| match name.strip_suffix(".lua").is_some_and(|stem| stem.split('/').all(is_name)) {
                false => Some("no file of a charter has such a name: lower-case letters, digits, _ and -, then .lua"),
                true if text.is_empty() => Some(EMPTY),
                true if text.contains('\0') => Some("this is no text: it holds a NUL byte"),
                true if text.len() as u64 > MOST_BYTES => Some("a file of a charter has at most 1 MiB"),
                true => None,
            };
        let mut errors: Vec<CharterError> =
            files.iter().filter_map(|(name, text)| Some(wrong(name, why(name, text)?))).collect();
        errors.extend(too_many(files.len()));
        match errors.is_empty() {
            true => {
                Ok(Sources::from_files(files.into_iter().map(|(name, text)| (name, without_mark(&text).to_owned()))))
            }
            false => Err(CharterErrors(errors)),
        }
    }

    /// Returns sources that are given as name and text.
    pub fn from_files<N: Into<String>, T: Into<Arc<str>>>(files: impl IntoIterator<Item = (N, T)>) -> Sources {
        let files: BTreeMap<String, Arc<str>> =
            files.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        let mut digest = Sha256::new();
        for (name, text) in &files {
            for part in [name.as_bytes(), text.as_bytes()] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        Sources { hash: hex(&digest.finalize()), files }
    }

    /// Reads the text form of `to_text`.
    pub fn from_text(text: &str) -> Result<Sources, String> {
        serde_json::from_str::<BTreeMap<String, String>>(text)
            .map(Sources::from_files)
            .map_err(|error| format!("the kept sources of a charter cannot be read: {error}"))
    }

    /// Returns one text that holds all files, for the journal.
    pub fn to_text(&self) -> String {
        let plain: BTreeMap<&str, &str> = self.iter().collect();
        serde_json::to_string(&plain).expect("a map of texts has a JSON form")
    }

    /// Returns the hex SHA-256 over the sorted names and bytes.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the text of a file, also of one that is inside the program.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(|text| &**text).or_else(|| shipped::text(file))
    }

    /// Returns one line of a file, counted from 1.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        self.text(file)?.lines().nth((line as usize).checked_sub(1)?)
    }

    /// Returns the names and texts in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (&**name, &**text))
    }

    /// Returns the names of all files.
    pub fn names(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }
}

fn too_many(files: usize) -> Option<CharterError> {
    let said = || format!("the charter has {files} files; {MOST_FILES} are the limit");
    (files > MOST_FILES).then(|| CharterError::plain(said()))
}

/// Returns bytes as lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn walk(
    dir: &Path,
    prefix: &str,
    found: &mut BTreeMap<String, Arc<str>>,
    errors: &mut Vec<CharterError>,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            // It may vanish between the listing and the look at it: a save by rename is under way. A link stays.
            Err(error) if !path.is_symlink() && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let stem = name.strip_suffix(".lua");
                if stem.is_some_and(is_name) {
                    let why = if path.is_symlink() { "this link leads nowhere" } else { "cannot look at it" };
                    let file = Some(format!("{prefix}{name}"));
                    errors.push(CharterError { file, ..CharterError::plain(format!("{why}: {error}")) });
                }
                continue;
            }
        };
        if meta.is_dir() {
            if is_name(&name) && prefix.matches('/').count() < 8 {
                let below = format!("{prefix}{name}/");
                let done = walk(&path, &below, found, errors);
                errors.extend(done.err().and_then(|error| unread(&below, &error)));
            }
            continue;
        }
        let Some(stem) = name.strip_suffix(".lua") else {
            continue;
        };
        if !is_name(stem) || found.len() > MOST_FILES {
            continue;
        }
        let full = format!("{prefix}{name}");
        let wrong = |message: String| CharterError { file: Some(full.clone()), ..CharterError::plain(message) };
        // Reading a pipe would wait for its writer, for ever if there is none.
        if !meta.is_file() {
            errors.push(wrong("this is not a regular file".to_owned()));
            continue;
        }
        if meta.len() > MOST_BYTES {
            errors.push(wrong(format!("{} bytes; a file of a charter has at most 1 MiB", meta.len())));
            continue;
        }
        match fs::read(&path).map(String::from_utf8) {
            // Programs empty a file before they write it anew; taken for what was meant, it would take away whole roles.
            Ok(Ok(text)) if text.is_empty() => {
                errors.push(wrong(EMPTY.to_owned()));
            }
            Ok(Ok(text)) => match text.find('\0') {
                Some(at) => errors.push(CharterError {
                    line: u32::try_from(text[..at].matches('\n').count() + 1).ok(),
                    ..wrong("this is no text: it holds a NUL byte".to_owned())
                }),
                None => drop(found.insert(full, without_mark(&text).into())),
            },
            Ok(Err(error)) => {
                let good = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..good].iter().filter(|b| **b == b'\n').count() + 1;
                errors.push(CharterError {
                    line: u32::try_from(line).ok(),
                    ..wrong("this is not UTF-8 text".to_owned())
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => errors.push(wrong(format!("cannot read it: {error}"))),
        }
    }
    Ok(())
}

/// Returns what is wrong with a directory below; one that vanished meanwhile is not there.
fn unread(dir: &str, error: &io::Error) -> Option<CharterError> {
    let said =
        || CharterError { file: Some(dir.to_owned()), ..CharterError::plain(format!("cannot read it: {error}")) };
    (error.kind() != io::ErrorKind::NotFound).then(said)
}

/// Returns a text without the mark by which some editors begin a file, and which Lua skips, too.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Lists Lua files that are passed over because of their names, or of those of the directories in which they lie.
pub(super) fn passed_over(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    look_over(dir, "", true, &mut found);
    found.sort();
    found
}

fn look_over(dir: &Path, prefix: &str, good: bool, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Dot files are nobody's mistake, and what is deep is nobody's charter.
        if name.starts_with('.') || prefix.matches('/').count() >= 8 || found.len() >= MOST_FILES {
            continue;
        }
        let full = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look_over(&entry.path(), &format!("{full}/"), good && is_name(&name), found);
        } else if name.strip_suffix(".lua").is_some_and(|stem| !good || !is_name(stem)) {
            found.push(full);
        }
    }
}

fn is_name(stem: &str) -> bool {
    !stem.is_empty() && stem.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_proper_names_are_read_and_the_hash_is_of_names_and_bytes() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in [
            ("team.lua", "-- a"),
            (".hidden.lua", "x"),
            ("team.lua~", "x"),
            ("Upper.lua", "x"),
            ("notes.txt", "x"),
            ("recipes/hunt.lua", "-- b"),
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("in the directory")).expect("made");
            fs::write(path, text).expect("written");
        }
        let sources = Sources::read(dir.path()).expect("readable");
        assert_eq!(sources.names(), ["recipes/hunt.lua", "team.lua"]);
        fs::create_dir_all(dir.path().join("Lib/deep")).expect("made");
        fs::write(dir.path().join("Lib/deep/a.lua"), "x").expect("written");
        assert_eq!(passed_over(dir.path()), ["Lib/deep/a.lua", "Upper.lua"]);
        let again = Sources::from_text(&sources.to_text()).expect("its own form");
        assert_eq!(again, sources);
        let moved = Sources::from_files([("recipes/hunt.lua", "-- b"), ("teams.lua", "-- a")]);
        assert_ne!(moved.hash(), sources.hash());
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = std::process::Command::new("mkfifo").arg(dir.path().join("a.lua")).status().expect("mkfifo");
        assert!(made.success());
        let errors = Sources::read(dir.path()).expect_err("not a file");
        assert_eq!(errors.to_string(), "a.lua: this is not a regular file");
    }

    #[test]
    fn a_directory_below_that_cannot_be_read_is_named_and_one_that_vanished_is_passed_over() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let said = unread("recipes/", &denied).map(|error| error.to_string());
        assert_eq!(said.as_deref(), Some("recipes/: cannot read it: permission denied"));
        assert!(unread("recipes/", &io::Error::from(io::ErrorKind::NotFound)).is_none());
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_with_its_line() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a.lua"), b"-- fine\nlocal x = '\xff'\n").expect("written");
        let errors = Sources::read(dir.path()).expect_err("not UTF-8");
        assert_eq!(errors.to_string(), "a.lua:2: this is not UTF-8 text");
        fs::write(dir.path().join("a.lua"), "-- fine\n-- \0\n").expect("written");
        let errors = Sources::read(dir.path()).expect_err("no text");
        assert_eq!(errors.to_string(), "a.lua:2: this is no text: it holds a NUL byte");
    }

    #[test]
    fn a_file_that_begins_with_a_mark_is_the_one_without_it() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a.lua"), "\u{feff}-- fine\n").expect("written");
        let plain = Sources::from_files([("a.lua", "-- fine\n")]);
        assert_eq!(Sources::read(dir.path()).expect("it is fine"), plain);
        let given = BTreeMap::from([("a.lua".to_owned(), "\u{feff}-- fine\n".to_owned())]);
        assert_eq!(Sources::given(given).expect("it is fine"), plain);
    }
}
