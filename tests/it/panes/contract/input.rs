//! Texts and keys: what the program in the pane reads, byte for byte, and that nobody else ever reads it.
//! The screen is only used to know that a program is ready.

use fleetd::engine::panes::{Key, Pane, PaneError, clean};
use fleetd::fleet::worker::Process;
use fleetd::process::ProcessId;
use rustix::process::Signal;

use super::{Rig, Stage, is_gone, until};

const BRACKETED: &str = r"printf '\033[?2004h';";

pub async fn a_paste_is_typed_as_it_is<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    let text = "one line\n\ttwo  \n/three 漢字 👩\u{200d}💻 e\u{301}\n";
    stage.host().paste(pane.clone(), text.into()).await.unwrap();
    stage.gets("typed", text.as_bytes()).await;
    stage.host().paste(pane, "".into()).await.unwrap();
    stage.gets("typed", text.as_bytes()).await;
}

pub async fn a_paste_is_bracketed_where_the_program_asked_for_it<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", BRACKETED).await;
    stage.host().paste(pane, "one\ntwo".into()).await.unwrap();
    stage.gets("typed", b"\x1b[200~one\ntwo\x1b[201~").await;

    let pane = stage.listener("2", r"rm typed; printf '\033[?2004h\033[?2004l';").await;
    stage.host().paste(pane, "one\ntwo".into()).await.unwrap();
    stage.gets("typed", b"one\ntwo").await;
}

pub async fn a_long_text_arrives_whole<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", BRACKETED).await;
    let lines: Vec<String> = (0..2_500).map(|n| format!("line {n} of a long text: grüße, 漢字")).collect();
    let text = lines.join("\n");
    assert!(text.len() > 100_000);
    stage.host().paste(pane.clone(), text.as_str().into()).await.unwrap();
    stage.host().press(pane, vec![Key::Enter]).await.unwrap();
    stage.gets("typed", &[b"\x1b[200~", text.as_bytes(), b"\x1b[201~\r"].concat()).await;
}

pub async fn no_text_presses_a_key_or_ends_its_paste<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", BRACKETED).await;
    let hostile = "a\u{1b}[201~rm -rf\r\n\u{3}\u{4}b\u{7f}\u{9b}201~\u{90}\u{0}c\re\u{1b}";
    stage.host().paste(pane, hostile.into()).await.unwrap();
    let wanted = "\u{1b}[200~a[201~rm -rf\nb201~c\ne\u{1b}[201~";
    assert_eq!(wanted, format!("\u{1b}[200~{}\u{1b}[201~", clean(hostile)));
    stage.gets("typed", wanted.as_bytes()).await;
}

pub async fn every_kind_of_key_is_pressed<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    let mut keys = vec![Key::Enter, Key::Tab, Key::Backspace, Key::Up, Key::Down, Key::Left, Key::Right];
    keys.extend(('a'..='z').map(Key::Ctrl));
    keys.extend(('!'..='~').map(Key::Char));
    keys.push(Key::Esc);
    // Escape and what follows it, pressed at once: both arrive.
    keys.push(Key::Char('x'));
    let wanted: Vec<u8> = keys.iter().flat_map(|key| key.bytes()).collect();
    stage.host().press(pane.clone(), keys).await.unwrap();
    stage.host().press(pane, Vec::new()).await.unwrap();
    stage.gets("typed", &wanted).await;
}

pub async fn texts_and_keys_arrive_in_their_order<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    let mut wanted = String::new();
    for n in 0..20 {
        let text = format!("text {n} {}", "x".repeat(n * 50));
        stage.host().paste(pane.clone(), text.as_str().into()).await.unwrap();
        stage.host().press(pane.clone(), vec![Key::Char('.'), Key::Tab]).await.unwrap();
        wanted.push_str(&format!("{text}.\t"));
    }
    stage.gets("typed", wanted.as_bytes()).await;
}

pub async fn a_wrong_occupant_gets_nothing<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    let other = |root: Process| Pane { root, ..pane.clone() };
    let Process { pid, start } = pane.root;
    let wrong = [other(Process { pid, start: start + 1 }), other(Process { pid: std::process::id() as i32, start })];
    for wrong in wrong {
        assert!(is_gone(&stage.host().paste(wrong.clone(), "wrong".into()).await));
        assert!(is_gone(&stage.host().press(wrong.clone(), vec![Key::Char('w'), Key::Enter]).await));
        assert!(is_gone(&stage.host().screen(wrong.clone()).await));
        assert!(is_gone(&stage.host().processes(wrong).await));
    }
    stage.host().paste(pane, "right".into()).await.unwrap();
    stage.gets("typed", b"right").await;
}

pub async fn after_its_root_died_nothing_is_typed_anywhere<R: Rig>(stage: Stage<R>) {
    // What stays behind would be as glad of a command line as the shell into which some hosts turn a dead pane.
    let script = "trap '' HUP; stty raw -echo; (exec </dev/tty >> typed; printf ready >/dev/tty; exec cat) & wait";
    let pane = stage.sh("1", script).await;
    stage.shows(&pane, "ready").await;
    let root = ProcessId::from(pane.root);
    root.signal(Signal::KILL).unwrap();
    until("the root is dead", async || (!root.is_alive()).then_some(())).await;
    for _ in 0..3 {
        let paste = stage.host().paste(pane.clone(), "touch typed\n".into()).await;
        assert!(is_gone(&paste), "{paste:?}");
        let press = stage.host().press(pane.clone(), vec![Key::Char('x'), Key::Enter]).await;
        assert!(is_gone(&press), "{press:?}");
    }
    stage.is_gone(&pane).await;
    // A second pane works, and its text goes through the same host: what was sent before would be here by now.
    let second = stage.sh("2", "stty raw -echo; printf ready; exec cat > second").await;
    stage.shows(&second, "ready").await;
    stage.host().paste(second, "for the second".into()).await.unwrap();
    stage.gets("second", b"for the second").await;
    assert_eq!(stage.bytes("typed"), b"");
}

pub async fn a_pane_that_never_was_is_gone<R: Rig>(stage: Stage<R>) {
    let pane = stage.listener("1", "").await;
    for id in ["", "never", "w9:p9", "p\n\u{0}", &"x".repeat(10_000)] {
        let never = Pane { id: id.into(), ..pane.clone() };
        assert!(is_gone(&stage.host().paste(never.clone(), "text".into()).await), "{id}");
        assert!(is_gone(&stage.host().press(never.clone(), vec![Key::Enter]).await), "{id}");
        let screen = stage.host().screen(never.clone()).await;
        assert!(matches!(screen, Err(PaneError::Gone(_))), "{id}: {screen:?}");
        stage.host().close(never).await.unwrap();
    }
    stage.host().paste(pane, "right".into()).await.unwrap();
    stage.gets("typed", b"right").await;
}
