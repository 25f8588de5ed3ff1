//! Every way in which programs save files: the next decision goes by what was saved, whatever way it came there.
//!
//! Here the poll is as good as off, so that only the system's hints count, but for the one test without any. Each save
//! carries a number, which the rubric tells: so what is in force can be seen from outside.

use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fleetd::engine::ports::Policy;

use super::fake::{FakeJournal, House, PATIENCE, free};
use super::{task, write};

const NEVER: Duration = Duration::from_secs(3600);

/// A charter in force, its directory, and the house around both.
struct Desk {
    dir: tempfile::TempDir,
    charter: PathBuf,
    house: House,
}

/// Returns the text of the only file, by its number.
fn text(number: u32) -> String {
    format!(
        "fleet.profile('p', {{ launcher = 'exec', command = {{ 'cat' }} }})\n\
         fleet.role('w', {{ profiles = {{ 'p' }} }})\n\
         fleet.route('the only one', function() return {{ role = 'w', because = 'save {number}' }} end)\n"
    )
}

impl Desk {
    async fn new() -> Desk {
        Desk::at("charter", true, NEVER, |_| ()).await
    }

    async fn at(charter: &str, hints: bool, poll: Duration, before: impl FnOnce(&Path)) -> Desk {
        let dir = tempfile::tempdir().unwrap();
        before(dir.path());
        let (charter, state) = (dir.path().join(charter), dir.path().join("state"));
        fs::create_dir_all(&charter).unwrap();
        fs::create_dir_all(&state).unwrap();
        fs::write(charter.join("team.lua"), text(0)).unwrap();
        let mut house = House::open_with(charter.clone(), state, FakeJournal::default(), None, hints, poll).await;
        house.team().await;
        Desk { dir, charter, house }
    }

    fn file(&self) -> PathBuf {
        self.charter.join("team.lua")
    }

    async fn in_force(&self) -> String {
        self.house.charter.route(task(None), free(&["w"])).await.expect("a rubric answers").because
    }

