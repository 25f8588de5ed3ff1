//! The private folder of a session: the files that its plan wants there, and what of its directory its program shall
//! find in it. Nobody else can read it. What stands in the files, the plan says.

mod bring;
mod imports;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fill::{Fill, FillError};
use crate::fleet::plan::Plan;

/// Why a private folder could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum HomeError {
    /// A marker in a file cannot be filled in.
    #[error("the plan's files[{0}]: {1}")]
    Marker(String, FillError),
    /// A file cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something cannot be brought.
    #[error("cannot bring {} into the worker's folder: {error}", .path.display())]
    Bring {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A JSON file of the worker's directory, or of the plan, has another shape.
    #[error("cannot bring {}: {why}", .path.display())]
    Shape {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Makes the private folder of a session anew; `cwd` is the directory in which it works.
pub(super) fn make(home: &Path, plan: &Plan, fill: &Fill, cwd: &Path) -> Result<(), HomeError> {
    match fs::remove_dir_all(home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(HomeError::Write { path: home.into(), error });
        }
        _ => {}
    }
    directory(home)?;
    for (path, content) in &plan.files {
        let wrong = |error| HomeError::Marker(path.clone(), error);
        let text = match content {
            Value::String(text) => fill.text(text).map_err(wrong)?,
            value => to_text(&fill.json(value).map_err(wrong)?),
        };
        write(&home.join(path), text.as_bytes())?;
    }
    plan.bring.iter().try_for_each(|one| bring::bring(one, cwd, home))
}

/// Writes a file that only its owner reads, with the directories above it.
fn write(path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
    let failed = |error| HomeError::Write { path: path.into(), error };
    path.parent().map(directory).transpose()?;
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)
}

