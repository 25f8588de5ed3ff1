//! Who is in a tree: processes that have their directory, their program or an open file in it.
//!
//! Only those of one's own user can be seen; others cannot be helped. What follows from it is not decided here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the processes in a directory, as people know them: `1234 (vim)`.
pub(super) fn users_of(directory: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else { continue };
        if is_in(&entry.path(), directory) {
            let program = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(format!("{pid} ({})", program.trim_end()));
        }
    }
    Ok(found)
}

fn is_in(process: &Path, directory: &Path) -> bool {
    // A link that cannot be read belongs to somebody else, or to one that is gone by now.
    let leads_in = |link: PathBuf| fs::read_link(link).is_ok_and(|path| path.starts_with(directory));
    ["cwd", "root", "exe"].iter().any(|link| leads_in(process.join(link)))
        || fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|fd| leads_in(fd.path()))
}
