//! The page of the shipped charters, docs/recipes.md: the run that it shows of each is one that was made here, by the real
//! daemon with the shipped files. Programs play the agents; `best-of-n` is run with real ones, in `agents`.
//! `FLEETD_BLESS=1` writes the runs anew.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::House;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Holds a run against the one on the page, or puts it there; of a race any part may win.
pub fn stands_on_the_page(name: &str, run: &str, is_race: bool) {
    let path = Path::new(ROOT).join("docs/recipes.md");
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    // Two tests write it, each in a process of its own.
    file.lock().unwrap();
    let mut page = String::new();
    file.read_to_string(&mut page).unwrap();
    let mark = format!("<!-- a run of {name} -->\n```\n");
    let (before, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("the page has no place for {name}"));
    let (shown, after) = rest.split_once("\n```").unwrap();
    if std::env::var_os("FLEETD_BLESS").is_some() {
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        write!(file, "{before}{mark}{}\n```{after}", run.trim_end()).unwrap();
    } else {
        let [run, shown] = [run, shown].map(|text| match is_race {
            true => any_winner(as_any(text)),
            false => as_any(text),
        });
        assert_eq!(run, shown, "{name}: FLEETD_BLESS=1 writes it anew");
    }
}

/// Returns the lines of a run without what differs from run to run: times, hashes, numbers, order, where a line was cut.
fn as_any(run: &str) -> Vec<String> {
    let word = |word: &str| -> String {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_time = bare.ends_with(['s', 'm', 'h']) && bare.starts_with(|c: char| c.is_ascii_digit());
        let is_hash = bare.len() == 40 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (name, number) = bare.rsplit_once(['-', 't']).unwrap_or_default();
        // Which of several takes a part, and which is through first, is the machine's matter.
        let is_one_of_many = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        match (is_time || is_hash, is_one_of_many) {
            (true, _) => "…".to_owned(),
            (false, true) => format!("{name}-…"),
            (false, false) => word.to_owned(),
        }
    };
    let line = |line: &str| {
        let line = line.split(": to ").next().unwrap_or_default();
        line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = run.trim_end().lines().map(line).collect();
    lines.sort();
    lines
}

/// Returns what is the same of a race whoever wins it: the first word of each line.
fn any_winner(lines: Vec<String>) -> Vec<String> {
    let mut words: Vec<String> =
        lines.iter().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect();
    words.sort();
    words
}

/// Returns a team of which each profile is a command: that which is to be shown of a recipe needs no model.
fn played(team: &str, command: &Path) -> String {
    let mut out = String::new();
    let mut rest = team;
    while let Some((before, of_profile)) = rest.split_once("fleet.profile(\"") {
        let (name, body) = of_profile.split_once('"').unwrap();
        let (_, after) = body.split_once("\n})").unwrap();
        let command = command.display();
        out += &format!("{before}fleet.profile(\"{name}\", {{ launcher = \"exec\", command = {{ \"{command}\" }} }})");
        rest = after;
    }
    out + rest
}

/// Runs a recipe of a shipped charter and returns what `fleetd run show` says of it.
fn shown(charter: &str, files: &[&str], team: impl Fn(String, &Path) -> String, recipe: &str, job: &str) -> String {
    let house = House::new(&[]);
    let worker: PathBuf = house.path().join("worker.sh");
    std::fs::write(&worker, include_str!("recipes/worker.sh")).unwrap();
    std::fs::set_permissions(&worker, std::fs::Permissions::from_mode(0o755)).unwrap();
    for file in files {
        let text = std::fs::read_to_string(Path::new(ROOT).join("charters").join(charter).join(file)).unwrap();
        let is_team = *file == "team.lua";
        house.write(file, &if is_team { team(text, &worker) } else { text });
    }
    let daemon = house.start();
    let fleetd = |args: &[&str]| {
        let done = house.fleetd(&["--url", &daemon.url]).args(args).output().unwrap();
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    let started = fleetd(&["run", "start", recipe, "--wait", "--job", job]);
    let (shown, said) = fleetd(&["run", "show", "r1"]);
    assert!(shown.starts_with("r1"), "{started:?} {said}");
    shown
}

#[test]
fn an_answer_that_is_too_long_to_be_read_costs_its_part_and_not_the_run() {
    let job = r#"{"parts": ["src/huge.rs", "src/writer.rs"]}"#;
    let files = ["team.lua", "recipes/bug_hunt.lua"];
    let run = shown("bug-hunt", &files, |team, by| played(&team, by), "bug-hunt", job);
    assert!(run.contains(" partial ") && run.contains("\"error\": \"too long\""), "{run}");
}

#[test]
fn golden_runs_of_the_shipped_charters_stand_on_their_page() {
    let same = |team: String, _: &Path| team;
    let by_commands = |team: String, by: &Path| played(&team, by);
    // It is not night whenever this is run.
    let by_day = |team: String, by: &Path| {
        let team = played(&team, by);
        let (before, rest) = team.split_once("  max_busy = 0,").unwrap();
        let (_, after) = rest.split_once("\n  },\n").unwrap();
        format!("{before}  max_busy = 2,{after}")
    };
    let files = ["team.lua", "routes.lua", "lib/pieces.lua", "recipes/count_words.lua"];
    let job = r#"{"text": "one two\nthree", "lines": 1}"#;
    stands_on_the_page("default", &shown("default", &files, same, "count-words", job), false);
    let files = ["team.lua", "recipes/review.lua"];
    stands_on_the_page(
        "review",
        &shown("review", &files, by_commands, "review", r#"{"change": "git diff main"}"#),
        false,
    );
    let files = ["team.lua", "recipes/bug_hunt.lua"];
    let job = r#"{"parts": ["src/parser.rs", "src/writer.rs"]}"#;
    stands_on_the_page("bug-hunt", &shown("bug-hunt", &files, by_commands, "bug-hunt", job), false);
    let files = ["team.lua", "recipes/implement.lua"];
    let job = r#"{"goal": "a --json flag for every command"}"#;
    stands_on_the_page("implement", &shown("implement", &files, by_commands, "implement", job), false);
    let files = ["team.lua", "recipes/night_shift.lua"];
    let job = r#"{"tasks": ["update the dependencies", "mend the flaky test of the parser"]}"#;
    stands_on_the_page("night-shift", &shown("night-shift", &files, by_day, "night-shift", job), false);
}