fn directory(path: &Path) -> Result<(), HomeError> {
    let failed = |error| HomeError::Write { path: path.into(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)
}

fn to_text(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fleet::plan::Bring;

    fn stage() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let (home, cwd) = (place.path().join("home"), place.path().join("work"));
        fs::create_dir_all(cwd.join(".agent/skills/review")).expect("made");
        (place, home, cwd)
    }

    fn plan(files: Value, bring: Vec<Bring>) -> Plan {
        Plan { files: serde_json::from_value(files).expect("files"), bring, ..Plan::default() }
    }

    fn from(from: &str, to: &str) -> Bring {
        Bring { from: from.into(), to: to.into(), ..Bring::default() }
    }

    #[test]
    fn files_are_written_anew_and_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;
        let (_place, home, cwd) = stage();
        let fill = Fill::default().with("cwd", "/w");
        let plan = plan(json!({"a/b.json": {"at": "@{fleet.cwd}"}, "c": "x @{fleet.cwd}"}), Vec::new());
        make(&home, &plan, &fill, &cwd).expect("it is made");
        fs::write(home.join("left"), "of the session before").expect("written");
        make(&home, &plan, &fill, &cwd).expect("it is made anew");
        assert!(!home.join("left").exists());
        let read: Value =
            serde_json::from_str(&fs::read_to_string(home.join("a/b.json")).expect("there")).expect("JSON");
        assert_eq!(read, json!({"at": "/w"}));
        assert_eq!(fs::read_to_string(home.join("c")).expect("there"), "x /w");
        for (path, mode) in [("", 0o700), ("a", 0o700), ("a/b.json", 0o600)] {
            let found = fs::metadata(home.join(path)).expect("there").permissions().mode() & 0o777;
            assert_eq!(found, mode, "{path}");
        }
    }

    #[test]
    fn directories_are_brought_whole_or_by_name_and_what_is_not_there_is_not() {
        let (_place, home, cwd) = stage();
        fs::write(cwd.join(".agent/skills/review/SKILL.md"), "how to review").expect("written");
        fs::create_dir(cwd.join(".agent/skills/other")).expect("made");
        let only = Bring { only: Some(vec!["review".into()]), ..from(".agent/skills", "b") };
        let bring = vec![from(".agent/skills", "a"), only, from("nothing", "c")];
        make(&home, &plan(json!({}), bring), &Fill::default(), &cwd).expect("it is made");
        assert!(home.join("a/other").is_dir() && home.join("a/review/SKILL.md").is_file());
        assert!(home.join("b/review/SKILL.md").is_file() && !home.join("b/other").exists());
        assert!(!home.join("c").exists());
    }

    #[test]
    fn a_table_is_added_to_the_one_that_is_there() {
        let (_place, home, cwd) = stage();
        let theirs =
            json!({"env": {"URL": "http://evil"}, "hooks": {"End": [{"theirs": 1}], "Other": [2], "Not": [3]}});
        fs::write(cwd.join("s.json"), theirs.to_string()).expect("written");
        let only = Some(vec!["End".into(), "Other".into()]);
        let bring = vec![Bring { table: Some("hooks".into()), only, ..from("s.json", "s.json") }];
        let plan = plan(json!({"s.json": {"hooks": {"End": [{"ours": 1}]}}}), bring);
        make(&home, &plan, &Fill::default(), &cwd).expect("it is made");
        let read: Value = serde_json::from_str(&fs::read_to_string(home.join("s.json")).expect("there")).expect("JSON");
        assert_eq!(read, json!({"hooks": {"End": [{"ours": 1}, {"theirs": 1}], "Other": [2]}}));
    }

    #[test]
    fn nothing_from_outside_of_its_directory_is_brought() {
        let (place, home, cwd) = stage();
        fs::write(place.path().join("secret"), "s3cret").expect("written");
        std::os::unix::fs::symlink("../../../secret", cwd.join(".agent/skills/link")).expect("linked");
        std::os::unix::fs::symlink("../secret", cwd.join("file")).expect("linked");
        let bring = vec![from(".agent/skills", "a"), from("file", "file")];
        make(&home, &plan(json!({}), bring), &Fill::default(), &cwd).expect("it is made");
        assert!(!home.join("a/link").exists() && !home.join("file").exists());
    }

    #[test]
    fn scripts_stay_scripts_and_what_is_no_file_is_not_waited_for() {
        use std::os::unix::fs::PermissionsExt;
        let (_place, home, cwd) = stage();
        fs::write(cwd.join(".agent/skills/review/run"), "#!/bin/sh").expect("written");
        fs::set_permissions(cwd.join(".agent/skills/review/run"), fs::Permissions::from_mode(0o755)).expect("set");
        crate::launch::read::tests::pipe(&cwd.join(".agent/skills/review/pipe"));
        crate::launch::read::tests::pipe(&cwd.join("s.json"));
        make(&home, &plan(json!({}), vec![from(".agent/skills", "a"), from("s.json", "b")]), &Fill::default(), &cwd)
            .expect("it is made");
        let mode = fs::metadata(home.join("a/review/run")).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        assert!(!home.join("a/review/pipe").exists() && !home.join("b").exists());
        for more in [Bring { imports: true, ..Bring::default() }, Bring { table: Some("t".into()), ..Bring::default() }]
        {
            let bring = vec![Bring { from: "s.json".into(), to: "c".into(), ..more }];
            let refused = make(&home, &plan(json!({}), bring), &Fill::default(), &cwd).expect_err("it is no file");
            assert!(refused.to_string().contains("it is no regular file"), "{refused}");
        }
    }

    #[test]
    fn imports_below_its_directory_are_written_out_and_no_others() {
        let (place, home, cwd) = stage();
        fs::write(place.path().join("secret.md"), "s3cret").expect("written");
        fs::create_dir(cwd.join("docs")).expect("made");
        let text = "Rules: @docs/rules.md\nand @../secret.md, @/etc/passwd, @~/x.md, mail a@b.org, `@docs/rules.md`\n";
        fs::write(cwd.join("A.md"), text).expect("written");
        fs::write(cwd.join("docs/rules.md"), "be kind, see @more.md and @../A.md\n").expect("written");
        fs::write(cwd.join("docs/more.md"), "more\n").expect("written");
        let bring = vec![Bring { imports: true, ..from("A.md", "A.md") }];
        make(&home, &plan(json!({}), bring), &Fill::default(), &cwd).expect("it is made");
        let read = fs::read_to_string(home.join("A.md")).expect("there");
        assert!(read.contains("be kind") && read.contains("more\n"), "{read}");
        assert!(!read.contains("s3cret") && !read.contains("@../secret.md") && !read.contains("@/etc"), "{read}");
        assert!(read.contains("a@b.org") && read.contains("`@ docs/rules.md`"), "{read}");
        assert_eq!(read.matches("Rules:").count(), 1, "a circle is cut: {read}");
    }
}
