//! Programs that print what no program should, that do not read, and that are many: none of them may cost the server
//! its memory, its time, or another pane.

use std::time::{Duration, Instant};

use fleetd::engine::panes::{Key, Pane, PaneError};
use fleetd::pane::talk::{Talk, TalkError};
use fleetd::pane::wire::{Ask, Bytes, Done, Size};
use fleetd::process::ProcessId;

use super::contract::{Rig, Stage, until};
use super::embedded::{EmbeddedRig, in_time, stage, view};

/// What the server may need at most, whatever is printed: our own code is not optimised in tests, and a screen is small.
const MOST_KIB: u64 = 80 * 1024;

/// How long fifty megabytes may take here: what the emulator does with them is not optimised in tests either.
const LONG: Duration = Duration::from_secs(300);

/// Returns a number of KiB that the kernel tells of a process.
fn memory(process: ProcessId, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Returns the processor time that a process has had.
fn processor_time(process: ProcessId) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Prints, then shows that the pane works, that another one does, and that the server has stayed small.
async fn prints(script: &str) {
    let stage = stage().await;
    let other = stage.sh("2", "stty raw -echo; printf ready; exec cat > other").await;
    stage.shows(&other, "ready").await;
    // What ends every sequence, then a screen as new.
    let after = r"printf '\030\033\\\033c\033[H\033[2Jdone'; stty raw -echo; exec cat > typed";
    let pane = stage.sh("1", &format!("{script}; {after}")).await;
    stage.shows_within(&pane, "done", LONG).await;
    let most = memory(stage.rig.server(), "VmHWM");
    assert!(most < MOST_KIB, "{most} KiB");
    stage.host().paste(pane, "still here".into()).await.unwrap();
    stage.host().paste(other, "here too".into()).await.unwrap();
    // What the terminal answered to questions of the program comes before it.
    until("the text", async || stage.bytes("typed").ends_with(b"still here").then_some(())).await;
    stage.gets("other", b"here too").await;
}

#[tokio::test]
async fn fifty_megabytes_without_pause() {
    let line = "x".repeat(150);
    prints(&format!("yes {line} | head -c 52428800")).await;
}

#[tokio::test]
async fn noise_of_every_byte() {
    prints("head -c 3000000 /dev/urandom").await;
}

#[tokio::test]
async fn a_command_to_the_terminal_that_never_ends() {
    prints(r"printf '\033]0;'; head -c 52428800 /dev/zero | tr '\0' a").await;
}

#[tokio::test]
async fn a_device_string_that_never_ends() {
    prints(r"printf '\033Pq'; head -c 52428800 /dev/zero | tr '\0' b").await;
}

#[tokio::test]
async fn a_sequence_of_a_million_numbers() {
    prints(r"printf '\033['; yes '9;' | head -c 2000000 | tr -d '\n'; printf 'm'").await;
}

#[tokio::test]
async fn text_that_is_none() {
    prints(r"yes $(printf '\377\376a\303\050\360\237\222') | head -c 2000000").await;
}

#[tokio::test]
async fn questions_to_the_terminal_without_reading_the_answers() {
    // Without echo: else the answers would be shown, too, and push everything else off the screen.
    prints(r"stty raw -echo; yes $(printf '\033[6n\033[c\033[5n') | head -c 2000000").await;
}

#[tokio::test]
async fn an_alternate_screen_is_left_as_it_was_entered() {
    let stage = stage().await;
    let script = r"echo before; printf '\033[?1049h\033[Hinside'; read line; printf '\033[?1049l'; echo after; cat";
    let pane = stage.sh("1", script).await;
    let screen = stage.shows(&pane, "inside").await;
    assert!(!screen.lines.iter().any(|line| line.contains("before")), "{screen:?}");
    stage.host().paste(pane.clone(), "\n".into()).await.unwrap();
    let screen = stage.shows(&pane, "after").await;
    assert!(screen.lines.iter().any(|line| line == "before"), "{screen:?}");
    assert!(!screen.lines.iter().any(|line| line.contains("inside")), "{screen:?}");
}

#[tokio::test]
async fn who_does_not_read_fills_his_own_queue_and_nobody_elses() {
    let stage = stage().await;
    let deaf = stage.sh("1", "stty raw -echo; printf ready; exec sleep 600").await;
    let other = stage.sh("2", "stty raw -echo; printf ready; exec cat > other").await;
    stage.shows(&deaf, "ready").await;
    stage.shows(&other, "ready").await;
    let text = "y".repeat(1_000_000);
    let mut refused = None;
    for _ in 0..10 {
        if let Err(error) = stage.host().paste(deaf.clone(), text.as_str().into()).await {
            refused = Some(error);
            break;
        }
    }
    assert!(matches!(refused, Some(PaneError::Unavailable(_))), "{refused:?}");
    stage.host().paste(other.clone(), "for the other".into()).await.unwrap();
    stage.gets("other", b"for the other").await;
    stage.host().press(other, vec![Key::Enter]).await.unwrap();
    stage.gets("other", b"for the other\r").await;
    stage.host().close(deaf).await.unwrap();
    let most = memory(stage.rig.server(), "VmHWM");
    assert!(most < MOST_KIB, "{most} KiB");
}

#[tokio::test]
async fn who_begins_to_read_late_gets_everything_in_its_order() {
    let stage = stage().await;
    let script = "stty raw -echo; printf ready; while ! test -e go; do sleep 0.02; done; exec cat > typed";
    let pane = stage.sh("1", script).await;
    stage.shows(&pane, "ready").await;
    let text: String = (0..60_000).map(|n| format!("{n} ")).collect();
    stage.host().paste(pane.clone(), text.as_str().into()).await.unwrap();
    stage.host().press(pane, vec![Key::Enter]).await.unwrap();
    std::fs::write(stage.file("go"), "").unwrap();
    stage.gets("typed", format!("{text}\r").as_bytes()).await;
}

#[tokio::test]
async fn many_that_print_without_pause_do_not_keep_a_key_from_its_program() {
    let stage = stage().await;
    let quiet = stage.listener("quiet", "").await;
    for n in 0..12 {
        stage.sh(&n.to_string(), "exec yes all work and no play").await;
    }
    // The measure is taken by the bench; here a key must get through at all, again and again.
    for n in 1..=20 {
        in_time(stage.host().press(quiet.clone(), vec![Key::Char('k')])).await.unwrap();
        stage.gets("typed", "k".repeat(n).as_bytes()).await;
    }
    let began = Instant::now();
    in_time(stage.host().screen(quiet)).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_watcher_who_types_without_pause_does_not_keep_others_from_printing() {
    let stage = stage().await;
    let deaf = stage.sh("1", "stty raw -echo; printf ready; exec cat > /dev/null").await;
    stage.shows(&deaf, "ready").await;
    let mut talk = watcher(&stage, &deaf, Size { rows: 24, columns: 80 });
    let typing = tokio::task::spawn_blocking(move || {
        let mut keys = 0;
        // Until the pane is closed. Every key asks for a moment in which nobody else prints.
        while talk.ask(Ask::Type(Bytes(b"k".to_vec()))).is_ok() {
            keys += 1;
        }
        keys
    });
    let other = stage.sh("2", "yes all work and no play | head -c 2000000; echo; echo done; exec cat").await;
    stage.shows(&other, "done").await;
    stage.host().close(deaf).await.unwrap();
    let keys = typing.await.unwrap();
    assert!(keys > 100, "{keys} keys");
}

#[tokio::test]
async fn an_idle_server_does_nothing() {
    let stage = stage().await;
    let mut panes = Vec::new();
    for n in 0..5 {
        let pane = stage.sh(&n.to_string(), "echo up; exec cat").await;
        stage.shows(&pane, "up").await;
        panes.push(pane);
    }
    let server = stage.rig.server();
    let before = processor_time(server);
    let idle = Instant::now();
    until("two seconds", async || (idle.elapsed() > Duration::from_secs(2)).then_some(())).await;
    let used = processor_time(server) - before;
    assert!(used <= Duration::from_millis(100), "{used:?} in two seconds of nothing");
}

#[tokio::test]
async fn a_storm_of_sizes_ends_with_the_last_one() {
    let stage = stage().await;
    // Asked each time, not by a trap: a shell whose trap is under way may miss the last signal of many.
    let script = "while :; do stty size > new; mv new size; echo some text that wraps; read -t 0.01 line; done";
    let argv = ["bash", "-c", script].map(std::ffi::OsString::from).to_vec();
    let start = fleetd::engine::panes::PaneStart { argv, ..stage.script("1", "") };
    let pane = stage.host().start(start).await.unwrap();
    let mut talk = watcher(&stage, &pane, Size { rows: 24, columns: 80 });
    for n in 0..400u16 {
        let size = Size { rows: 1 + n * 7 % 90, columns: 1 + n * 13 % 250 };
        talk.ask(Ask::Resize(size)).unwrap();
        while talk.next(Instant::now()).unwrap().is_some() {}
    }
    talk.ask(Ask::Resize(Size { rows: 33, columns: 77 })).unwrap();
    let tells = async |size: &str| until(size, async || (stage.bytes("size") == size.as_bytes()).then_some(())).await;
    tells("33 77\n").await;
    for wrong in [Size { rows: 0, columns: 0 }, Size { rows: u16::MAX, columns: u16::MAX }] {
        talk.ask(Ask::Resize(wrong)).unwrap();
    }
    let Done::Panes(panes) = talk.ask(Ask::Panes).unwrap() else { panic!("another answer") };
    assert!(panes[0].size.rows <= 300 && panes[0].size.columns <= 500, "{panes:?}");
    drop(talk);
    tells("40 120\n").await;
}

#[tokio::test]
async fn a_watcher_that_does_not_read_costs_nobody_anything() {
    let stage = stage().await;
    let pane = stage.sh("1", "exec yes all work and no play").await;
    let quiet = stage.listener("quiet", "").await;
    let _deaf = watcher(&stage, &pane, Size { rows: 50, columns: 200 });
    let server = stage.rig.server();
    let began = Instant::now();
    until("some frames", async || (began.elapsed() > Duration::from_secs(1)).then_some(())).await;
    in_time(stage.host().press(quiet, vec![Key::Char('k')])).await.unwrap();
    stage.gets("typed", b"k").await;
    assert!(memory(server, "VmHWM") < MOST_KIB);
}

#[tokio::test]
async fn wrong_requests_cost_a_client_nothing_or_its_connection() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    let stage = stage().await;
    let pane = stage.sh("1", "echo up; exec cat").await;
    stage.shows(&pane, "up").await;
    let place = fleetd::pane::wire::Place::open(stage.rig.state()).unwrap();
    let open = || {
        let mut stream = UnixStream::connect(place.short("panes.sock")).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with(r#"{"hello":{"protocol":1,"#), "{line}");
        move |text: &[u8]| {
            let _ = stream.write_all(text);
            let mut line = String::new();
            let _ = reader.read_line(&mut line);
            line
        }
    };
    let mut say = open();
    for wrong in [&br#"{"id":7,"ask":{"fly":{}}}"#[..], br#"{"id":7,"ask":{"paste":{}}}"#, br#"{"id":7}"#] {
        let line = say(&[wrong, b"\n"].concat());
        assert!(line.starts_with(r#"{"answer":{"id":7,"came":{"not":{"how":"refused""#), "{line}");
    }
    let line = say(b"\xff\xfe no json\n");
    assert!(line.contains("refused"), "{line}");
    assert!(say(b"{\"id\":8,\"ask\":\"panes\"}\n").contains("w-1"));
    // A line without end, as long as one may be and more.
    let mut endless = open();
    assert_eq!(endless(&vec![b'x'; (8 << 20) + 70_000]), "", "the connection is ended");
    stage.shows(&pane, "up").await;

    // Who does not watch has no size and types nothing.
    let mut talk = stage.rig.talk();
    for ask in [Ask::Type(Bytes(b"x".to_vec())), Ask::Resize(Size { rows: 9, columns: 99 })] {
        assert!(matches!(talk.ask(ask), Err(TalkError::Not { .. })));
    }
    assert_eq!(view(&mut talk, &pane, 0).columns, 120);
}

/// Returns a client that watches a pane.
fn watcher(stage: &Stage<EmbeddedRig>, pane: &Pane, size: Size) -> Talk {
    let mut talk = stage.rig.talk();
    talk.ask(Ask::Watch { pane: pane.clone(), size, read_only: false }).unwrap();
    talk
}

#[tokio::test]
async fn a_program_in_a_pane_may_not_speak_with_the_server() {
    let stage = stage().await;
    let other = stage.listener("other", "").await;
    let fleetd = env!("CARGO_BIN_EXE_fleetd");
    let state = stage.rig.state().display().to_string();
    let pane = stage.sh("1", &format!("{fleetd} screen w-other --state {state} 2>&1; echo code $?; cat")).await;
    let screen = stage.shows(&pane, "code 1").await;
    assert!(screen.lines[0].contains("may not speak with the pane server"), "{screen:?}");
    let _ = stage.rig.host();
    stage.host().paste(other, "ours".into()).await.unwrap();
    stage.gets("typed", b"ours").await;
}