    /// Waits until a save is in force, and only for that.
    async fn sees(&mut self, number: u32) {
        let wanted = format!("save {number}");
        let seen = async {
            while self.in_force().await != wanted {
                self.house.team().await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect("the save was not noticed");
        let status = self.house.charter.status();
        assert_eq!((status.error, status.last_good), (None, false));
    }

    /// Waits until the newest files are refused, and returns why.
    async fn refused(&self) -> String {
        let told = async {
            loop {
                if let Some(error) = self.house.charter.status().error {
                    return error;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("nothing was refused")
    }

    fn generation(&self) -> u64 {
        self.house.charter.status().generation.number
    }
}

#[tokio::test]
async fn vim_renames_the_old_file_away_and_writes_a_new_one() {
    let mut desk = Desk::new().await;
    for number in 1..=3 {
        let (file, backup, probe) = (desk.file(), desk.charter.join("team.lua~"), desk.charter.join("4913"));
        fs::write(&probe, "").unwrap();
        fs::remove_file(&probe).unwrap();
        fs::rename(&file, &backup).unwrap();
        let mut new = fs::File::create(&file).unwrap();
        new.write_all(text(number).as_bytes()).unwrap();
        new.sync_all().unwrap();
        fs::remove_file(backup).unwrap();
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn vim_with_a_backup_copy_writes_in_place() {
    let mut desk = Desk::new().await;
    for number in 1..=3 {
        fs::copy(desk.file(), desk.charter.join("team.lua~")).unwrap();
        fs::write(desk.file(), text(number)).unwrap();
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn vs_code_truncates_and_writes_and_others_rename_a_new_file_over_the_old_one() {
    let mut desk = Desk::new().await;
    fs::File::create(desk.file()).unwrap();
    fs::write(desk.file(), text(1)).unwrap();
    desk.sees(1).await;
    for number in 2..=4 {
        write(&desk.charter, "team.lua", &text(number));
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn sed_edits_in_place() {
    let mut desk = Desk::new().await;
    for number in 1..=3 {
        let script = format!("s/save [0-9]*/save {number}/");
        let done = Command::new("sed").args(["-i", &script]).arg(desk.file()).status().unwrap();
        assert!(done.success());
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn a_checkout_of_twenty_files_comes_into_force_as_a_whole() {
    let mut desk = Desk::new().await;
    let charter = desk.charter.clone();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&charter).args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "init.defaultBranch=main",
        ]);
        git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &charter).args(args);
        let done = git.output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    // Half of one commit and half of the other do not fit together: each file asks for the word of its own commit.
    let files = |number: u32| {
        for n in 0..19 {
            let module = format!("return '{number}'");
            write(&charter, &format!("lib/m{n}.lua"), &module);
        }
        let check = (0..19).map(|n| format!("assert(require('lib.m{n}') == '{number}')\n")).collect::<String>();
        write(&charter, "team.lua", &format!("{}{check}", text(number)));
    };
    git(&["init", "-q"]);
    for number in 1..=2 {
        files(number);
        git(&["add", "."]);
        git(&["commit", "-qm", "x"]);
        git(&["branch", &format!("b{number}")]);
    }
    desk.sees(2).await;
    for number in [1, 2, 1] {
        git(&["checkout", "-q", &format!("b{number}")]);
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn a_directory_that_is_removed_and_made_again_is_heard_of() {
    let mut desk = Desk::new().await;
    for number in 1..=3 {
        fs::remove_dir_all(&desk.charter).unwrap();
        fs::create_dir(&desk.charter).unwrap();
        fs::write(desk.file(), text(number)).unwrap();
        desk.sees(number).await;
    }
    let next = desk.dir.path().join("next");
    fs::create_dir(&next).unwrap();
    fs::write(next.join("team.lua"), text(4)).unwrap();
    fs::rename(&desk.charter, desk.dir.path().join("old")).unwrap();
    fs::rename(next, &desk.charter).unwrap();
    desk.sees(4).await;
}

/// Lays out releases `1` and `2` with a link `now` to the first one.
fn releases(dir: &Path) {
    for number in 1..=2_u32 {
        let charter = dir.join(format!("releases/{number}/charter"));
        fs::create_dir_all(&charter).unwrap();
        fs::write(charter.join("team.lua"), text(number)).unwrap();
    }
    symlink(dir.join("releases/1"), dir.join("now")).unwrap();
}

fn switch(link: &Path, to: &Path) {
    let beside = link.with_file_name(".switching");
    symlink(to, &beside).unwrap();
    fs::rename(beside, link).unwrap();
}

#[tokio::test]
async fn a_link_above_the_charter_that_is_switched_is_heard_of() {
    let mut desk = Desk::at("now/charter", true, NEVER, releases).await;
    let (now, releases) = (desk.dir.path().join("now"), desk.dir.path().join("releases"));
    switch(&now, &releases.join("2"));
    desk.sees(2).await;
    fs::write(releases.join("2/charter/team.lua"), text(3)).unwrap();
    desk.sees(3).await;
    switch(&now, &releases.join("1"));
    desk.sees(0).await;
}

#[tokio::test]
async fn a_charter_that_is_itself_a_link_is_heard_of_when_it_is_switched() {
    let link = |dir: &Path| {
        releases(dir);
        symlink(dir.join("releases/1/charter"), dir.join("charter")).unwrap();
    };
    let mut desk = Desk::at("charter", true, NEVER, link).await;
    for (release, number) in [(2, 2), (1, 0)] {
        switch(&desk.charter, &desk.dir.path().join(format!("releases/{release}/charter")));
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn links_of_a_config_map_are_switched_inside_of_the_directory() {
    let mut desk = Desk::new().await;
    for number in 1..=3 {
        let data = desk.charter.join(format!("..data-{number}"));
        fs::create_dir(&data).unwrap();
        fs::write(data.join("team.lua"), text(number)).unwrap();
        switch(&desk.charter.join("..data"), &data);
        if number == 1 {
            switch(&desk.file(), &desk.charter.join("..data/team.lua"));
        }
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn without_any_hint_the_poll_sees_it() {
    let mut desk = Desk::at("charter", false, Duration::from_millis(50), |_| ()).await;
    for number in 1..=3 {
        fs::write(desk.file(), text(number)).unwrap();
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn a_touch_is_nothing_and_an_undo_is_what_it_was() {
    let mut desk = Desk::new().await;
    fs::write(desk.file(), text(0)).unwrap();
    fs::write(desk.charter.join("notes.txt"), "x").unwrap();
    desk.house.charter.reload().await.unwrap();
    assert_eq!(desk.generation(), 1);
    fs::write(desk.file(), text(1)).unwrap();
    desk.sees(1).await;
    assert_eq!(desk.generation(), 2);
    fs::write(desk.file(), text(0)).unwrap();
    desk.sees(0).await;
    assert_eq!(desk.generation(), 3, "other files than before, so another number");

    // A refused save that is taken back leaves no trace but in the count.
    fs::write(desk.file(), "fleet.\n").unwrap();
    desk.refused().await;
    fs::write(desk.file(), text(0)).unwrap();
    desk.house.charter.reload().await.unwrap();
    let status = desk.house.charter.status();
    assert_eq!((status.generation.number, status.error, status.rejected), (3, None, 1));
    assert!(status.refused_change.is_empty());
}

#[tokio::test]
async fn a_half_written_file_is_never_in_force() {
    let mut desk = Desk::new().await;
    let whole = text(1);
    let mut file = fs::File::create(desk.file()).unwrap();
    file.write_all(&whole.as_bytes()[..whole.len() / 2]).unwrap();
    let why = desk.refused().await;
    assert!(why.starts_with("team.lua:"), "{why}");
    assert_eq!(desk.in_force().await, "save 0");
    file.write_all(&whole.as_bytes()[whole.len() / 2..]).unwrap();
    drop(file);
    desk.sees(1).await;
    assert_eq!(desk.generation(), 2);
}

#[tokio::test]
async fn an_emptied_file_is_half_of_a_save_and_takes_no_role_away() {
    let mut desk = Desk::new().await;
    fs::File::create(desk.file()).unwrap();
    let why = desk.refused().await;
    assert_eq!(why, "team.lua: this file is empty, as in the middle of a save; remove it if it is not needed");
    assert_eq!(desk.in_force().await, "save 0");
    fs::write(desk.file(), text(1)).unwrap();
    desk.sees(1).await;
}

#[tokio::test]
async fn a_hundred_saves_in_a_second_end_in_the_last_one_and_cost_few_loads() {
    let mut desk = Desk::new().await;
    let mut every = tokio::time::interval(Duration::from_millis(10));
    for number in 1..=100 {
        every.tick().await;
        write(&desk.charter, "team.lua", &text(number));
    }
    desk.sees(100).await;
    let status = desk.house.charter.status();
    assert!(status.generation.number <= 12, "{} loads", status.generation.number - 1);
    assert_eq!(status.rejected, 0);
}

#[tokio::test]
async fn one_mistake_beside_ten_good_files_is_named_and_changes_nothing() {
    let mut desk = Desk::new().await;
    write(&desk.charter, "team.lua", &text(1));
    for n in 0..10 {
        let recipe = format!("fleet.recipe('r{n}', {{}}, function() return {n} end)\n");
        write(&desk.charter, &format!("recipes/r{n}.lua"), &recipe);
    }
    write(&desk.charter, "recipes/r10.lua", "fleet.recipe('r10', {}, function()\n  return 1 +\nend)\n");
    let why = desk.refused().await;
    assert!(why.starts_with("recipes/r10.lua:3: ") && why.matches(".lua").count() == 1, "{why}");
    assert_eq!(desk.in_force().await, "save 0");
    assert!(desk.house.charter.team().recipes.is_empty());
    let status = desk.house.charter.status();
    let told: Vec<&str> = status.refused_change.iter().map(|change| change.words.as_str()).collect();
    assert_eq!(told.len(), 12, "{told:?}");
    assert!(told.contains(&"recipes/r10.lua is new, with 3 lines") && told.contains(&"team.lua: line 3 differs"));
    write(&desk.charter, "recipes/r10.lua", "fleet.recipe('r10', {}, function() return 10 end)\n");
    desk.sees(1).await;
    assert_eq!(desk.house.charter.team().recipes.len(), 11);
}

/// What is made in the place of a file, and what is said of it.
type Fault<'a> = (&'a dyn Fn(&Path), &'a str);

#[tokio::test]
async fn what_cannot_be_read_is_named_and_changes_nothing() {
    let mut desk = Desk::new().await;
    let odd = desk.charter.join("odd.lua");
    let fifo = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let path = CString::new(path.to_str().unwrap()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path.as_c_str(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    // Whoever is root may read everything; this file gives nothing to anybody at its beginning.
    let unreadable = |path: &Path| symlink("/proc/self/mem", path).unwrap();
    let nowhere = |path: &Path| symlink("/nowhere/at/all.lua", path).unwrap();
    let itself = |path: &Path| symlink(path, path).unwrap();
    let faults: [Fault; 4] = [
        (&fifo, "odd.lua: this is not a regular file"),
        (&unreadable, "odd.lua: cannot read it: "),
        (&nowhere, "odd.lua: this link leads nowhere: No such file"),
        (&itself, "odd.lua: this link leads nowhere: Too many levels"),
    ];
    for (number, (make, said)) in (1..).zip(faults) {
        make(&odd);
        let why = desk.refused().await;
        assert!(why.starts_with(said), "{why}");
        assert_eq!(desk.in_force().await, format!("save {}", number - 1));
        fs::remove_file(&odd).unwrap();
        fs::write(desk.file(), text(number)).unwrap();
        desk.sees(number).await;
    }
}

#[tokio::test]
async fn a_load_says_in_words_what_it_changed_and_the_files_what_they_would() {
    let mut desk = Desk::new().await;
    assert!(desk.house.charter.difference(None).await.changes.is_empty());
    let capped = text(1).replace("profiles = { 'p' }", "profiles = { 'p' }, max_busy = 6");
    fs::write(desk.file(), &capped).unwrap();
    desk.sees(1).await;
    let words = |changes: &[fleetd::fleet::difference::Change]| {
        changes.iter().map(|change| change.words.clone()).collect::<Vec<_>>()
    };
    let told = ["role 'w': max_busy 1 → 6", "team.lua: lines 2 to 3 differ"];
    assert_eq!(words(&desk.house.charter.status().last_change), told);

    // A save whose test fails is refused, and what it would change is told at every door.
    let test = "fleet.test('t', function(t) t.ok(false, 'never') end)\n";
    fs::write(desk.file(), format!("{}{test}", capped.replace("max_busy = 6", "max_busy = 3"))).unwrap();
    desk.refused().await;
    let told = [
        "role 'w': max_busy 6 → 3; what is busy goes on, and nothing more starts before fewer than 3 are",
        "team.lua: lines 2 to 4 differ",
    ];
    let status = desk.house.charter.status();
    assert_eq!(words(&status.refused_change), told);
    let difference = desk.house.charter.difference(None).await;
    assert_eq!(words(&difference.changes), told.map(String::from).to_vec());
    assert!(difference.error.is_some_and(|error| error.starts_with("team.lua:4: test 't' failed: never")));
    assert_eq!(desk.house.charter.status(), status, "to ask is without effect");
}

#[tokio::test]
async fn files_that_stay_refused_are_told_to_the_leader_once() {
    use fleetd::charter::Upward;
    let mut desk = Desk::at("charter", true, Duration::from_millis(50), |_| ()).await;
    let mut notices = Vec::new();
    for broken in ["fleet.recpie()\n", "fleet.rolle()\n"] {
        fs::write(desk.file(), broken).unwrap();
        loop {
            if let Upward::Notice(text) = desk.house.next().await {
                notices.push(text);
                break;
            }
        }
    }
    let begin = "the charter's newest files were not taken, the ones before stay in force: team.lua:1: no `r";
    assert!(notices.iter().all(|notice| notice.starts_with(begin)), "{notices:?}");
    fs::write(desk.file(), text(1)).unwrap();
    loop {
        match desk.house.next().await {
            Upward::Notice(text) => panic!("it was told already: {text}"),
            Upward::Team(team) if team.generation.number == 2 => return,
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_half_of_a_slow_checkout_comes_into_force() {
    const FILES: u32 = 100;
    let mut desk = Desk::new().await;
    let save = |name: &str, n: u32| {
        let role = format!("fleet.role('{name}{n}', {{ profiles = {{ 'p' }} }})\n");
        write(&desk.charter, &format!("r{n}.lua"), &role);
    };
    (0..FILES).for_each(|n| save("a", n));
    while desk.house.team().await.roles.len() <= FILES as usize {}
    // Too fast for a quiet moment, and too slow for the second after which nobody waits for one.
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let (mut last, mut was_quiet) = (Instant::now(), false);
    for n in 0..FILES {
        pace.tick().await;
        was_quiet |= last.elapsed() > Duration::from_millis(90);
        last = Instant::now();
        save("b", n);
    }
    // A machine that stood still made a quiet moment, and what lay there then counts.
    loop {
        let team = desk.house.team().await;
        let saved = team.roles.keys().filter(|role| role.as_str().starts_with('b')).count();
        if saved == FILES as usize {
            return;
        }
        assert!(was_quiet, "{saved} of {FILES} files came into force");
    }
}
