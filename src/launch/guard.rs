//! Settings that would move a worker's model address: what stands at the guarded places, and whether that has changed.
//!
//! At the start they are neutralised by the plan; here it is noticed when somebody writes them later. No value is kept,
//! only a hash of it. What cannot be read counts as well, since the worker's program may read it otherwise. What
//! follows is not decided here.

pub(super) mod unwanted;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fill::Fill;
use super::read;
use crate::fleet::plan::Guard;
use crate::fleet::signs::at;

/// How large a file of settings is read.
const MOST: u64 = 4 * 1024 * 1024;

/// How long a file that cannot be read may take to be whole: somebody may be writing it.
const TO_BE_WRITTEN: Duration = Duration::from_millis(250);

/// What stood at the guarded places: for each name in each file a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found(BTreeMap<String, String>);

/// What one guarded file holds.
#[derive(PartialEq)]
enum Settings {
    /// Nothing that anybody could take.
    Nothing,
    /// Settings.
    These(Value),
    /// What only others may be able to read; a hash of it.
    Unreadable(String),
}

/// Looks at the guarded places; blocks for a moment where a file cannot be read.
#[expect(
    clippy::disallowed_methods,
    reason = "a file that is being written tells nobody when it is whole; the thread is one for blocking"
)]
pub(super) fn look(guard: &Guard, fill: &Fill, cwd: &Path) -> Found {
    look_twice(guard, fill, cwd, || std::thread::sleep(TO_BE_WRITTEN))
}

fn look_twice(guard: &Guard, fill: &Fill, cwd: &Path, mut rest: impl FnMut()) -> Found {
    let mut found = BTreeMap::new();
    for file in &guard.files {
        let Ok(filled) = fill.text(file) else { continue };
        let path = cwd.join(filled);
        let mut settings = Settings::of(&path);
        if let Settings::Unreadable(before) = settings {
            rest();
            settings = Settings::of(&path);
            if settings == Settings::Unreadable(before.clone()) {
                found.insert(format!("what cannot be read in {file}"), before);
            }
        }
        let Settings::These(settings) = settings else { continue };
        for (name, value) in guard.names.iter().flat_map(|name| named(&settings, name)) {
            found.insert(format!("{name} in {file}"), hash(value.to_string().as_bytes()));
        }
    }
    Found(found)
}

/// Returns what stands at a guarded name; one that ends with `*` is all names with that begin.
fn named<'a>(settings: &'a Value, name: &str) -> Vec<(String, &'a Value)> {
    let Some(begin) = name.strip_suffix('*') else {
        return at(settings, name).map(|value| (name.to_owned(), value)).into_iter().collect();
    };
    let (table, begin) = begin.rsplit_once('.').unwrap_or(("", begin));
    let table = if table.is_empty() { Some(settings) } else { at(settings, table) };
    let entries = table.and_then(Value::as_object).into_iter().flatten();
    let begun = entries.filter(|(key, _)| key.starts_with(begin));
    begun.map(|(key, value)| (format!("{}{key}", &name[..name.len() - begin.len() - 1]), value)).collect()
}

impl Settings {
    fn of(path: &Path) -> Settings {
        let bytes = match read::bytes(path, MOST) {
            Ok(bytes) => bytes,
            Err(error) => return Settings::without(path, &error),
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Settings::Nothing;
        }
        match serde_json::from_slice(&bytes) {
            Ok(settings) => Settings::These(settings),
            Err(_) => Settings::Unreadable(hash(&bytes)),
        }
    }

