//! What a save would change: the declarations of two generations held against each other, and their files.
//! How a difference is put into words is `fleet::difference`'s matter; here files are read and loaded for it, no more.

use std::path::Path;
use std::sync::Arc;

use super::Inner;
use super::error::CharterErrors;
use super::offline;
use super::reload::blocking;
use super::sources::Sources;
use super::testing;
use super::world::World;
use crate::engine::ports::Files;
use crate::fleet::difference::{Change, Difference, How, Part, between};
use crate::fleet::team::{Generation, Team};

/// Returns what differs between two charters: what they declare, then their files.
pub(super) fn whole(old: (&Team, &Sources), new: (&Team, &Sources)) -> Vec<Change> {
    let mut changes = between(old.0, new.0);
    changes.extend(files(old.1, new.1));
    changes
}

/// Returns which files differ, and where.
pub(super) fn files(old: &Sources, new: &Sources) -> Vec<Change> {
    let mut names = old.names();
    names.extend(new.names());
    names.sort();
    names.dedup();
    let said = |name: &str| match (old.text(name), new.text(name)) {
        (Some(was), Some(is)) => (was != is).then(|| (How::Changed, format!("{name}: {}", lines(was, is)))),
        (Some(_), None) => Some((How::Removed, format!("{name} is removed"))),
        (None, Some(is)) => Some((How::New, format!("{name} is new, with {}", counted(is.lines().count())))),
        (None, None) => None,
    };
    let changed = names.into_iter().filter_map(|name| said(&name).map(|said| (name, said)));
    changed.map(|(name, (how, words))| Change { of: Part::File, how, name, words }).collect()
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

/// Says which lines of the new text are not as they were: all between the first and the last that differ.
fn lines(was: &str, is: &str) -> String {
    let (was, is): (Vec<&str>, Vec<&str>) = (was.lines().collect(), is.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = was.iter().zip(&is).take_while(same).count();
    let most = was.len().min(is.len()) - before;
    let after = was.iter().rev().zip(is.iter().rev()).take_while(same).count().min(most);
    let (gone, new) = (was.len() - before - after, is.len() - before - after);
    match new {
        0 if gone == 0 => "only the ends of its lines differ".to_owned(),
        0 => format!("{} less after line {before}", counted(gone)),
        1 => format!("line {} differs", before + 1),
        _ => format!("lines {} to {} differ", before + 1, before + new),
    }
}

/// Returns what one directory changes against another one; the first must be a good charter.
pub fn of_dirs(old: &Path, new: &Path) -> Result<Difference, CharterErrors> {
    let sources = Sources::read(old)?;
    let team = offline::team_of(sources.clone())?;
    let from = Generation { number: 0, hash: sources.hash().to_owned() };
    Ok(against(from, &team, &sources, || Sources::read(new)))
}

/// Returns what files change against a charter, and why they would not be taken: their own tests are run, too.
fn against(
    from: Generation,
    team: &Team,
    sources: &Sources,
    read: impl FnOnce() -> Result<Sources, CharterErrors>,
) -> Difference {
    let mut difference = Difference { from, ..Difference::default() };
    let lying = match read() {
        Ok(lying) => lying,
        Err(errors) => {
            difference.error = Some(errors.to_string());
            return difference;
        }
    };
    difference.hash = Some(lying.hash().to_owned());
    if lying.hash() == sources.hash() {
        return difference;
    }
    match World::load(Arc::new(lying.clone()), Generation::default(), Arc::default()) {
        Ok(world) => {
            difference.changes = whole((team, sources), (&world.team, &lying));
            difference.error = testing::before_swap(&world).map(|errors| errors.to_string());
        }
        Err(errors) => {
            difference.changes = files(sources, &lying);
            difference.error = Some(errors.to_string());
        }
    }
    difference
}

impl Inner {
    /// Returns what these files would change, or those that lie in the directory.
    pub(super) async fn difference(&self, given: Option<Files>) -> Difference {
        let from = self.status().generation.clone();
        let (team, sources) = match self.current() {
            Some(current) => (Arc::clone(&current.team), Arc::clone(&current.sources)),
            None => Default::default(),
        };
        let dir = self.dir.clone();
        let broken = Difference {
            from: from.clone(),
            error: Some("the charter could not be compared".to_owned()),
            ..Difference::default()
        };
        let read = move || match given {
            Some(files) => Sources::given(files),
            None => Sources::read(&dir),
        };
        blocking(move || against(from, &team, &sources, read)).await.unwrap_or(broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
        let sources = |files: &[(&str, &str)]| Sources::from_files(files.iter().copied());
        files(&sources(old), &sources(new)).into_iter().map(|change| change.words).collect()
    }

    #[test]
    fn files_are_told_with_the_lines_that_differ() {
        let old = [("a.lua", "one\ntwo\nthree\n"), ("b.lua", "x\n")];
        assert!(words(&old, &old).is_empty());
        let told = |text| words(&old, &[("a.lua", text), ("b.lua", "x\n")]);
        assert_eq!(told("one\n2\nthree\n"), ["a.lua: line 2 differs"]);
        assert_eq!(told("one\n2\n2.5\nthree\n"), ["a.lua: lines 2 to 3 differ"]);
        assert_eq!(told("one\nthree\n"), ["a.lua: 1 line less after line 1"]);
        assert_eq!(told("one\r\ntwo\nthree"), ["a.lua: only the ends of its lines differ"]);
        assert_eq!(
            words(&old, &[("c.lua", "y\nz\n")]),
            ["a.lua is removed", "b.lua is removed", "c.lua is new, with 2 lines"]
        );
    }

    #[test]
    fn files_whose_tests_fail_are_compared_and_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let good = Sources::from_files([("a.lua", "-- nothing\n")]);
        let text = "fleet.role('w', { profiles = { 'p' } })\n\
             fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\n\
             fleet.test('no', function(t) t.equal(1, 2) end)\n";
        std::fs::write(dir.path().join("a.lua"), text).expect("written");
        let found = against(Generation::default(), &Team::default(), &good, || Sources::read(dir.path()));
        assert_eq!(found.changes[0].words, "profile 'p' is new");
        assert!(found.error.is_some_and(|error| error.starts_with("a.lua:3: test 'no' failed: ")));
    }

    #[test]
    fn what_somebody_gives_goes_by_the_rules_for_a_directory() {
        let given = |name: &str, text: &str| Sources::given([(name.to_owned(), text.to_owned())].into());
        assert!(given("lib/a_b-1.lua", "x").is_ok());
        for (name, text, why) in [
            ("team.lua", "", "team.lua: this file is empty"),
            ("Upper.LUA", "x", "Upper.LUA: no file of a charter has such a name"),
            ("../a.lua", "x", "../a.lua: no file of a charter has such a name"),
            ("a.lua", "x\0", "a.lua: this is no text"),
        ] {
            let said = given(name, text).expect_err(name).to_string();
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn files_that_do_not_load_are_compared_as_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let good = Sources::from_files([("a.lua", "-- nothing\n")]);
        std::fs::write(dir.path().join("a.lua"), "fleet.recpie()\n").expect("written");
        let found = against(Generation::default(), &Team::default(), &good, || Sources::read(dir.path()));
        assert_eq!(
            found.changes.iter().map(|change| change.words.as_str()).collect::<Vec<_>>(),
            ["a.lua: line 1 differs"]
        );
        assert!(found.error.is_some_and(|error| error.starts_with("a.lua:1: no `recpie`; did you mean `recipe`?")));
    }
}
