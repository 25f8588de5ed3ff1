//! The state directory, the store in it, and the room that is left: whether `fleetd serve` could begin here, and go on.
//! Nothing is made or opened for writing; what is read of the store is its first hundred bytes.

use std::path::{Path, PathBuf};

use super::ask;
use super::finding::{Check, Finding};
use crate::store::glance::{self, Dir, Schema};

/// With less than this a few large replies fill the disk.
const TIGHT: u64 = 1 << 30;
/// With less than this the store will soon refuse to write.
const FULL: u64 = 64 << 20;

/// What was found.
struct Facts {
    dir: Dir,
    schema: Schema,
    free: Result<u64, String>,
}

/// Looks at a state directory.
pub async fn look(path: &Path) -> Vec<Finding> {
    let asked: PathBuf = path.into();
    let facts = move || Facts {
        dir: glance::dir(&asked),
        schema: glance::schema(&asked),
        free: glance::free(&asked).map_err(|error| error.to_string()),
    };
    match ask::blocking(ask::DISK, facts).await {
        Some(facts) => vec![dir(&facts.dir, path), store(&facts.schema, path), disk(&facts.free, path)],
        None => vec![Finding::late(Check::State, &format!("the disk of {}", path.display()))],
    }
}

fn dir(found: &Dir, path: &Path) -> Finding {
    const ELSEWHERE: &str = "name another directory with --state DIR, or make this one yours";
    let here = path.display();
    let finding = match found {
        Dir::Usable => Finding::ok(Check::State, format!("{here} is there and can be written")),
        Dir::Missing { is_writable: true, .. } => {
            Finding::ok(Check::State, format!("{here} is not there yet: the first start makes it"))
        }
        Dir::Missing { above, .. } => {
            let what = format!("{here} cannot be made: {} cannot be written", above.display());
            Finding::problem(Check::State, what).fix(ELSEWHERE)
        }
        Dir::Unusable(why) => Finding::problem(Check::State, format!("{here} cannot be used: {why}")).fix(ELSEWHERE),
    };
    finding.at(path, None)
}

fn store(found: &Schema, path: &Path) -> Finding {
    let finding = match found {
        Schema::None => Finding::ok(Check::Store, "there is no store yet: the first start makes one"),
        Schema::Version { found, known } if found == known => {
            Finding::ok(Check::Store, format!("its schema is version {found}"))
        }
        Schema::Version { found, known } if found < known => Finding::note(
            Check::Store,
            format!("its schema is version {found}, and the next start of this fleetd makes it version {known}"),
        )
        .fix("copy the state directory first if an older fleetd is to read it again"),
        Schema::Version { found, known } => Finding::problem(
            Check::Store,
            format!("a newer fleetd wrote it: its schema is version {found}, this one knows up to {known}"),
        )
        .fix("use the newer fleetd, or another directory with --state DIR"),
        Schema::NotOurs(why) => {
            Finding::problem(Check::Store, format!("the store in {} is none of a fleet: {why}", path.display()))
                .fix("move the file away if nothing needs it, or name another directory with --state DIR")
        }
    };
    finding.at(path, None)
}

fn disk(free: &Result<u64, String>, path: &Path) -> Finding {
    let here = path.display();
    const ROOM: &str = "make room; `[limits] retention` in fleetd.toml says how long history is kept";
    match free {
        Ok(free) if *free < FULL => {
            Finding::problem(Check::Disk, format!("only {} MiB are free where {here} is", free >> 20)).fix(ROOM)
        }
        Ok(free) if *free < TIGHT => {
            Finding::warning(Check::Disk, format!("only {} MiB are free where {here} is", free >> 20)).fix(ROOM)
        }
        Ok(free) => Finding::ok(Check::Disk, format!("{} GiB are free where {here} is", free >> 30)),
        Err(why) => Finding::warning(Check::Disk, format!("how much is free where {here} is cannot be found: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_directory_is_good_where_a_daemon_could_begin() {
        let level = |found: &Dir| dir(found, Path::new("/s")).level;
        assert_eq!(level(&Dir::Usable), Level::Ok);
        assert_eq!(level(&Dir::Missing { above: "/".into(), is_writable: true }), Level::Ok);
        assert_eq!(level(&Dir::Missing { above: "/".into(), is_writable: false }), Level::Problem);
        assert_eq!(level(&Dir::Unusable("it cannot be written".into())), Level::Problem);
    }

    #[test]
    fn only_a_schema_from_the_future_is_a_problem() {
        let level = |found: &Schema| store(found, Path::new("/s")).level;
        assert_eq!(level(&Schema::None), Level::Ok);
        assert_eq!(level(&Schema::Version { found: 4, known: 4 }), Level::Ok);
        assert_eq!(level(&Schema::Version { found: 3, known: 4 }), Level::Note);
        assert_eq!(level(&Schema::Version { found: 5, known: 4 }), Level::Problem);
        assert_eq!(level(&Schema::NotOurs("text".into())), Level::Problem);
    }

    #[test]
    fn room_is_counted() {
        let level = |free: u64| disk(&Ok(free), Path::new("/s")).level;
        assert_eq!([level(FULL - 1), level(FULL), level(TIGHT)], [Level::Problem, Level::Warning, Level::Ok]);
        assert_eq!(disk(&Ok(5 << 20), Path::new("/s")).what, "only 5 MiB are free where /s is");
    }
}
