//! `fleetd init`: a first configuration and charter, and what a leading agent needs in its project to lead. A file that is
//! there is never changed without the user's word, so it can be run as often as one likes.
//!
//! Everything is decided and asked before the first file is written.

mod diff;
mod parts;
mod plan;
mod section;
mod server;
mod standing;
mod told;
mod write;

use std::io::{BufRead, IsTerminal, stdin};
use std::path::{Path, PathBuf};

use clap::Args;

use self::plan::{Fate, Step};
use self::standing::Standing;
use self::told::{Done, draw};
use super::exit::{Exit, Failure};
use super::look::safe;
use super::terminal::Terminal;
use crate::config::{self, Reached};

pub const EXAMPLES: &str = "\
Examples:
  fleetd init
  fleetd init --dry-run
  fleetd init --yes
  fleetd init team && cd team && fleetd serve

It writes what is not there: fleetd.toml, a charter, and for the session that leads
.mcp.json, a section of CLAUDE.md between two marks, and the skills delegate, implementer
and reviewer. A file of yours is changed after you have seen what would change and said
yes; without a terminal it is left as it is.";

/// What `init` is told.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Where
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Only say what would be written, and what would change in files that are there
    #[arg(long)]
    dry_run: bool,
    /// Change files of yours without asking: add our part, and renew it where it is old
    #[arg(long, short)]
    yes: bool,
}

/// Writes what is not there yet, and what the user agrees to.
pub fn run(terminal: &Terminal, args: InitArgs) -> Result<Exit, Failure> {
    let mut steps = plan::plan(&args.dir, parts::parts(reached(&args.dir)?))?;
    if args.yes {
        agree(&mut steps, |_, _| Ok(true))?;
    } else if !args.dry_run && !terminal.json && stdin().is_terminal() && terminal.err.terminal {
        agree(&mut steps, |step, why| ask(terminal, step, why))?;
    }
    plan::must_be_possible(&steps)?;
    if !args.dry_run {
        write_all(terminal, &steps)?;
    }
    let done = Done::of(&steps, args.dry_run);
    if terminal.json {
        terminal.print_json(&done)?;
        return Ok(Exit::Ok);
    }
    terminal.print(&draw(&args.dir, &steps, &done))?;
    let wrote = !done.written.is_empty() || !done.changed.is_empty();
    if wrote && !args.dry_run {
        let cd = if args.dir == Path::new(".") { String::new() } else { format!("cd {} && ", args.dir.display()) };
        terminal.talk(&format!("next: {cd}fleetd charter check && fleetd serve"));
    }
    Ok(Exit::Ok)
}

/// Returns how the daemon of a project will be reached.
fn reached(dir: &Path) -> Result<Reached, Failure> {
    let path = dir.join(parts::CONFIG_FILE);
    let text = match Standing::at(&path)? {
        Standing::File(file) => String::from_utf8_lossy(&file.bytes).into_owned(),
        Standing::Free | Standing::Nowhere => parts::CONFIG.to_string(),
    };
    Ok(config::reached(&path, &text)?)
}

/// Gives every file that wants the user's word the fate that it has with it, or keeps it as it is.
fn agree(steps: &mut [Step], mut says: impl FnMut(&Step, &str) -> Result<bool, Failure>) -> Result<(), Failure> {
    for step in steps {
        let Fate::Ask(why, _) = step.fate else { continue };
        let yes = says(step, why)?;
        if let Fate::Ask(_, then) = std::mem::replace(&mut step.fate, Fate::Left("you said no"))
            && yes
        {
            step.fate = *then;
        }
    }
    Ok(())
}

/// Shows what would change and asks the person; whatever is not yes is no.
fn ask(terminal: &Terminal, step: &Step, why: &str) -> Result<bool, Failure> {
    let path = step.path.display();
    match step.difference() {
        Some(diff) => {
            terminal.talk(&format!("{path}: {why}; this would change:\n{}", safe(&diff)));
            terminal.talk(&format!("change {path}? [y/N]"));
        }
        None => terminal.talk(&format!("write {path}? {why} [y/N]")),
    }
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(|error| Failure::io("cannot read the answer", error))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn write_all(terminal: &Terminal, steps: &[Step]) -> Result<(), Failure> {
    for (n, step) in steps.iter().enumerate() {
        let wrote = match &step.fate {
            Fate::Create(text) => write::create(&step.path, text),
            Fate::Change(file, text) => write::change(&step.path, file, text),
            Fate::Kept | Fate::Left(_) | Fate::LeftOut | Fate::Ask(..) => Ok(()),
        };
        wrote.inspect_err(|_| {
            // The rest is not written; what was done already is told, since it stays.
            let done = Done::of(&steps[..n], false);
            let paths: Vec<String> =
                done.written.iter().chain(&done.changed).map(|path| path.display().to_string()).collect();
            if !paths.is_empty() {
                terminal.talk(&format!("wrote before that: {}", paths.join(", ")));
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CharterSource, Machine, Surroundings, TokenError};

    struct AllThere;

    impl Machine for AllThere {
        fn is_dir(&self, _: &Path) -> bool {
            true
        }

        fn has_copy(&self, _: &Path, _: &Path) -> bool {
            false
        }

        fn read_private(&self, _: &Path) -> Result<String, TokenError> {
            Err(("no token is asked for".into(), ""))
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn the_configuration_is_one_that_fleetd_takes() {
        let around = Surroundings { cwd: "/project".into(), home: Some("/home/me".into()), ..Surroundings::default() };
        let file = Path::new("/project/fleetd.toml");
        let config = crate::config::resolve(&Default::default(), &around, Some((file, parts::CONFIG)), &AllThere);
        let config = config.expect("a valid file");
        assert_eq!(config.listen.to_string(), "127.0.0.1:7717");
        assert_eq!(config.charter, CharterSource::Dir("/project/charters/default".into()));
        let reached = config::reached(file, parts::CONFIG).expect("the same");
        assert_eq!(reached, Reached { listen: config.listen, by_token: false });
    }
}
