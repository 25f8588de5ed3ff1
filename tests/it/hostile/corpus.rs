//! The files of the corpus and what their first three lines say: about, `place:` and `says:` (one of several texts).
//! In a text `FILE` stands for the file's own name in the charter. `ok` is what is said where nothing is wrong.

use std::path::Path;

/// Where a script is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the load, its tests included: the generation is refused.
    Load,
    /// As a rubric, for tasks of the kind that has the script's name.
    Rubric,
    /// As a recipe that has the script's name.
    Recipe,
    /// As a handler of `run_ended`, for runs that failed with the script's name as reason.
    Handler,
}

/// One hostile script.
pub struct Script {
    pub name: String,
    pub place: Place,
    pub says: Vec<String>,
    pub text: String,
}

impl Script {
    /// Returns its name in a charter.
    pub fn file(&self) -> String {
        format!("h/{}.lua", self.name)
    }
}

/// Returns all scripts, in the order of their names.
pub fn corpus() -> Vec<Script> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hostile");
    let mut scripts: Vec<Script> = std::fs::read_dir(dir).unwrap().map(|entry| read(&entry.unwrap().path())).collect();
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    scripts
}

fn read(path: &Path) -> Script {
    let text = std::fs::read_to_string(path).unwrap();
    let of = |line: usize, word: &str| {
        let found = text.lines().nth(line).and_then(|line| line.strip_prefix(&format!("-- {word}: ")));
        found.unwrap_or_else(|| panic!("{}: line {} should be `-- {word}: …`", path.display(), line + 1)).to_string()
    };
    let place = match of(1, "place").as_str() {
        "load" => Place::Load,
        "rubric" => Place::Rubric,
        "recipe" => Place::Recipe,
        "handler" => Place::Handler,
        other => panic!("{}: there is no place '{other}'", path.display()),
    };
    let says = of(2, "says").split(" | ").map(str::to_owned).collect();
    Script { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), place, says, text }
}
