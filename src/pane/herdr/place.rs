//! Where herdr listens: the same order of precedence as herdr's own.
//! Whether anybody listens there is not asked here.

use std::path::{Path, PathBuf};

/// The variables that say it.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `HERDR_SOCKET_PATH`.
    pub socket: Option<PathBuf>,
    /// `HERDR_SESSION`.
    pub session: Option<String>,
}

impl Env {
    /// Reads them from this process's environment; an empty one is none.
    pub fn of_this_process() -> Self {
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            home: read("HOME").map(PathBuf::from),
            config_home: read("XDG_CONFIG_HOME").map(PathBuf::from),
            socket: read("HERDR_SOCKET_PATH").map(PathBuf::from),
            session: read("HERDR_SESSION").and_then(|name| name.into_string().ok()),
        }
    }
}

/// Returns herdr's socket: that of the session that is named here, else `HERDR_SOCKET_PATH`, else that of
/// `HERDR_SESSION`, else that of the session without a name.
///
/// # Errors
///
/// Fails without a home, and on a name that herdr does not take.
pub fn socket(session: Option<&str>, env: &Env) -> Result<PathBuf, String> {
    if let (None, Some(socket)) = (session, &env.socket) {
        return Ok(socket.clone());
    }
    let config = env.config_home.clone().or_else(|| env.home.as_ref().map(|home| home.join(".config")));
    let folder = config.ok_or("neither XDG_CONFIG_HOME nor HOME is set, so herdr's socket is not known")?.join("herdr");
    match session.or(env.session.as_deref()) {
        None => Ok(folder.join("herdr.sock")),
        Some(name) if is_session(name) => Ok(in_session(&folder, name)),
        Some(name) => {
            Err(format!("'{name}' is no name of a herdr session; valid: 1 to 64 of letters, digits, '.', '_' and '-'"))
        }
    }
}

fn in_session(folder: &Path, name: &str) -> PathBuf {
    folder.join("sessions").join(name).join("herdr.sock")
}

fn is_session(name: &str) -> bool {
    // Its name is a folder's: one that means another folder is not taken.
    (1..=64).contains(&name.len())
        && !matches!(name, "." | "..")
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_herdr() {
        let mut env = Env { home: Some("/h".into()), ..Env::default() };
        let found = |session: Option<&str>, env: &Env| socket(session, env).map(|path| path.display().to_string());
        assert_eq!(found(None, &env).unwrap(), "/h/.config/herdr/herdr.sock");
        env.session = Some("night".to_owned());
        assert_eq!(found(None, &env).unwrap(), "/h/.config/herdr/sessions/night/herdr.sock");
        env.config_home = Some("/c".into());
        env.socket = Some("/s/x.sock".into());
        assert_eq!(found(None, &env).unwrap(), "/s/x.sock");
        assert_eq!(found(Some("day"), &env).unwrap(), "/c/herdr/sessions/day/herdr.sock");
    }

    #[test]
    fn a_wrong_name_and_a_missing_home_are_refused() {
        let env = Env { home: Some("/h".into()), ..Env::default() };
        for wrong in ["", "..", "a/b", &"x".repeat(65), "ü"] {
            assert!(socket(Some(wrong), &env).is_err(), "{wrong}");
        }
        assert!(socket(None, &Env::default()).is_err());
    }
}
