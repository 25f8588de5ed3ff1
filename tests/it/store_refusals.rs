//! What the store refuses to open, with the words a person reads; and the older file that it brings up to date.
//! After each refusal the file must lie there as it was found.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;

use fleetd::engine::ports::{Journal, JournalError};
use fleetd::fleet::ids::TurnId;
use fleetd::fleet::record::Record;
use fleetd::fleet::turn::TurnState;
use fleetd::store::{Holder, StateDir, Store, StoreError, StoreOptions};
use rusqlite::Connection;

use crate::store_rows::{Place, life, turn};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Returns the refusal of a store whose file has this content, and checks that the file stays as it is.
fn refused_with(content: &[u8]) -> (Place, StoreError) {
    let place = Place::new();
    fs::write(place.file(), content).unwrap();
    let refused = place.try_open().err().expect("such a file is refused");
    assert_eq!(fs::read(place.file()).unwrap(), content, "the file is left as it was found");
    (place, refused)
}

#[test]
fn a_new_state_directory_is_private_down_to_its_files() {
    let place = Place::new();
    let dir = place.dir.path().join("a/b/state");
    let state = StateDir::take(&dir).unwrap();
    let store = fleetd::store::Store::open(&state).unwrap();
    place.wait(store.commit(life(1, 10, "text"))).unwrap();
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&state.turns()), 0o700);
    for file in ["fleet.db", "fleet.db-wal", "fleet.db-shm", "lock"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_second_daemon_is_refused_with_the_pid_and_address_of_the_first() {
    let place = Place::new();
    let state = StateDir::take(place.dir.path()).unwrap();
    let me = i32::try_from(std::process::id()).unwrap();
    let dir = place.dir.path().display();
    let refused = StateDir::take(place.dir.path()).unwrap_err();
    assert_eq!(refused.to_string(), format!("state directory {dir} is in use by the daemon with pid {me}"));
    assert!(refused.hint().contains(&format!("kill {me}")), "{}", refused.hint());

    state.announce("127.0.0.1:7717").unwrap();
    let refused = StateDir::take(place.dir.path()).unwrap_err();
    let says = format!("state directory {dir} is in use by the daemon with pid {me}, which listens on 127.0.0.1:7717");
    assert_eq!(refused.to_string(), says);
    let holder = StateDir::holder(place.dir.path()).unwrap();
    assert_eq!((holder.pid, holder.listen.as_deref()), (me, Some("127.0.0.1:7717")));
    assert_eq!(holder.start.is_some(), Path::new("/proc/self/stat").exists());
    let told = place.dir.path().join("daemon.json");
    let text = fs::read_to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder);
    assert_eq!(mode(&told), 0o600);

    drop(state);
    assert!(!told.exists());
    assert_eq!(StateDir::holder(place.dir.path()), None, "nobody is named once it is free");
    StateDir::take(place.dir.path()).unwrap();
}

#[test]
fn the_store_keeps_the_directory_locked_as_long_as_it_lives() {
    let place = Place::new();
    let store = place.open();
    assert!(matches!(place.try_open(), Err(StoreError::Held { .. })));
    drop(store);
    place.open();
}

#[test]
fn a_directory_whose_lock_file_was_removed_is_still_locked() {
    let place = Place::new();
    let store = place.open();
    fs::remove_file(place.dir.path().join("lock")).unwrap();
    let refused = place.try_open().err().expect("two daemons would hand out every turn twice");
    assert!(matches!(refused, StoreError::Held { .. }), "{refused}");
    drop(store);
    place.open();
}

