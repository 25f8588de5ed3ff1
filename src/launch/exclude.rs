//! `.fleet/` is kept out of what git sees: a line in the repository's own list of what it leaves out.
//!
//! The list is never written through a link: who works in a repository may have made it lead anywhere.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::read;

/// What is left out.
const OURS: &str = "/.fleet/";

/// How long such a list may be.
const MOST: u64 = 16 * 1024 * 1024;

/// Lists `.fleet/` in a repository, by its common git directory.
pub(super) fn hide_ours(common: &Path) -> io::Result<()> {
    let info = common.join("info");
    let path = info.join("exclude");
    let listed = match read::bytes(&path, MOST) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(named(&path, &error.to_string())),
    };
    if listed.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == OURS.as_bytes()) {
        return Ok(());
    }
    for path in [&info, &path] {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            return Err(named(path, &format!("it is a link, through which nothing is written; add the line {OURS}")));
        }
    }
    fs::create_dir_all(&info)?;
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o644)).map_err(io::Error::from);
    let mut file = file.map(File::from).map_err(|error| named(&path, &error.to_string()))?;
    let start = if listed.is_empty() || listed.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{start}{OURS}\n").as_bytes())
}

fn named(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn it_is_listed_once_and_never_through_a_link() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let (common, there) = (place.path().join("git"), place.path().join("there"));
        fs::create_dir(&common).expect("made");
        let read = || fs::read_to_string(common.join("info/exclude")).expect("there");
        hide_ours(&common).and_then(|()| hide_ours(&common)).expect("it is listed");
        assert_eq!(read(), "/.fleet/\n");
        fs::write(common.join("info/exclude"), "mine").expect("written");
        hide_ours(&common).expect("it is listed");
        assert_eq!(read(), "mine\n/.fleet/\n");

        fs::write(&there, "theirs\n").expect("written");
        fs::remove_file(common.join("info/exclude")).expect("removed");
        symlink(&there, common.join("info/exclude")).expect("linked");
        let refused = hide_ours(&common).expect_err("it is a link").to_string();
        assert!(refused.contains("git/info/exclude: it is a link"), "{refused}");
        assert_eq!(fs::read_to_string(&there).expect("there"), "theirs\n");
        fs::write(&there, "/.fleet/\n").expect("written");
        hide_ours(&common).expect("nothing need be written");
        fs::remove_file(common.join("info/exclude")).expect("removed");
        crate::launch::read::tests::pipe(&common.join("info/exclude"));
        hide_ours(&common).expect_err("it is no file, and not waited for");
        fs::remove_dir_all(common.join("info")).expect("removed");
        fs::create_dir(place.path().join("dir")).expect("made");
        symlink(place.path().join("dir"), common.join("info")).expect("linked");
        hide_ours(&common).expect_err("its directory is a link");
        assert!(!place.path().join("dir/exclude").exists());
    }
}
