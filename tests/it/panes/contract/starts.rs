//! Starting a program in a pane, the refusals before it, and looking at its screen.
//! What is typed is in `input`, how a pane ends in `ends`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use fleetd::engine::panes::{PaneError, PaneStart};
use fleetd::process::ProcessId;

use super::{Rig, Stage, slot, until};

/// What `sh` sets by itself, and what a host must set for its terminal.
const USUAL: &[&str] = &["TERM=", "COLORTERM=", "PWD=", "OLDPWD=", "SHLVL=", "_="];

pub async fn a_program_gets_its_words_its_environment_and_its_directory<R: Rig>(stage: Stage<R>) {
    let dir = stage.file("a dir with ' and \"");
    std::fs::create_dir(&dir).unwrap();
    let script = "printf '%s\\0' \"$@\" > words; env -0 > env; pwd > pwd; tty > tty; echo done > done; exec cat";
    let words = ["a b", "$HOME;`x`", "", "--", "grüße\nzwei", "'", "\\"];
    let argv = ["sh", "-c", script, "name"].into_iter().chain(words).map(OsString::from).collect();
    let mut env = stage.env();
    env.insert("PLAIN".into(), "a value with = and ' and ü".into());
    env.insert("EMPTY".into(), "".into());
    env.insert("BYTES".into(), OsString::from_vec(b"no \xff utf-8".to_vec()));
    let start = PaneStart { slot: slot("1"), argv, env: env.clone(), cwd: dir.clone() };
    let pane = stage.host().start(start).await.unwrap();
    let read = |name: &str| std::fs::read(dir.join(name)).unwrap_or_default();
    until("the program ran", async || (read("done") == b"done\n").then_some(())).await;

    let wanted: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    assert_eq!(String::from_utf8_lossy(&read("words")), String::from_utf8_lossy(&wanted));
    assert_eq!(read("pwd"), [dir.as_os_str().as_encoded_bytes(), b"\n"].concat());
    assert!(read("tty").starts_with(b"/dev/"), "its standard input is a terminal");

    let got = read("env");
    let got: Vec<&[u8]> = got.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
    for (name, value) in &env {
        let entry = [name.as_encoded_bytes(), b"=", value.as_encoded_bytes()].concat();
        assert!(got.contains(&entry.as_slice()), "missing: {}", String::from_utf8_lossy(&entry));
    }
    let known = |entry: &&[u8]| {
        let begins = |name: &str| entry.starts_with(name.as_bytes());
        let given = env.keys().any(|name| entry.starts_with(&[name.as_encoded_bytes(), b"="].concat()));
        given || USUAL.iter().any(|name| begins(name)) || R::ADDS.iter().any(|name| begins(name))
    };
    let others: Vec<_> = got.iter().filter(|entry| !known(entry)).map(|e| String::from_utf8_lossy(e)).collect();
    assert!(others.is_empty(), "nobody gave these: {others:?}");

    let root = ProcessId::from(pane.root);
    assert!(root.is_alive(), "the root is the process that runs");
    assert!(fleetd::process::session_of(root.pid).contains(&root), "it leads the session of its terminal");
}

pub async fn a_pane_is_listed_under_its_workers_name<R: Rig>(stage: Stage<R>) {
    assert_eq!(stage.host().panes().await.unwrap(), []);
    let one = stage.sh("one", "exec cat").await;
    let two = stage.sh("two", "exec cat").await;
    let listed = stage.host().panes().await.unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for (pane, label) in [(&one, "w-one"), (&two, "w-two")] {
        let found = listed.iter().find(|listed| listed.pane == *pane);
        assert_eq!(found.and_then(|found| found.label.as_deref()), Some(label), "{listed:?}");
    }
}

pub async fn many_start_at_once_and_each_is_itself<R: Rig>(stage: Stage<R>) {
    let begun: Vec<_> =
        (0..6).map(|n| stage.host().start(stage.script(&n.to_string(), &format!("echo i am {n}; exec cat")))).collect();
    let mut panes = Vec::new();
    for start in begun.into_iter().map(tokio::spawn) {
        panes.push(start.await.unwrap().unwrap());
    }
    for (n, pane) in panes.iter().enumerate() {
        stage.shows(pane, &format!("i am {n}")).await;
    }
    panes.sort_by_key(|pane| pane.root.pid);
    panes.dedup_by_key(|pane| pane.root.pid);
    assert_eq!(panes.len(), 6);
}