    /// What a file counts for of which not everything was read.
    fn without(path: &Path, error: &io::Error) -> Settings {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => Settings::Nothing,
            ErrorKind::Unsupported if path.is_dir() => Settings::Nothing,
            ErrorKind::FileTooLarge => {
                let mut begins = Vec::new();
                let read = read::open(path).and_then(|file| file.take(MOST).read_to_end(&mut begins));
                Settings::Unreadable(read.map_or_else(|error| hash(error.to_string().as_bytes()), |_| hash(&begins)))
            }
            _ => Settings::Unreadable(hash(error.to_string().as_bytes())),
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Found {
    /// Returns the first name that stands there now and did not, or stood for something else.
    pub(super) fn moved<'a>(&self, now: &'a Found) -> Option<&'a str> {
        now.0.iter().find(|(name, hash)| self.0.get(*name) != Some(hash)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_setting_that_comes_or_changes_is_noticed_and_one_that_was_there_is_not() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let guard = Guard {
            files: vec![".x/s.json".into()],
            names: vec!["env.URL".into(), "helper".into()],
            ..Guard::default()
        };
        let look = || look(&guard, &Fill::default(), place.path());
        let write = |text: &str| fs::write(place.path().join(".x/s.json"), text).expect("written");
        let at_start = look();
        fs::create_dir(place.path().join(".x")).expect("made");
        write(r#"{"env": {"OTHER": "1"}, "model": "m"}"#);
        assert_eq!(at_start.moved(&look()), None);
        write(r#"{"env": {"URL": "http://ev"#);
        let half = look_twice(&guard, &Fill::default(), place.path(), || write(r#"{"env": {"URL": "http://evil"#));
        assert_eq!(at_start.moved(&half), None, "half a file moves nothing");
        write(r#"{"env": {"URL": "http://evil"}}"#);
        let now = look();
        assert_eq!(at_start.moved(&now), Some("env.URL in .x/s.json"));
        assert_eq!(now.moved(&look()), None, "it was there at the start, and is neutralised");
        write(r#"{"env": {"URL": "http://worse"}}"#);
        assert_eq!(now.moved(&look()), Some("env.URL in .x/s.json"));
        assert_eq!(now.moved(&at_start), None, "what goes away moves nothing");
        assert!(!serde_json::to_string(&now).expect("JSON").contains("evil"), "no value is kept");
    }

    #[test]
    fn a_name_with_a_star_is_all_with_that_begin() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let guard =
            Guard { files: vec!["s.json".into()], names: vec!["env.USE_*".into(), "key*".into()], ..Guard::default() };
        let moved = |text: &str| {
            fs::write(place.path().join("s.json"), text).expect("written");
            Found::default().moved(&look(&guard, &Fill::default(), place.path())).map(str::to_owned)
        };
        assert_eq!(moved(r#"{"env": {"USE": "1", "X_USE_": "1"}, "ke": 1}"#), None);
        assert_eq!(moved(r#"{"env": {"USE_THIS": "1"}}"#).as_deref(), Some("env.USE_THIS in s.json"));
        assert_eq!(moved(r#"{"keyHelper": "x"}"#).as_deref(), Some("keyHelper in s.json"));
        assert_eq!(moved(r#"{"env": 1}"#), None);
    }

    #[test]
    fn what_cannot_be_read_counts_if_it_stays() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let guard = Guard { files: vec!["s.json".into()], names: vec!["env.URL".into()], ..Guard::default() };
        let path = place.path().join("s.json");
        let look = || look_twice(&guard, &Fill::default(), place.path(), || ());
        let at_start = look();
        let counts = Some("what cannot be read in s.json");
        let evil = r#"{"env": {"URL": "http://evil"}, "x": "#;
        let long = " ".repeat(usize::try_from(MOST).expect("it is small"));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let all = [r#""\ud800"}"#.into(), "1e999}".into(), format!("{deep}}}"), format!("1}}{long}"), "1,}".into()];
        for rest in all {
            fs::write(&path, format!("{evil}{rest}")).expect("written");
            let now = look();
            assert_eq!(at_start.moved(&now), counts, "{:.20}", rest);
            assert_eq!(now.moved(&look()), None, "it was there at the start");
        }
        fs::write(&path, [b"{\"env\": {\"URL\": \"http://evil/", &[0xff][..], b"\"}}"].concat()).expect("written");
        assert_eq!(at_start.moved(&look()), counts, "not UTF-8");
        for nothing in ["", " \n"] {
            fs::write(&path, nothing).expect("written");
            assert_eq!(at_start.moved(&look()), None, "an empty file");
        }
        let finish = || fs::write(&path, r#"{"env": {"URL": "http://evil"}}"#).expect("written");
        fs::write(&path, evil).expect("written");
        let now = look_twice(&guard, &Fill::default(), place.path(), finish);
        assert_eq!(at_start.moved(&now), Some("env.URL in s.json"), "what was whole a moment later is read");
    }

    #[test]
    fn a_device_or_a_pipe_is_not_waited_for_and_counts() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let guard =
            Guard { files: vec!["zero".into(), "pipe".into()], names: vec!["env.URL".into()], ..Guard::default() };
        let look = || look_twice(&guard, &Fill::default(), place.path(), || ());
        let at_start = look();
        super::super::read::tests::pipe(&place.path().join("pipe"));
        let piped = look();
        assert_eq!(at_start.moved(&piped), Some("what cannot be read in pipe"));
        symlink("/dev/zero", place.path().join("zero")).expect("linked");
        assert_eq!(piped.moved(&look()), Some("what cannot be read in zero"));
        fs::create_dir(place.path().join("dir")).expect("made");
        let guard = Guard { files: vec!["dir".into()], names: Vec::new(), ..Guard::default() };
        assert_eq!(Found::default().moved(&look_twice(&guard, &Fill::default(), place.path(), || ())), None);
    }
}
