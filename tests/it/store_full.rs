//! A disk without room: the commit is refused as a whole, what was stored stays, and it goes on once there is room.
//! Shown with a limit of pages everywhere, and with a small real disk where one can be mounted.

use std::path::{Path, PathBuf};
use std::process::Command;

use fleetd::engine::ports::{Journal, JournalError};
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::time::Time;
use fleetd::store::{StateDir, Store, StoreError, StoreOptions};

use crate::store_rows::{Place, life};

/// Stores lives of turns until there is no room; returns the first one that was refused.
fn fill(place: &Place, store: &Store, from: u64) -> u64 {
    let text = "x".repeat(10_000);
    for id in from..from + 10_000 {
        match place.wait(store.commit(life(id, 10, &text))) {
            Ok(()) => {}
            Err(JournalError::Full(_)) => return id,
            Err(other) => panic!("turn {id}: {other}"),
        }
    }
    panic!("there is no end to this disk");
}

fn is_stored(place: &Place, store: &Store, id: u64) -> bool {
    let parts = [
        place.wait(store.turn(TurnId(id))).unwrap().is_some(),
        place.wait(store.prompt(TurnId(id))).unwrap().is_some(),
        place.wait(store.envelope(TurnId(id))).unwrap().is_some(),
        place.wait(store.events(TurnId(id))).unwrap().len() == 2,
    ];
    assert!(parts.iter().all(|part| *part == parts[0]), "turn {id} is stored in part: {parts:?}");
    parts[0]
}

#[test]
fn a_full_store_refuses_the_whole_commit_keeps_what_it_has_and_goes_on_once_there_is_room() {
    let place = Place::new();
    let state = StateDir::take(place.dir.path()).unwrap();
    let store = Store::open_with(&state, StoreOptions { max_pages: Some(200), ..StoreOptions::default() }).unwrap();
    let refused = fill(&place, &store, 1);
    assert!(refused > 5, "only {refused} fitted");
    let error = place.wait(store.commit(life(refused, 10, &"x".repeat(10_000)))).unwrap_err();
    let file = state.store_file();
    assert_eq!(error.to_string(), format!("the disk is full: {} could not commit", file.display()));
    assert!((1..refused).all(|id| is_stored(&place, &store, id)));
    assert!(!is_stored(&place, &store, refused));

    place.wait(store.prune(Time(11), Vec::new())).unwrap();
    place.wait(store.commit(life(refused, 20, &"x".repeat(10_000)))).unwrap();
    assert!(is_stored(&place, &store, refused));
    drop((store, state));
    assert!(is_stored(&place, &place.open(), refused));
}

#[test]
fn of_a_group_that_does_not_fit_nobody_is_told_that_it_is_stored() {
    let place = Place::new();
    let state = StateDir::take(place.dir.path()).unwrap();
    let store = Store::open_with(&state, StoreOptions { max_pages: Some(200), ..StoreOptions::default() }).unwrap();
    let text = "x".repeat(10_000);
    let commits: Vec<_> = (1..=200).map(|id| store.commit(life(id, 10, &text))).collect();
    let answers: Vec<_> = commits.into_iter().map(|commit| place.wait(commit)).collect();
    assert!(answers.iter().any(Result::is_err), "200 of these cannot fit");
    for (id, answer) in (1..).zip(&answers) {
        assert_eq!(is_stored(&place, &store, id), answer.is_ok(), "turn {id}: {answer:?}");
    }
}

/// A small disk of its own, as far as this machine lets us have one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Option<SmallDisk> {
        std::fs::create_dir_all(at).unwrap();
        let options = format!("size={size},mode=0700");
        let tried = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "fleetd-test"]).arg(at).output();
        if tried.is_ok_and(|tried| tried.status.success()) {
            return Some(SmallDisk(at.into()));
        }
        assert!(!rustix::process::geteuid().is_root() || is_confined(), "root can mount a small disk");
        eprintln!("NOT RUN: a small disk can only be mounted by root; the page limit stands for it");
        None
    }

    /// Takes all room but so many bytes.
    fn leave(&self, bytes: u64) {
        let fs = rustix::fs::statvfs(&self.0).unwrap();
        let room = usize::try_from((fs.f_bavail * fs.f_frsize).saturating_sub(bytes)).unwrap();
        std::fs::write(self.0.join("ballast"), vec![0_u8; room]).unwrap();
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().unwrap();
    }
}

/// Tells whether this is a root without the right to mount, as in most containers.
fn is_confined() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0").trim().to_owned();
    u64::from_str_radix(&effective, 16).unwrap_or(0) & SYS_ADMIN == 0
}

#[test]
fn a_disk_that_is_really_full_loses_nothing_that_was_accepted() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.dir.path().join("disk"), "8m") else { return };
    let dir = disk.0.join("state");
    let store = Store::open(&StateDir::take(&dir).unwrap()).unwrap();
    place.wait(store.commit(life(1, 10, "text"))).unwrap();
    disk.leave(1 << 20);
    let refused = fill(&place, &store, 2);
    assert!(refused > 10, "only {refused} fitted");
    for _ in 0..5 {
        assert!(matches!(
            place.wait(store.commit(life(refused, 10, &"x".repeat(200_000)))),
            Err(JournalError::Full(_))
        ));
    }
    assert!((1..refused).all(|id| is_stored(&place, &store, id)));
    assert!(!is_stored(&place, &store, refused));
    disk.make_room();
    place.wait(store.commit(life(refused, 10, "text"))).unwrap();
    drop(store);
    let store = Store::open(&StateDir::take(&dir).unwrap()).unwrap();
    assert!((1..=refused).all(|id| is_stored(&place, &store, id)));
    assert_eq!(place.wait(store.load()).unwrap().next, refused + 1);
}

#[test]
fn a_start_on_a_full_disk_says_that_it_is_full() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.dir.path().join("disk"), "1m") else { return };
    disk.leave(0);
    let dir = disk.0.join("state");
    let opened = StateDir::take(&dir).and_then(|state| Store::open(&state));
    let refused = opened.err().expect("there is no room");
    assert!(matches!(refused, StoreError::Full { .. }), "{refused:?}");
    assert!(refused.to_string().starts_with("the disk is full: "), "{refused}");
    disk.make_room();
    Store::open(&StateDir::take(&dir).unwrap()).unwrap();
}
