//! The files of a project as the rules see them: read once, by path from the root. What git ignores is not there.
//! Knows nothing of any rule.

use std::path::Path;
use std::process::Command;

use crate::source::{Keep, strip, without_tests};

/// All text files below a root.
pub struct Tree {
    pub files: Vec<File>,
}

/// One text file, its path written from the root with `/`.
pub struct File {
    pub path: String,
    pub text: String,
}

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: String,
    pub line: usize,
    pub says: String,
}

impl Tree {
    /// Returns the files that git would commit from `root`, or all files where `root` is no repository of its own.
    pub fn read(root: &Path) -> Tree {
        let paths = if root.join(".git").exists() { listed_by_git(root) } else { listed_by_walk(root) };
        let mut files = Vec::new();
        for path in paths {
            if let Ok(bytes) = std::fs::read(root.join(&path))
                && let Ok(text) = String::from_utf8(bytes)
            {
                files.push(File { path, text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { files }
    }

    /// Returns the file at exactly this path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|f| f.path == path)
    }

    /// Returns the Rust files below a folder (`"src/"`), or all of them (`""`), samples for tests left out.
    pub fn rust<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |f| {
            f.path.ends_with(".rs") && f.path.starts_with(folder) && !f.path.starts_with("tests/data/")
        })
    }
}

impl File {
    /// Returns the fault of this file at a line.
    pub fn fault(&self, line: usize, says: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), line, says: says.into() }
    }

    /// Returns the code alone: no comment, no text literal.
    pub fn code(&self) -> String {
        strip(&self.text, Keep::CodeOnly)
    }

    /// Returns the code that is in the product: as [`File::code`], without what is compiled for tests only.
    pub fn product_code(&self) -> String {
        let is_test_file = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        if is_test_file { String::new() } else { without_tests(&self.code()) }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.says)
    }
}

fn listed_by_git(root: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git runs");
    assert!(listed.status.success(), "git ls-files failed in {}", root.display());
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    names.split_terminator('\0').map(str::to_owned).collect()
}

fn listed_by_walk(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name == "target") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(root).expect("the walk stays below its root");
                found.push(below.to_str().expect("file names are UTF-8").to_owned());
            }
        }
    }
    found
}
