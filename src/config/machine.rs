//! What a check of the settings asks the machine: directories, private files and variables that the settings only name.
//! Tests answer these questions by themselves.

use std::path::Path;

use super::last_good::LastGood;
use super::token::{self, TokenError};

/// What a check must ask the machine, since the settings only name it.
pub trait Machine {
    /// Tells whether there is such a directory.
    fn is_dir(&self, path: &Path) -> bool;
    /// Tells whether there is a copy of the charter that was in force from this directory.
    fn has_copy(&self, state: &Path, charter: &Path) -> bool;
    /// Returns the text of a file that nobody else can read, or what is wrong with it.
    fn read_private(&self, file: &Path) -> Result<String, TokenError>;
    /// Returns the value of a variable, if it is set to a text.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The machine and the process that fleetd runs in.
pub(super) struct This;

impl Machine for This {
    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn has_copy(&self, state: &Path, charter: &Path) -> bool {
        LastGood::read(state).ok().flatten().is_some_and(|copy| copy.dir == charter)
    }

    fn read_private(&self, file: &Path) -> Result<String, TokenError> {
        token::read_private(file)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
