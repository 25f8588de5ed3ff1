//! What takes a leader off its subscription: pure functions from an environment and the text of settings to traps.
//! Names and keys come from a table; no value ever gets into one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::place::line_of;

/// One leading agent: which names say that it takes its model elsewhere, and where it reads them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leader {
    leader: String,
    /// Variables that do so when they are set, and what each does.
    variables: BTreeMap<String, String>,
    /// Variables that do so when they are switched on.
    switches: BTreeMap<String, String>,
    /// The same for all names with such a begin.
    switches_that_begin_with: BTreeMap<String, String>,
    /// Names with such a begin that mean something else.
    harmless: Vec<String>,
    settings: Settings,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The key below which variables are set.
    variables_in: String,
    /// Keys of its own that do so, and what each does.
    keys: BTreeMap<String, String>,
    /// The variable that names the folder of the user's settings.
    config_dir: String,
    files: Vec<File>,
}

/// A file of settings: below the project, below the user's folder of settings (or, without one, below the home), or
/// anywhere.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum File {
    Project { project: PathBuf },
    User { config: PathBuf, home: PathBuf },
    Machine { machine: PathBuf },
}

/// Something that takes a leader off its subscription.
#[derive(Debug, PartialEq, Eq)]
pub struct Trap {
    /// The variable or key, without its value, or that the file cannot be read.
    pub name: String,
    /// The file; without one it is the environment.
    pub file: Option<PathBuf>,
    /// The line in it, where that is known.
    pub line: Option<usize>,
    /// What it does.
    pub does: String,
    /// What to do about it.
    pub fix: String,
}

// === impl Trap ===

impl Trap {
    /// Returns where it is, with its name.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (None, _) => format!("{} in this environment", self.name),
            (Some(file), None) => format!("{}: {}", file.display(), self.name),
            (Some(file), Some(line)) => format!("{}:{line}: {}", file.display(), self.name),
        }
    }
}

// === impl Leader ===

impl Leader {
    /// Returns what stands in an environment.
    pub fn in_environment(&self, environment: &BTreeMap<String, String>) -> Vec<Trap> {
        let found = environment.iter().filter_map(|(name, value)| Some((name, self.effect(name, value)?)));
        found
            .map(|(name, does)| Trap {
                name: name.clone(),
                file: None,
                line: None,
                does: self.does(does),
                fix: format!("start it without: unset {name}"),
            })
            .collect()
    }

