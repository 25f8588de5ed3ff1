//! The command that herdr is given for a program: `env -u …` takes away what herdr and its server add, and only names
//! stand in it, since herdr shows and saves commands. Values go in the environment, which it does neither show nor save.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::engine::panes::PaneStart;

/// What herdr sets in every pane, whatever its version; which pane it is in is nothing that a worker must know, and
/// without it herdr's own hooks keep still, which would have an agent started anew behind the fleet's back.
const SET_BY_HERDR: &[&str] = &[
    "HERDR_ENV",
    "HERDR_SOCKET_PATH",
    "HERDR_WORKSPACE_ID",
    "HERDR_TAB_ID",
    "HERDR_PANE_ID",
    "HERDR_SESSION",
    "HERDR_BIN_PATH",
];
/// What a terminal needs, and herdr sets.
const OF_TERMINAL: &[&str] = &["TERM", "COLORTERM"];
/// What a shell sets by itself.
const OF_SHELL: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_"];
/// Where programs are looked for that have no `PATH`, by `env` itself.
const USUAL_PATH: &str = "/bin:/usr/bin";
/// What carries a value that is no text, in octal.
const CARRIER: &str = "FLEETD_BYTES_";

/// What herdr is told to start.
pub struct Command {
    /// The words.
    pub argv: Vec<String>,
    /// The environment that herdr shall set.
    pub env: BTreeMap<String, String>,
    given: Vec<OsString>,
}

impl Command {
    /// Makes the command; `foreign` are the names in the environment of herdr's server.
    pub fn new(start: &PaneStart, foreign: &[OsString]) -> Result<Self, String> {
        let text = |what: &str, value: &OsStr| {
            let text = value.to_str().filter(|text| !text.contains('\0'));
            text.map(str::to_owned).ok_or_else(|| format!("herdr takes only text, and {what} is none: {value:?}"))
        };
        text("the directory", start.cwd.as_os_str())?;
        let mut argv = vec![program_of_system("env")?];
        let ours = |name: &OsStr| start.env.contains_key(name);
        let set_by_herdr = SET_BY_HERDR.iter().map(|name| OsString::from(*name));
        let of_shell = OF_SHELL.iter().map(|name| OsString::from(*name));
        let mut taken: Vec<OsString> = foreign.iter().cloned().chain(set_by_herdr).collect();
        taken.retain(|name| !OF_TERMINAL.iter().any(|kept| name == kept) && !ours(name));
        taken.sort();
        taken.dedup();
        for name in &taken {
            argv.extend(["-u".to_owned(), text("a name in the environment of herdr's server", name)?]);
        }
        let (mut env, mut script) = (BTreeMap::new(), String::new());
        for (n, (name, value)) in start.env.iter().enumerate() {
            let name = text("the name of a variable", name)?;
            match value.to_str() {
                Some(value) => drop(env.insert(name, value.to_owned())),
                None => {
                    is_word(&name).then_some(()).ok_or_else(|| format!("herdr takes only text in {name}"))?;
                    let carrier = format!("{CARRIER}{n}");
                    // The point at its end keeps line ends that the shell would take away.
                    script += &format!(
                        "{name}=$(printf '%b.' \"${carrier}\"); {name}=${{{name}%.}}; export {name}; unset {carrier}; "
                    );
                    let octal = value.as_bytes().iter().map(|byte| format!("\\0{byte:03o}"));
                    env.insert(carrier, octal.collect());
                }
            }
        }
        // `env` takes a word with '=' for a variable, wherever it stands before the program.
        let program_has_sign = start.argv.first().is_some_and(|program| program.as_bytes().contains(&b'='));
        if !script.is_empty() || program_has_sign {
            let own: Vec<OsString> = of_shell.filter(|name| !ours(name)).collect();
            if program_has_sign {
                script += "exec \"$@\"";
            } else {
                let own: Vec<String> = own.iter().map(|name| format!("-u {}", name.to_string_lossy())).collect();
                script += &format!("exec {} {} \"$@\"", program_of_system("env")?, own.join(" "));
            }
            argv.extend([program_of_system("sh")?, "-c".to_owned(), script, "sh".to_owned()]);
        }
        for word in &start.argv {
            argv.push(text("a word of the command", word)?);
        }
        let given = start.env.keys().cloned().collect();
        Ok(Self { argv, env, given })
    }

    /// Tells whether the program may have a variable: it was given, or its terminal needs it.
    pub fn may_have(&self, name: &OsStr) -> bool {
        self.given.iter().any(|given| given == name) || OF_TERMINAL.iter().chain(OF_SHELL).any(|own| name == *own)
    }
}

