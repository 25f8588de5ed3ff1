//! Where the daemon is started, and where a person's files are by the variables that say so.
//! What lies in those files is not looked at here.

use std::path::{Path, PathBuf};

use super::{ConfigError, FILE};

/// Where the daemon is started, and the variables that say where a person's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The working directory.
    pub cwd: PathBuf,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`
    pub config_home: Option<PathBuf>,
    /// `XDG_STATE_HOME`
    pub state_home: Option<PathBuf>,
}

impl Surroundings {
    /// Returns those of this process.
    pub fn of_process() -> Result<Surroundings, ConfigError> {
        let cwd = std::env::current_dir().map_err(|error| {
            ConfigError::outside(format!("the working directory cannot be found: {error}"), "start fleetd elsewhere")
        })?;
        let dir = |name| std::env::var_os(name).map(PathBuf::from);
        Ok(Surroundings {
            cwd,
            home: dir("HOME"),
            config_home: dir("XDG_CONFIG_HOME"),
            state_home: dir("XDG_STATE_HOME"),
        })
    }

    /// Returns the state directory of `--state DIR`, or the default one.
    pub fn state_dir(&self, told: Option<&Path>) -> Result<PathBuf, ConfigError> {
        if let Some(told) = told {
            return Ok(self.cwd.join(told));
        }
        home_of(&self.state_home, &self.home, ".local/state").map(|home| home.join("fleetd")).ok_or_else(|| {
            ConfigError::outside(
                "there is no place for the state: neither XDG_STATE_HOME nor HOME is an absolute path",
                "name a directory with --state DIR",
            )
        })
    }

    /// Returns the files in which settings are looked for when none was named, in order.
    pub(super) fn config_files(&self) -> Vec<PathBuf> {
        let home = home_of(&self.config_home, &self.home, ".config").map(|home| home.join("fleetd").join(FILE));
        [Some(self.cwd.join(FILE)), home].into_iter().flatten().collect()
    }
}

/// Relative paths in these variables are to be ignored, says the specification that names them.
fn home_of(xdg: &Option<PathBuf>, home: &Option<PathBuf>, below: &str) -> Option<PathBuf> {
    let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
    absolute(xdg).or_else(|| absolute(home).map(|home| home.join(below)))
}
