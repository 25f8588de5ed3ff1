//! The default charter, as it is inside the program: used where nobody has one, and what `fleetd init` copies out.
//! What the charter says is written in `charters/default` and not here, and it is loaded like any other directory.

use std::io;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/charters/default/", $path)))),*]
    };
}

/// Every file of `charters/default` with its text; a test holds the list to the directory.
pub const DEFAULT_CHARTER: &[(&str, &str)] =
    files!["lib/pieces.lua", "recipes/count_words.lua", "routes.lua", "team.lua", "tests/default.lua"];

/// Writes the default charter below a directory and returns where.
pub(super) fn write_out(state: &Path) -> io::Result<PathBuf> {
    let dir = state.join("built-in-charter");
    for (path, text) in DEFAULT_CHARTER {
        let file = dir.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, text)?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_directory() {
        fn walk(dir: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, root, found),
                    false => found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_string()),
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("charters/default");
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        found.sort();
        let listed: Vec<&str> = DEFAULT_CHARTER.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, found);
    }
}
