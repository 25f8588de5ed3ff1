//! What `fleetd init` would do to each file, decided before anything is written: what is broken stops all of it here.
//! A file that is there is changed by the user's word alone; who asks for that word is not this file's matter.

use std::path::{Path, PathBuf};

use super::parts::{CHARTER, GUIDE, OTHER_GUIDE, Part, Share};
use super::section::Broken;
use super::standing::{File, Standing, leads_out, must_be_writable};
use super::{diff, section, server};
use crate::cli::exit::Failure;

/// Why no server is written.
const NO_ADDRESS: &str = "nobody knows the address of a daemon with port 0";

/// What becomes of one file.
#[derive(Debug)]
pub struct Step {
    /// The file, as it is shown.
    pub path: PathBuf,
    pub share: Share,
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
    let step = |part: Part| {
        let path = below(dir, place(dir, &part)?);
        let fate = match Standing::at(&path)? {
            Standing::Free if has_charter && part.name.starts_with(CHARTER) => Fate::LeftOut,
            Standing::Free => match fresh(&part.share) {
                None => Fate::Left(NO_ADDRESS),
                Some(new) if leads_out(dir, &path) => {
                    Fate::Ask("a link leads out of this project", Box::new(Fate::Create(new)))
                }
                Some(new) => Fate::Create(new),
            },
            Standing::Nowhere => Fate::Left("it is a link to nothing"),
            Standing::File(file) => match renewed(&part.share, &file).map_err(|broken| refused(&path, &broken))? {
                None => Fate::Kept,
                Some(new) if new == file.bytes => Fate::Kept,
                Some(new) if leads_out(dir, &path) => {
                    Fate::Ask("it is yours, and lies outside of this project", Box::new(Fate::Change(file, new)))
                }
                Some(new) => Fate::Ask("it is yours", Box::new(Fate::Change(file, new))),
            },
        };
        Ok(Step { path, share: part.share, fate })
    };
    parts.into_iter().map(step).collect()
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

/// Returns a file with our share alone, if that is known.
fn fresh(share: &Share) -> Option<Vec<u8>> {
    Some(match share {
        Share::Begun(text) => text.as_bytes().to_vec(),
        Share::Whole(text) => text.as_bytes().to_vec(),
        Share::Section(text) => section::put(b"", text).expect("nothing has no marks in it"),
        Share::Server(server) => server::alone(server.as_ref()?).into_bytes(),
    })
}

/// Returns a file with our share of it as it should be, unless that is all the user's matter.
fn renewed(share: &Share, file: &File) -> Result<Option<Vec<u8>>, Broken> {
    Ok(Some(match share {
        Share::Begun(_) | Share::Server(None) => return Ok(None),
        Share::Whole(text) => text.replace('\n', section::eol(&file.bytes)).into_bytes(),
        Share::Section(text) => section::put(&file.bytes, text)?,
        Share::Server(Some(server)) => {
            let text = std::str::from_utf8(&file.bytes).map_err(|error| {
                let line = 1 + file.bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                Broken { line, says: "it is not UTF-8".into() }
            })?;
            server::put(text, server)?.into_bytes()
        }
    }))
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

impl Step {
    /// Returns what changes in a file that is there, or would. Beside the server of others stand their keys.
    pub fn difference(&self) -> Option<String> {
        let fate = if let Fate::Ask(_, then) = &self.fate { then } else { &self.fate };
        let Fate::Change(file, new) = fate else { return None };
        let (old, new) = (String::from_utf8_lossy(&file.bytes), String::from_utf8_lossy(new));
        Some(match self.share {
            Share::Server(_) => diff::piece(&old, &new),
            Share::Begun(_) | Share::Whole(_) | Share::Section(_) => diff::diff(&old, &new),
        })
    }
}
