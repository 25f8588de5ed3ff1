//! What `fleetd init` would do to each file, decided before anything is written: what is broken stops all of it here.
//! A file that is there is changed by the user's word alone; who asks for that word is not this file's matter.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::parts::{CHARTER, GUIDE, OTHER_GUIDE, Part, Share};
use super::section::Broken;
use super::standing::{File, Standing, leads_out, must_be_writable};
use super::{section, server};
use crate::cli::exit::Failure;

/// What becomes of one file.
#[derive(Debug)]
pub struct Step {
    /// The file, as it is shown.
    pub path: PathBuf,
    pub fate: Fate,
}

#[derive(Debug)]
pub enum Fate {
    /// It is written.
    Create(Vec<u8>),
    /// It is changed.
    Change(File, Vec<u8>),
    /// It is there, as it should be or as the user's own.
    Kept,
    /// It stays as it is, for this reason.
    Left(&'static str),
    /// It is not written, because a charter is there already.
    LeftOut,
    /// The user's word is wanted, for this reason: then it has the other fate.
    Ask(&'static str, Box<Fate>),
}

/// Decides about every part of a project.
pub fn plan(dir: &Path, parts: Vec<Part>) -> Result<Vec<Step>, Failure> {
    let has_charter = holds_lua(&dir.join(CHARTER));
    let mut steps = Vec::new();
    for part in parts {
        let path = below(dir, place(dir, &part)?);
        let fate = match Standing::at(&path)? {
            Standing::Free if has_charter && part.name.starts_with(CHARTER) => Fate::LeftOut,
            Standing::Free => Fate::Create(fresh(&part)),
            Standing::Nowhere => Fate::Left("it is a link to nothing"),
            Standing::File(_) if part.share == Share::Begun => Fate::Kept,
            Standing::File(file) => match renewed(&part, &file).map_err(|broken| refused(&path, &broken))? {
                new if new == file.bytes => Fate::Kept,
                new if leads_out(dir, &path) => {
                    Fate::Ask("it is yours, and lies outside of this project", Box::new(Fate::Change(file, new)))
                }
                new => Fate::Ask("it is yours", Box::new(Fate::Change(file, new))),
            },
        };
        let fate = match fate {
            Fate::Create(new) if leads_out(dir, &path) => {
                Fate::Ask("a link leads out of this project", Box::new(Fate::Create(new)))
            }
            fate => fate,
        };
        steps.push(Step { path, fate });
    }
    Ok(steps)
}

/// Fails if one of the files could not be written.
pub fn must_be_possible(steps: &[Step]) -> Result<(), Failure> {
    steps.iter().try_for_each(|step| match &step.fate {
        Fate::Create(_) => must_be_writable(&step.path),
        Fate::Change(file, _) => must_be_writable(&file.at),
        Fate::Kept | Fate::Left(_) | Fate::LeftOut | Fate::Ask(..) => Ok(()),
    })
}

fn below(dir: &Path, name: &str) -> PathBuf {
    if dir == Path::new(".") { PathBuf::from(name) } else { dir.join(name) }
}

/// Returns where a part is, or is to be: whoever moved the section to the other guide finds it there.
fn place<'p>(dir: &Path, part: &'p Part) -> Result<&'p str, Failure> {
    if part.name != GUIDE {
        return Ok(&part.name);
    }
    let has = |name: &str| -> Result<bool, Failure> {
        Ok(match Standing::at(&below(dir, name))? {
            Standing::File(file) => section::is_in(&file.bytes),
            Standing::Free | Standing::Nowhere => false,
        })
    };
    Ok(if !has(GUIDE)? && has(OTHER_GUIDE)? { OTHER_GUIDE } else { GUIDE })
}

fn fresh(part: &Part) -> Vec<u8> {
    match part.share {
        Share::Begun | Share::Whole => part.text.as_bytes().to_vec(),
        Share::Section => section::put(b"", &part.text).expect("nothing has no marks in it"),
        Share::Server => server::alone(&part.text).into_bytes(),
    }
}

/// Returns a file with our share of it as it should be.
fn renewed(part: &Part, file: &File) -> Result<Vec<u8>, Broken> {
    match part.share {
        Share::Begun => Ok(file.bytes.clone()),
        Share::Whole => Ok(part.text.replace('\n', section::eol(&file.bytes)).into_bytes()),
        Share::Section => section::put(&file.bytes, &part.text),
        Share::Server => {
            let text = std::str::from_utf8(&file.bytes).map_err(|error| {
                let line = 1 + file.bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                Broken { line, says: "it is not UTF-8".into() }
            })?;
            server::put(text, &part.text).map(String::into_bytes)
        }
    }
}

fn refused(path: &Path, broken: &Broken) -> Failure {
    let message = format!("{}:{}: {}", path.display(), broken.line, broken.says);
    Failure::Other { message, hints: vec!["mend it or move it away; nothing was written".into()] }
}

/// Tells whether a charter is in a directory: a Lua file, however deep. Links are not followed.
fn holds_lua(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => holds_lua(&entry.path()),
        _ => entry.path().extension().is_some_and(|end| end == "lua"),
    })
}

impl Fate {
    /// Returns what would be another text than before, and both.
    pub fn change(&self) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        match self {
            Fate::Change(file, new) => Some((String::from_utf8_lossy(&file.bytes), String::from_utf8_lossy(new))),
            Fate::Ask(_, then) => then.change(),
            Fate::Create(_) | Fate::Kept | Fate::Left(_) | Fate::LeftOut => None,
        }
    }
}