/// Finds what is wrong with a start, as herdr would not say it.
pub fn check(start: &PaneStart) -> Result<(), String> {
    let cwd = &start.cwd;
    if !cwd.is_absolute() || !cwd.is_dir() {
        return Err(format!("'{}' is not the absolute path of a directory", cwd.display()));
    }
    let Some(program) = start.argv.first().filter(|program| !program.is_empty()) else {
        return Err("there is no program to start".to_owned());
    };
    if let Some(wrong) = start.env.keys().find(|name| name.is_empty() || name.as_bytes().contains(&b'=')) {
        return Err(format!("{wrong:?} is no name of a variable"));
    }
    let is_program = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let found = if program.as_bytes().contains(&b'/') {
        is_program(&cwd.join(program))
    } else {
        let path = start.env.get(OsStr::new("PATH")).map_or(OsStr::new(USUAL_PATH), OsString::as_os_str);
        std::env::split_paths(path).any(|folder| is_program(&cwd.join(folder).join(program)))
    };
    found.then_some(()).ok_or_else(|| format!("there is no program '{}' to start", program.to_string_lossy()))
}

fn is_word(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Returns the path of a program that every system has: the `PATH` of the pane may name none.
fn program_of_system(name: &str) -> Result<String, String> {
    let found =
        ["/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(name)).into_iter().find(|path| path.is_file());
    found.map(|path| path.display().to_string()).ok_or_else(|| format!("this system has no '{name}'"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::engine::panes::Slot;
    use crate::fleet::ids::{RoleName, WorkerName};

    fn start(argv: &[&str], env: &[(&str, OsString)]) -> PaneStart {
        PaneStart {
            slot: Slot { role: RoleName::from("r"), worker: WorkerName::from("r-1") },
            argv: argv.iter().map(OsString::from).collect(),
            env: env.iter().map(|(name, value)| (OsString::from(name), value.clone())).collect(),
            cwd: "/".into(),
        }
    }

    fn foreign(names: &[&str]) -> Vec<OsString> {
        names.iter().map(OsString::from).collect()
    }

    #[test]
    fn only_names_stand_in_the_command() {
        let start = start(&["prog", "a b"], &[("KEY", "secret".into()), ("HOME", "/h".into())]);
        let command = Command::new(&start, &foreign(&["HOME", "LANG", "TERM", "OTHER_SECRET"])).unwrap();
        assert_eq!(command.argv[0], "/usr/bin/env");
        assert_eq!(command.argv[command.argv.len() - 2..], ["prog", "a b"]);
        let taken: Vec<&str> =
            command.argv.windows(2).filter(|pair| pair[0] == "-u").map(|pair| pair[1].as_str()).collect();
        assert!(taken.contains(&"LANG") && taken.contains(&"OTHER_SECRET") && taken.contains(&"HERDR_PANE_ID"));
        assert!(!taken.contains(&"HOME") && !taken.contains(&"TERM"), "{taken:?}");
        assert!(!command.argv.iter().any(|word| word.contains("secret")));
        assert_eq!(command.env["KEY"], "secret");
        let may = |name: &str| command.may_have(OsStr::new(name));
        assert!(may("KEY") && may("TERM") && !may("LANG") && !may("HERDR_PANE_ID"));
    }

    #[test]
    fn a_value_that_is_no_text_is_carried_as_one() {
        let bytes = b"no \xff\0 text\n\n".iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>();
        let start = start(&["env", "-0"], &[("BYTES", OsString::from_vec(bytes.clone())), ("PLAIN", "x".into())]);
        let command = Command::new(&start, &[]).unwrap();
        assert!(command.env.values().all(|value| value.is_ascii()));
        let done = std::process::Command::new(&command.argv[0])
            .args(&command.argv[1..])
            .env_clear()
            .envs(&command.env)
            .output()
            .unwrap();
        let mut got: Vec<Vec<u8>> = done.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        got.retain(|entry| !entry.is_empty());
        got.sort();
        assert_eq!(got, [[b"BYTES=".as_slice(), &bytes].concat(), b"PLAIN=x".to_vec()]);
    }

    #[test]
    fn what_herdr_cannot_be_told_is_refused() {
        let bad = |argv: Vec<OsString>| PaneStart { argv, ..start(&[], &[]) };
        let word = OsString::from_vec(b"\xff".to_vec());
        assert!(Command::new(&bad(vec!["prog".into(), word]), &[]).is_err());
        let name = start(&["prog"], &[("a.b", OsString::from_vec(b"\xff".to_vec()))]);
        assert!(Command::new(&name, &[]).is_err());
    }
}