pub async fn a_wrong_directory_is_refused_before_anything_is_left<R: Rig>(stage: Stage<R>) {
    std::fs::write(stage.file("a-file"), "").unwrap();
    for wrong in [stage.file("nowhere"), stage.file("a-file"), PathBuf::from("relative"), PathBuf::new()] {
        let start = PaneStart { cwd: wrong.clone(), ..stage.script("1", "echo ran > ran; exec cat") };
        refused(&stage, start, &wrong.display().to_string()).await;
    }
}

pub async fn a_wrong_program_is_refused_before_anything_is_left<R: Rig>(stage: Stage<R>) {
    let file = |name: &str, mode: u32| {
        std::fs::write(stage.file(name), "#!/bin/sh\necho ran > ran\n").unwrap();
        std::fs::set_permissions(stage.file(name), std::fs::Permissions::from_mode(mode)).unwrap();
        stage.file(name).into_os_string()
    };
    let nowhere = stage.file("nowhere").into_os_string();
    let wrong = [vec!["no-such-program".into()], vec![nowhere], vec![file("plain", 0o644)], vec![stage.dir().into()]];
    for argv in wrong {
        let program = argv[0].to_string_lossy().into_owned();
        refused(&stage, PaneStart { argv, ..stage.script("1", "") }, &program).await;
    }
    refused(&stage, PaneStart { argv: Vec::new(), ..stage.script("1", "") }, "").await;

    // What counts is the path of the pane, not that of the host.
    let mut start = stage.script("1", "echo ran > ran");
    start.env.insert("PATH".into(), stage.dir().into());
    refused(&stage, start, "sh").await;
    file("mine", 0o755);
    let mut start = stage.script("1", "");
    (start.argv, start.cwd) = (vec!["mine".into()], stage.dir().into());
    start.env.insert("PATH".into(), stage.dir().into());
    stage.host().start(start).await.unwrap();
    stage.gets("ran", b"ran\n").await;
}

pub async fn a_screen_is_shown_and_looking_changes_nothing<R: Rig>(stage: Stage<R>) {
    let print = r"printf '\033[2J\033[H\033[31mred\033[m   \r\n\r\n  in  \344\273\226 漢字 é |   \r\n';";
    let pane = stage.listener("1", print).await;
    let screen = stage.shows(&pane, "ready").await;
    assert_eq!(screen.lines[0], "red", "without colours and trailing blanks");
    assert_eq!(screen.lines[1], "");
    assert_eq!(screen.lines[2], "  in  他 漢字 é |");
    assert_eq!(screen.lines[3], "ready");
    for _ in 0..20 {
        assert_eq!(stage.host().screen(pane.clone()).await.unwrap(), screen);
    }
    stage.host().paste(pane.clone(), "end".into()).await.unwrap();
    stage.gets("typed", b"end").await;
}

pub async fn a_screen_follows_what_is_printed<R: Rig>(stage: Stage<R>) {
    let pane = stage.sh("1", "stty -echo; echo ready; while read line; do echo \"got $line\"; done").await;
    stage.shows(&pane, "ready").await;
    for word in ["one", "two", "three"] {
        stage.host().paste(pane.clone(), format!("{word}\n").into()).await.unwrap();
        stage.shows(&pane, &format!("got {word}")).await;
    }
}

/// Shows that a start is refused with a reason that names what is wrong, and that nothing of it is left.
async fn refused<R: Rig>(stage: &Stage<R>, start: PaneStart, names: &str) {
    let before = stage.host().panes().await.unwrap();
    let result = stage.host().start(start.clone()).await;
    let Err(PaneError::Refused(why)) = &result else { panic!("{:?}: {result:?}", start.argv) };
    assert!(why.contains(names), "'{why}' does not say {names}");
    assert_eq!(stage.host().panes().await.unwrap(), before);
    assert_eq!(stage.alive(), []);
    assert!(!stage.file("ran").exists() && !start.cwd.join("ran").exists());
}