#[test]
fn what_a_killed_daemon_was_about_to_start_may_have_the_lock_for_a_moment() {
    let place = Place::new();
    let dead = Holder { pid: i32::MAX, start: Some(1), listen: None };
    fs::write(place.dir.path().join("lock"), serde_json::to_string(&dead).unwrap()).unwrap();
    let dir = fs::File::open(place.dir.path()).unwrap();
    rustix::fs::flock(&dir, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let (_open, never) = std::sync::mpsc::channel::<()>();
    let child = std::thread::spawn(move || {
        let _ = never.recv_timeout(std::time::Duration::from_millis(100));
        drop(dir);
    });
    place.open();
    child.join().unwrap();
}

#[test]
fn a_lock_file_of_a_dead_daemon_is_no_lock() {
    let place = Place::new();
    let left = Holder { pid: 1, start: Some(1), listen: Some("127.0.0.1:1".into()) };
    for file in ["lock", "daemon.json"] {
        fs::write(place.dir.path().join(file), serde_json::to_string(&left).unwrap()).unwrap();
    }
    let _store = place.open();
    assert!(!place.dir.path().join("daemon.json").exists(), "nobody is sent to a dead daemon's address");
}

#[test]
fn a_file_where_the_directory_should_be_is_named() {
    let place = Place::new();
    let file = place.dir.path().join("state");
    fs::write(&file, "").unwrap();
    let refused = StateDir::take(&file).unwrap_err();
    let says = format!("state directory {} cannot be written: it is a file and not a directory", file.display());
    assert_eq!(refused.to_string(), says);
    assert_eq!(refused.hint(), "name a directory that this user can write with --state DIR, or set XDG_STATE_HOME");
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_the_reason() {
    let refused = StateDir::take(Path::new("/dev/null/state")).unwrap_err();
    assert_eq!(refused.to_string(), "state directory /dev/null/state cannot be written: not a directory");
}

#[test]
fn an_open_directory_is_closed_when_it_is_empty_and_refused_when_it_holds_other_things() {
    let place = Place::new();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place.dir.path(), open.clone()).unwrap();
    drop(place.open());
    assert_eq!(mode(place.dir.path()), 0o700);
    fs::set_permissions(place.dir.path(), open.clone()).unwrap();
    drop(place.open());
    assert_eq!(mode(place.dir.path()), 0o700, "what lies there is ours");

    fs::write(place.dir.path().join("thesis.odt"), "").unwrap();
    fs::set_permissions(place.dir.path(), open).unwrap();
    let refused = place.try_open().err().unwrap();
    let dir = place.dir.path().display();
    let says = format!("state directory {dir} holds other files and is open to other users (mode 0755)");
    assert_eq!(refused.to_string(), says);
    assert_eq!(mode(place.dir.path()), 0o755, "a directory named by mistake is left alone");
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let place = Place::new();
    if chown(place.dir.path(), Some(65_534), None).is_err() {
        // Only root can give a directory away; others see the same check with a directory of root.
        let refused = StateDir::take(Path::new("/")).unwrap_err();
        assert!(matches!(refused, StoreError::OtherOwner { owner: 0, .. }), "{refused}");
        return;
    }
    let refused = place.try_open().err().unwrap();
    let dir = place.dir.path().display();
    assert_eq!(refused.to_string(), format!("state directory {dir} belongs to uid 65534, and this is uid 0"));
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
    let (place, refused) = refused_with(b"my notes, which I keep here");
    let file = place.file();
    assert_eq!(
        refused.to_string(),
        format!("{} is not a fleetd store: it does not begin as an SQLite file does", file.display())
    );
    assert!(refused.hint().contains("move it aside"), "{}", refused.hint());
    refused_with(b"x");
}

#[test]
fn the_moves_that_the_hint_names_do_what_it_says() {
    let (place, refused) = refused_with(b"my notes");
    let hint = refused.hint();
    let (_, command) = hint.split_once("companions: ").unwrap();
    assert!(
        std::process::Command::new("sh").args(["-ec", command]).status().unwrap().success() || !place.file().exists()
    );
    place.open();
    let aside = place.dir.path().join("fleet.db.aside");
    assert_eq!(fs::read(aside).unwrap(), b"my notes");
}

#[test]
fn a_database_of_another_program_is_refused_and_kept() {
    let other = Place::new();
    Connection::open(other.file()).unwrap().execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    let (_place, refused) = refused_with(&fs::read(other.file()).unwrap());
    assert!(refused.to_string().ends_with("is not a fleetd store: it is an SQLite file of another program"));
}

#[test]
fn a_store_of_a_newer_fleetd_is_refused_and_kept() {
    let newer = Place::new();
    drop(newer.open());
    Connection::open(newer.file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let (place, refused) = refused_with(&fs::read(newer.file()).unwrap());
    let file = place.file();
    let says =
        format!("{} was written by a newer fleetd: its schema is version 99, this one knows up to 6", file.display());
    assert_eq!(refused.to_string(), says);
}

#[test]
fn a_damaged_store_is_refused_and_kept() {
    let good = Place::new();
    let store = good.open();
    for id in 1..=300 {
        good.wait(store.commit(life(id, 10, &"text ".repeat(50)))).unwrap();
    }
    drop(store);
    let whole = fs::read(good.file()).unwrap();
    assert!(whole.len() > 100 * 4096, "large enough to damage in the middle");

    let mut torn = whole.clone();
    let middle = whole.len() / 2 / 4096 * 4096;
    torn[middle..middle + 4096].fill(0xa5);
    let (place, refused) = refused_with(&torn);
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert!(refused.to_string().starts_with(&format!("{} is damaged: ", place.file().display())));
    assert!(refused.hint().contains("move it aside"));

    let (_place, refused) = refused_with(&whole[..whole.len() / 2]);
    assert!(matches!(refused, StoreError::Damaged { .. }), "cut in half: {refused}");
}

#[test]
fn a_large_store_is_opened_at_once_and_takes_nothing_once_damage_is_found() {
    let place = Place::new();
    let store = place.open();
    for id in 1..=300 {
        place.wait(store.commit(life(id, 10, &"text ".repeat(50)))).unwrap();
    }
    drop(store);
    let whole = fs::read(place.file()).unwrap();
    let large = StoreOptions { checked_first: Some(0), ..StoreOptions::default() };
    let open = || Store::open_with(&StateDir::take(place.dir.path()).unwrap(), large).unwrap();
    let store = open();
    place.wait(store.commit(life(301, 10, "text"))).unwrap();
    drop(store);

    let mut torn = whole;
    let middle = torn.len() / 2 / 4096 * 4096;
    torn[middle..middle + 4096].fill(0xa5);
    fs::write(place.file(), &torn).unwrap();
    let store = open();
    let says = format!("the store {} is damaged: ", place.file().display());
    let mut refused = (302..).filter_map(|id| place.wait(store.commit(life(id, 10, "text"))).err());
    assert!(refused.any(|error| matches!(error, JournalError::Failed(why) if why.starts_with(&says))));
    drop(store);
    // One that is dropped at once waits for no check.
    drop(open());
}

#[test]
fn a_store_that_is_a_directory_is_unreadable() {
    let place = Place::new();
    fs::create_dir(place.file()).unwrap();
    let refused = place.try_open().err().unwrap();
    assert_eq!(refused.to_string(), format!("{} cannot be opened: is a directory", place.file().display()));
}

#[test]
fn a_row_of_another_form_is_named_and_stops_nothing_else() {
    let place = Place::new();
    let store = place.open();
    place.wait(store.commit(life(1, 10, "text"))).unwrap();
    let by_hand = Connection::open(place.file()).unwrap();
    by_hand.execute("INSERT INTO turns VALUES (5, 'queued', 1, 5, '{\"id\":5}')", []).unwrap();
    let Err(JournalError::Failed(why)) = place.wait(store.load()) else { panic!("such a row cannot be loaded") };
    assert!(why.contains("could not load: row 5 of turns has another form: "), "{why}");
    assert!(place.wait(store.prompt(TurnId(1))).unwrap().is_some());
    place.wait(store.commit(life(2, 10, "text"))).unwrap();
}

#[test]
fn a_store_of_version_1_is_brought_up_to_date_with_all_it_holds() {
    let place = Place::new();
    let by_hand = Connection::open(place.file()).unwrap();
    by_hand.execute_batch(include_str!("store_v1.sql")).unwrap();
    drop(by_hand);
    let store = place.open();
    let saved = place.wait(store.load()).unwrap();
    assert_eq!((saved.next, saved.generation), (9, 2));
    assert_eq!(saved.turns.iter().map(|turn| turn.id).collect::<Vec<_>>(), [TurnId(7)]);
    assert_eq!(place.wait(store.prompt(TurnId(7))).unwrap().as_deref(), Some("hello"));
    assert_eq!(place.wait(store.events(TurnId(7))).unwrap()[0].what, "accepted");
    place.wait(store.commit(vec![Record::Turn(Arc::new(turn(7, TurnState::Settled, 20)))])).unwrap();
    drop(store);

    let by_hand = Connection::open(place.file()).unwrap();
    let number = |sql: &str| by_hand.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("PRAGMA user_version"), 6);
    assert_eq!(number("SELECT count(*) FROM sqlite_schema WHERE name = 'turns_open'"), 1);
    assert_eq!(
        number("SELECT count(*) FROM sqlite_schema WHERE name IN ('seat', 'drafts', 'sessions', 'budgets', 'paused')"),
        5
    );
    assert_eq!(number("SELECT count(*) FROM turns WHERE state = 'settled'"), 1);
}

#[test]
fn a_start_and_a_prune_do_not_walk_through_history() {
    let place = Place::new();
    drop(place.open());
    let by_hand = Connection::open(place.file()).unwrap();
    for (sql, index) in [
        ("SELECT row, id FROM turns WHERE state <> 'collected' ORDER BY id", "turns_open"),
        ("SELECT id FROM turns WHERE state = 'collected' AND at < 5 ORDER BY at LIMIT 5", "turns_old"),
        ("SELECT row FROM runs WHERE state <> 'collected' ORDER BY id", "runs_open"),
        ("SELECT row, seq FROM events WHERE turn = 5 ORDER BY seq", "events_of_turn"),
        ("SELECT 1 FROM turns WHERE prompt_of = 5 AND prompt_of <> id", "turns_retries"),
        ("SELECT 1 FROM runs WHERE runs.sources = 'x'", "runs_sources"),
    ] {
        let plan: String = by_hand.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [], |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{sql}: {plan}");
    }
}

#[test]
fn a_new_store_takes_over_no_files_of_an_older_ones_turns() {
    let place = Place::new();
    let dir = place.dir.path();
    let leave = |text: &str| {
        fs::create_dir_all(dir.join("turns/t1")).unwrap();
        fs::write(dir.join("turns/t1/exit"), text).unwrap();
    };
    let left = |name: &str| fs::read_to_string(dir.join(name).join("t1/exit")).ok();
    let afresh = || {
        for name in ["fleet.db", "fleet.db-wal", "fleet.db-shm"] {
            drop(fs::rename(dir.join(name), dir.join(format!("{name}.aside"))));
        }
    };
    drop(place.open());
    assert!(!dir.join("turns.old-1").exists(), "there was nothing to move");
    leave("first");
    drop(place.open());
    assert_eq!(left("turns").as_deref(), Some("first"), "a store that was there keeps its turns");
    afresh();
    drop(place.open());
    assert_eq!((left("turns"), left("turns.old-1").as_deref()), (None, Some("first")));
    assert_eq!(mode(&dir.join("turns")), 0o700);
    leave("second");
    afresh();
    // A daemon that was killed as soon as it had made the file.
    fs::write(place.file(), "").unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    drop(place.open());
    assert_eq!((left("turns"), left("turns.old-2").as_deref()), (None, Some("second")));
    assert_eq!(left("turns.old-1").as_deref(), Some("first"));
}