    /// Returns what stands in the text of a settings file.
    pub fn in_settings(&self, file: &Path, text: &str) -> Vec<Trap> {
        let finding = |name: &str, line, does: String, fix: String| Trap {
            name: name.to_owned(),
            file: Some(file.to_path_buf()),
            line,
            does,
            fix,
        };
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Vec::new();
        }
        let settings: Map<String, Value> = match serde_json::from_str(text) {
            Ok(settings) => settings,
            // Without the error's own words: they may quote a value.
            Err(error) => return vec![self.unreadable(file, Some(error.line()), "it is no JSON object")],
        };
        let out = |name: &str| format!("take {name} out of {}", file.display());
        let mut findings = Vec::new();
        let variables = settings.get(&self.settings.variables_in).and_then(Value::as_object);
        for (name, value) in variables.into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if let Some(does) = self.effect(name, &value) {
                let written = format!("{}.{name}", self.settings.variables_in);
                let line = line_of(text, &[&self.settings.variables_in, name]);
                findings.push(finding(&written, line, self.does(does), out(&written)));
            }
        }
        for (key, does) in &self.settings.keys {
            if settings.get(key).is_some_and(|value| !value.is_null() && value != "") {
                findings.push(finding(key, line_of(text, &[key]), self.does(does), out(key)));
            }
        }
        findings
    }

    /// Returns what to tell of a file that is there and cannot be read.
    pub fn unreadable(&self, file: &Path, line: Option<usize>, why: &str) -> Trap {
        Trap {
            name: "cannot be read".to_owned(),
            file: Some(file.to_path_buf()),
            line: line.filter(|line| *line > 0),
            does: format!("what it does to {} is not known: {why}", self.leader),
            fix: "repair the file, then look again".to_owned(),
        }
    }

    /// Returns the files of settings that this leader would read in a project, there or not, each once.
    pub fn files(&self, project: &Path, environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
        let folder = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (config, home) = (folder(&self.settings.config_dir), folder("HOME"));
        let mut files: Vec<PathBuf> = Vec::new();
        for file in &self.settings.files {
            let path = match (file, &config, &home) {
                (File::Project { project: below }, ..) => Some(project.join(below)),
                (File::User { config: below, .. }, Some(config), _) => Some(config.join(below)),
                (File::User { home: below, .. }, None, Some(home)) => Some(home.join(below)),
                (File::User { .. }, None, None) => None,
                (File::Machine { machine }, ..) => Some(machine.clone()),
            };
            files.extend(path.filter(|path| !files.contains(path)));
        }
        files
    }

    /// What a variable with this value does, if it does anything.
    fn effect(&self, name: &str, value: &str) -> Option<&str> {
        let begins = || self.switches_that_begin_with.iter().find(|(begin, _)| name.starts_with(begin.as_str()));
        let is_off = ["", "0", "false", "no", "off", "null"].contains(&value.trim().to_lowercase().as_str());
        if let Some(does) = self.variables.get(name) {
            return (!value.is_empty()).then_some(does);
        }
        if is_off || self.harmless.iter().any(|harmless| harmless == name) {
            return None;
        }
        self.switches.get(name).or_else(|| begins().map(|(_, does)| does)).map(String::as_str)
    }

    fn does(&self, does: &str) -> String {
        format!("with it in {}, {does}", self.leader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{
        "leader": "agent",
        "variables": {"BASE_URL": "it goes elsewhere"},
        "switches": {"MANAGED": "it is managed"},
        "switches_that_begin_with": {"USE_": "it uses that"},
        "harmless": ["USE_COLOUR"],
        "settings": {
            "variables_in": "env", "keys": {"keyHelper": "it asks that"}, "config_dir": "CONFIG",
            "files": [{"project": ".a/s.json"}, {"config": "s.json", "home": ".a/s.json"}, {"machine": "/etc/a.json"}]
        }
    }"#;

    fn leader() -> Leader {
        serde_json::from_str(TABLE).expect("a valid table")
    }

    fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn names(findings: &[Trap]) -> Vec<(&str, Option<usize>)> {
        findings.iter().map(|finding| (finding.name.as_str(), finding.line)).collect()
    }

    #[test]
    fn names_in_an_environment_are_told_when_they_are_on() {
        let on = [("BASE_URL", "x"), ("MANAGED", "1"), ("USE_CLOUD", "true"), ("USE_COLOUR", "1"), ("PATH", "x")];
        let found = leader().in_environment(&set(&on));
        assert_eq!(names(&found), [("BASE_URL", None), ("MANAGED", None), ("USE_CLOUD", None)]);
        assert_eq!(found[0].place(), "BASE_URL in this environment");
        let off = [("BASE_URL", ""), ("MANAGED", "0"), ("USE_CLOUD", "False"), ("USE_X", "")];
        assert_eq!(leader().in_environment(&set(&off)), []);
        assert_eq!(names(&leader().in_environment(&set(&[("BASE_URL", "0")]))), [("BASE_URL", None)]);
    }

    #[test]
    fn keys_in_settings_are_told_with_their_line_and_without_their_value() {
        let text = "\u{feff}{\n \"env\": {\n  \"OTHER\": \"1\", \"USE_CLOUD\": true,\n  \"BASE_URL\": \"secret\"\n },\n \"keyHelper\": \"secret\"\n}";
        let found = leader().in_settings(Path::new("s.json"), text);
        assert_eq!(names(&found), [("env.USE_CLOUD", Some(3)), ("env.BASE_URL", Some(4)), ("keyHelper", Some(6))]);
        assert_eq!(found[1].place(), "s.json:4: env.BASE_URL");
        assert!(!format!("{found:?}").contains("secret"), "{found:?}");
    }

    #[test]
    fn settings_that_do_nothing_are_no_finding() {
        for text in
            ["", " \n", "{}", r#"{"env": {"USE_CLOUD": "0", "BASE_URL": ""}}"#, r#"{"env": 3, "keyHelper": null}"#]
        {
            assert_eq!(leader().in_settings(Path::new("s.json"), text), [], "{text}");
        }
    }

    #[test]
    fn a_name_written_with_escapes_is_found_without_its_line() {
        let found = leader().in_settings(Path::new("s.json"), r#"{"env": {"\u0042ASE_URL": "x"}}"#);
        assert_eq!(names(&found), [("env.BASE_URL", None)]);
    }

    #[test]
    fn what_cannot_be_read_is_told_as_such_and_not_quoted() {
        for text in ["{\n \"keyHelper\": secret}", "\"secret\"", "[\"secret\"]"] {
            let found = leader().in_settings(Path::new("s.json"), text);
            assert_eq!(found[0].name, "cannot be read", "{text}");
            assert!(!format!("{found:?}").contains("secret"), "{found:?}");
        }
    }

    #[test]
    fn files_are_looked_for_where_the_agent_does() {
        let files = |pairs: &[(&str, &str)]| leader().files(Path::new("/p"), &set(pairs));
        let expect = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(files(&[("HOME", "/h")]), expect(&["/p/.a/s.json", "/h/.a/s.json", "/etc/a.json"]));
        assert_eq!(files(&[("HOME", "/h"), ("CONFIG", "/c")]), expect(&["/p/.a/s.json", "/c/s.json", "/etc/a.json"]));
        assert_eq!(files(&[("HOME", "/p")]), expect(&["/p/.a/s.json", "/etc/a.json"]));
        assert_eq!(files(&[]), expect(&["/p/.a/s.json", "/etc/a.json"]));
    }
}
