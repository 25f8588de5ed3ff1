//! What is brought from a worker's directory into its private folder: a file, a directory, entries of a JSON table.
//! Nothing from outside of the directory, whatever its links say; what is not there is not brought.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{HomeError, directory, imports, to_text, write};
use crate::fleet::plan::Bring;
use crate::launch::read;

/// How large a file is that is brought, at most.
const MOST: u64 = 4 * 1024 * 1024;

/// How much a directory that is brought may hold.
struct Left {
    /// Bytes of files.
    bytes: u64,
    /// Files and directories.
    entries: u32,
}

/// What a directory that is brought may hold, at most.
const MOST_OF_A_DIRECTORY: Left = Left { bytes: 64 * 1024 * 1024, entries: 5_000 };

/// Brings one thing.
pub(super) fn bring(what: &Bring, cwd: &Path, home: &Path) -> Result<(), HomeError> {
    let Some(from) = inside(cwd, &cwd.join(&what.from)) else { return Ok(()) };
    let to = home.join(&what.to);
    match &what.table {
        Some(table) => merge(&from, &to, table, what.only.as_deref()),
        None if from.is_dir() => bring_dir(&from, &to, cwd, what.only.as_deref(), MOST_OF_A_DIRECTORY),
        None if what.imports => write(&to, imports::written_out(&read(&from)?, &from, cwd).as_bytes()),
        None => copy_file(&from, &to).map(drop),
    }
}

/// Returns the real path of something that is there and inside a directory.
pub(super) fn inside(cwd: &Path, path: &Path) -> Option<PathBuf> {
    let (cwd, path) = (cwd.canonicalize().ok()?, path.canonicalize().ok()?);
    path.starts_with(&cwd).then_some(path)
}

/// Reads a file that is brought.
fn read(path: &Path) -> Result<String, HomeError> {
    read::text(path, MOST).map_err(|error| HomeError::Bring { path: path.into(), error })
}

/// Copies a file, and returns how long it is.
fn copy_file(from: &Path, to: &Path) -> Result<u64, HomeError> {
    to.parent().map(directory).transpose()?;
    let failed = |error| HomeError::Bring { path: from.into(), error };
    let bytes = match read::bytes(from, MOST) {
        // A pipe or a device is nothing that could be brought.
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(0),
        bytes => bytes.map_err(failed)?,
    };
    write(to, &bytes)?;
    // A script stays one.
    let mode = fs::metadata(from).map_err(failed)?.permissions().mode() & 0o700;
    fs::set_permissions(to, Permissions::from_mode(mode | 0o600)).map_err(failed)?;
    Ok(bytes.len() as u64)
}

/// Brings a directory, unless it holds too much; the error names it.
fn bring_dir(from: &Path, to: &Path, cwd: &Path, only: Option<&[String]>, most: Left) -> Result<(), HomeError> {
    let why = format!("it holds more than {} bytes or {} files", most.bytes, most.entries);
    let mut left = Some(most);
    copy_dir(from, to, cwd, only, &mut left)?;
    left.map(drop).ok_or(HomeError::Shape { path: from.into(), why })
}

/// Copies a directory; nothing is left where it was too much.
fn copy_dir(
    from: &Path,
    to: &Path,
    cwd: &Path,
    only: Option<&[String]>,
    left: &mut Option<Left>,
) -> Result<(), HomeError> {
    let failed = |error: io::Error| HomeError::Bring { path: from.into(), error };
    directory(to)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if only.is_some_and(|only| !only.iter().any(|one| **one == *name)) {
            continue;
        }
        let entries = left.as_ref().and_then(|left| left.entries.checked_sub(1));
        let (Some(entries), Some(Left { bytes, .. })) = (entries, left.take()) else { return Ok(()) };
        let taken = match inside(cwd, &entry.path()) {
            // A link to a directory may lead in a circle; a link to a file is a file.
            Some(path) if path.is_dir() && entry.path().is_symlink() => 0,
            Some(path) if path.is_dir() => {
                *left = Some(Left { bytes, entries });
                copy_dir(&path, &to.join(name), cwd, None, left)?;
                continue;
            }
            Some(path) => copy_file(&path, &to.join(name))?,
            None => 0,
        };
        let Some(bytes) = bytes.checked_sub(taken) else { return Ok(()) };
        *left = Some(Left { bytes, entries });
    }
    Ok(())
}

/// Adds entries of a table of one JSON file to the same table of another; lists of the same name are joined.
fn merge(from: &Path, to: &Path, table: &str, only: Option<&[String]>) -> Result<(), HomeError> {
    let shape = |path: &Path, why: String| HomeError::Shape { path: path.into(), why };
    let parse = |path: &Path| -> Result<Value, HomeError> {
        serde_json::from_str(&read(path)?).map_err(|error| shape(path, format!("it is no JSON: {error}")))
    };
    let theirs = parse(from)?;
    let Some(entries) = table.split('.').try_fold(&theirs, |value, name| value.get(name)) else { return Ok(()) };
    let Value::Object(entries) = entries else {
        return Err(shape(from, format!("its '{table}' is no table")));
    };
    let mut ours = if to.exists() { parse(to)? } else { Value::Object(Map::new()) };
    let into = table.split('.').try_fold(&mut ours, |value, name| match value {
        Value::Object(map) => Some(map.entry(name).or_insert_with(|| Value::Object(Map::new()))),
        _ => None,
    });
    let Some(Value::Object(into)) = into else {
        return Err(shape(to, format!("its '{table}' is no table")));
    };
    for (name, value) in entries {
        if only.is_some_and(|only| !only.contains(name)) {
            continue;
        }
        match (into.get_mut(name), value) {
            (Some(Value::Array(ours)), Value::Array(theirs)) => ours.extend(theirs.iter().cloned()),
            // What fleetd put there is not replaced.
            (Some(_), _) => {}
            (None, value) => drop(into.insert(name.clone(), value.clone())),
        }
    }
    write(to, to_text(&ours).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_holds_too_much_is_refused_by_its_name() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let cwd = place.path().canonicalize().expect("it is there");
        let skills = cwd.join("skills");
        fs::create_dir_all(skills.join("deep/er")).expect("made");
        fs::write(skills.join("deep/er/a"), "12345").expect("written");
        fs::write(skills.join("b"), "12345").expect("written");
        let bring = |bytes, entries| {
            let brought = bring_dir(&skills, &cwd.join("to"), &cwd, None, Left { bytes, entries });
            brought.map_err(|error| error.to_string())
        };
        assert_eq!(bring(10, 4), Ok(()));
        for (bytes, entries) in [(9, 4), (10, 3), (4, 4), (10, 0)] {
            let why = format!("it holds more than {bytes} bytes or {entries} files");
            assert_eq!(bring(bytes, entries), Err(format!("cannot bring {}: {why}", skills.display())));
        }
    }
}
