//! What must not be there when a program starts, since the program would run it inside itself: looked for in the worker's
//! directory and above it, up to the root of its repository. Nothing is removed: the start is refused.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::fleet::plan::Unwanted;
use crate::launch::read;

/// How large a file is read for the words that it must not hold.
const MOST: u64 = 4 * 1024 * 1024;

/// Returns what is there and must not be, for people.
pub(in crate::launch) fn find(unwanted: &[Unwanted], cwd: &Path) -> Option<String> {
    // The outermost one: a `.git` below it may be none to git.
    let root = cwd.ancestors().filter(|folder| folder.join(".git").exists()).last();
    let folders = cwd.ancestors().take_while(|folder| root.is_none_or(|root| folder.starts_with(root)));
    folders.into_iter().find_map(|folder| unwanted.iter().find_map(|one| one.in_folder(folder)))
}

impl Unwanted {
    fn in_folder(&self, folder: &Path) -> Option<String> {
        let path = folder.join(&self.path);
        if self.holds.is_empty() {
            // An empty folder does nothing.
            let is_there = match fs::read_dir(&path) {
                Ok(mut entries) => entries.next().is_some(),
                Err(error) => error.kind() != ErrorKind::NotFound,
            };
            return is_there.then(|| path.display().to_string());
        }
        let text = match read::bytes(&path, MOST) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(error) => {
                return Some(format!("{}, of which it cannot be seen whether it is harmless: {error}", path.display()));
            }
        };
        let word = self.holds.iter().find(|word| text.contains(*word))?;
        Some(format!("{}, in which stands {word}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_up_to_the_root_of_the_repository_and_no_further() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let work = place.path().join("repo/sub/deep");
        fs::create_dir_all(&work).expect("made");
        fs::create_dir_all(place.path().join("repo/.git")).expect("made");
        let unwanted = [
            Unwanted { path: ".agent/plugin".into(), holds: Vec::new() },
            Unwanted { path: "agent.json".into(), holds: vec!["plugins".into(), "\\u".into()] },
        ];
        let found = || find(&unwanted, &work);
        fs::create_dir_all(place.path().join(".agent/plugin")).expect("made");
        fs::write(place.path().join(".agent/plugin/a.js"), "").expect("written");
        fs::create_dir_all(place.path().join("repo/.agent/plugin")).expect("made");
        fs::write(work.join("agent.json"), "{\"model\": \"x\"}").expect("written");
        assert_eq!(found(), None, "above the repository, empty, and harmless");
        fs::write(place.path().join("repo/sub/agent.json"), "{\"\\u0070lugins\": []}").expect("written");
        assert!(found().is_some_and(|found| found.contains("repo/sub/agent.json, in which stands")), "{:?}", found());
        fs::remove_file(place.path().join("repo/sub/agent.json")).expect("removed");
        fs::write(place.path().join("repo/.agent/plugin/b.js"), "").expect("written");
        assert!(found().is_some_and(|found| found.ends_with("repo/.agent/plugin")), "{:?}", found());
        fs::create_dir(work.join(".git")).expect("made");
        assert!(found().is_some_and(|found| found.ends_with("repo/.agent/plugin")), "a folder of that name is no root");
        fs::remove_dir(work.join(".git")).expect("removed");
        fs::remove_dir(place.path().join("repo/.git")).expect("removed");
        fs::remove_file(place.path().join("repo/.agent/plugin/b.js")).expect("removed");
        assert!(found().is_some_and(|found| found.ends_with(".agent/plugin")), "without a repository all is above it");
    }
}
