//! A file that only grows by whole lines and is put aside when it is large: `audit.jsonl`, `audit.jsonl.1` and so on.
//! Every failure is told to whoever writes, and the next line tries anew. What the lines mean is not known here.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// How large a file may become, and how many old ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The size in bytes that is not passed. Default: 10 MiB.
    pub size: u64,
    /// Old files. Default: 5.
    pub keep: u32,
}

impl Default for Rotation {
    fn default() -> Rotation {
        Rotation { size: 10 << 20, keep: 5 }
    }
}

/// The file and those before it.
#[derive(Debug)]
pub(super) struct Rotated {
    path: PathBuf,
    rotation: Rotation,
    open: Option<Open>,
}

/// Why lines were not written, and how much of them was before.
#[derive(Debug)]
pub(super) struct Failed {
    pub error: io::Error,
    pub written: usize,
}

#[derive(Debug)]
struct Open {
    file: File,
    size: u64,
    inode: u64,
}

impl Rotated {
    pub fn new(path: PathBuf, rotation: Rotation) -> Rotated {
        Rotated { path, rotation, open: None }
    }

    /// Writes whole lines. Of each, all or nothing is written, and what does not fit goes into the next file.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), Failed> {
        let mut written = 0;
        while written < lines.len() {
            match self.try_write(&lines[written..]) {
                Ok(more) => written += more,
                Err(error) => {
                    self.open = None;
                    return Err(Failed { error, written });
                }
            }
        }
        Ok(())
    }

    /// Makes sure that what was written is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.open.as_ref().map_or(Ok(()), |open| open.file.sync_data())
    }

    /// Writes as many of the lines as fit, one at least, and returns their size.
    fn try_write(&mut self, lines: &[u8]) -> io::Result<usize> {
        // Whoever took the file away meant to have a new one.
        let is_there = |open: &Open| fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == open.inode);
        let mut open = match self.open.take().filter(is_there) {
            Some(open) => open,
            None => open_at(&self.path)?,
        };
        let mut fitting = fitting(lines, self.rotation.size.saturating_sub(open.size));
        if fitting == 0 && open.size > 0 {
            self.put_aside()?;
            open = open_at(&self.path)?;
            fitting = self::fitting(lines, self.rotation.size);
        }
        let now = match fitting {
            0 => first_line(lines),
            some => &lines[..some],
        };
        if let Err(error) = open.file.write_all(now) {
            // A part of a line would spoil the next one. If even this fails, the next start mends it.
            let _ = open.file.set_len(open.size);
            return Err(error);
        }
        open.size += now.len() as u64;
        self.open = Some(open);
        Ok(now.len())
    }

    fn put_aside(&self) -> io::Result<()> {
        for n in (1..self.rotation.keep).rev() {
            rename(&self.old(n), &self.old(n + 1))?;
        }
        match self.rotation.keep {
            0 => fs::remove_file(&self.path),
            _ => rename(&self.path, &self.old(1)),
        }
    }

    fn old(&self, n: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{n}"));
        name.into()
    }
}

/// Returns the size of the first lines that fit into so much room.
fn fitting(lines: &[u8], room: u64) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX).min(lines.len());
    lines[..room].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

fn first_line(lines: &[u8]) -> &[u8] {
    let end = lines.iter().position(|&byte| byte == b'\n').map_or(lines.len(), |end| end + 1);
    &lines[..end]
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens the file for us alone, at the end of its last whole line.
fn open_at(path: &Path) -> io::Result<Open> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut size = found.size();
    if size > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            size += 1;
        }
    }
    Ok(Open { file, size, inode: found.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path) -> Vec<(String, String)> {
        let mut found: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|e| (e.file_name().into_string().unwrap(), fs::read_to_string(e.path()).unwrap()))
            .collect();
        found.sort();
        found
    }

    fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
    }

    #[test]
    fn a_large_file_is_put_aside_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut rotated = Rotated::new(path.clone(), Rotation { size: 6, keep: 2 });
        for n in 1..=7 {
            rotated.write(format!("{n}\n").as_bytes()).unwrap();
        }
        assert_eq!(files(dir.path()), named(&[("a", "7\n"), ("a.1", "4\n5\n6\n"), ("a.2", "1\n2\n3\n")]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        rotated.write(b"a line longer than a file\n").unwrap();
        rotated.write(b"9\n").unwrap();
        let wanted = [("a", "9\n"), ("a.1", "a line longer than a file\n"), ("a.2", "7\n")];
        assert_eq!(files(dir.path()), named(&wanted), "never cut, and the oldest is gone");
    }

    #[test]
    fn many_lines_at_once_are_spread_over_files_as_one_after_the_other_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let mut rotated = Rotated::new(dir.path().join("a"), Rotation { size: 6, keep: 9 });
        rotated.write(b"1\n").unwrap();
        rotated.write(b"2\n3\n4\na line longer than a file\n5\n6\n7\n8\n").unwrap();
        let long = "a line longer than a file\n";
        let wanted = [("a", "8\n"), ("a.1", "5\n6\n7\n"), ("a.2", long), ("a.3", "4\n"), ("a.4", "1\n2\n3\n")];
        assert_eq!(files(dir.path()), named(&wanted));
        fs::remove_file(dir.path().join("a")).unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        assert_eq!(rotated.write(b"9\n10\n").unwrap_err().written, 0);
    }

    #[test]
    fn a_new_start_goes_on_where_the_last_one_ended_also_in_mid_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "1\n{\"at\":").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let mut rotated = Rotated::new(path.clone(), Rotation { size: 13, keep: 1 });
        rotated.write(b"2\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n{\"at\":\n2\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        rotated.write(b"33\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "33\n", "what was there counts for the size");
    }

    #[test]
    fn a_file_that_was_taken_away_is_made_anew_and_one_that_cannot_be_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut rotated = Rotated::new(path.clone(), Rotation::default());
        rotated.write(b"1\n").unwrap();
        fs::rename(&path, dir.path().join("taken")).unwrap();
        rotated.write(b"2\n").unwrap();
        assert_eq!(files(dir.path()), named(&[("a", "2\n"), ("taken", "1\n")]));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(dir.path().join("taken"), &path).unwrap();
        rotated.write(b"3\n").unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        rotated.write(b"4\n").unwrap_err();
        fs::remove_dir(&path).unwrap();
        rotated.write(b"5\n").unwrap();
        assert_eq!(files(dir.path()), named(&[("a", "5\n"), ("taken", "1\n")]));
    }
}
