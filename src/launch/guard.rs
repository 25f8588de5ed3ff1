//! Settings that would move a worker's model address: what stands at the guarded places, and whether that has changed.
//!
//! At the start they are neutralised by the plan; here it is noticed when somebody writes them later. No value is kept,
//! only a hash of it. What follows is not decided here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fill::Fill;
use crate::fleet::plan::Guard;
use crate::fleet::signs::at;

/// How large a file of settings is read.
const MOST: u64 = 4 * 1024 * 1024;

/// What stood at the guarded places: for each name in each file a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found(BTreeMap<String, String>);

/// Looks at the guarded places.
pub(super) fn look(guard: &Guard, fill: &Fill, cwd: &Path) -> Found {
    let mut found = BTreeMap::new();
    for file in &guard.files {
        let Ok(filled) = fill.text(file) else { continue };
        let path = cwd.join(filled);
        if fs::metadata(&path).is_ok_and(|meta| meta.len() > MOST) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        // Half-written, or never JSON: its reader takes nothing from it either.
        let Ok(settings) = serde_json::from_str::<Value>(&text) else { continue };
        for name in &guard.names {
            if let Some(value) = at(&settings, name) {
                let digest = Sha256::digest(value.to_string());
                let hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                found.insert(format!("{name} in {file}"), hash);
            }
        }
    }
    Found(found)
}

impl Found {
    /// Returns the first name that stands there now and did not, or stood for something else.
    pub(super) fn moved<'a>(&self, now: &'a Found) -> Option<&'a str> {
        now.0.iter().find(|(name, hash)| self.0.get(*name) != Some(hash)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_comes_or_changes_is_noticed_and_one_that_was_there_is_not() {
        let place = tempfile::TempDir::new().expect("a temporary directory");
        let guard = Guard { files: vec![".x/s.json".into()], names: vec!["env.URL".into(), "helper".into()] };
        let look = || look(&guard, &Fill::default(), place.path());
        let write = |text: &str| fs::write(place.path().join(".x/s.json"), text).expect("written");
        let at_start = look();
        fs::create_dir(place.path().join(".x")).expect("made");
        write(r#"{"env": {"OTHER": "1"}, "model": "m"}"#);
        assert_eq!(at_start.moved(&look()), None);
        write(r#"{"env": {"URL": "http://evil"#);
        assert_eq!(at_start.moved(&look()), None, "half a file moves nothing");
        write(r#"{"env": {"URL": "http://evil"}}"#);
        let now = look();
        assert_eq!(at_start.moved(&now), Some("env.URL in .x/s.json"));
        assert_eq!(now.moved(&look()), None, "it was there at the start, and is neutralised");
        write(r#"{"env": {"URL": "http://worse"}}"#);
        assert_eq!(now.moved(&look()), Some("env.URL in .x/s.json"));
        assert_eq!(now.moved(&at_start), None, "what goes away moves nothing");
        assert!(!serde_json::to_string(&now).expect("JSON").contains("evil"), "no value is kept");
    }
}
