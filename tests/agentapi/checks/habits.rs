//! The bad habits: those that the real program always has, and those that are on order.
//! Nothing is looked at inside of it: both kinds show in answers.

use serde_json::json;

use super::rig::{Sim, until};

const LATE: &str = "failed to send message: failed to send message: failed to wait for processing to start: \
                    timeout waiting for condition";

fn words(program: &[&str]) -> Vec<String> {
    program.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn without_an_input_box_it_is_never_stable_and_with_an_open_dialog_it_is() {
    let sim = Sim::of(&[], &words(&["sh", "-c", "echo 'Do you trust this folder?'; read yes; printf '$> '; read no"]));
    until("the question is there", || sim.messages()[0].1.contains("trust").then_some(()));
    let refused = sim.say("yes").1["errors"][0]["message"].to_string();
    assert!(refused.contains("waiting for user input"), "{refused}");
    sim.raw("yes\r");
    sim.stable();

    let sim = Sim::start(&[], &["--dialog-on-paste", "Really?"]);
    sim.stable();
    // Whether this is an error is a matter of time: a dialog that opens late looks like something that Enter did.
    sim.say("hello");
    until("the dialog is open", || sim.messages().last()?.1.contains("Really?").then_some(()));
    sim.stable();
}

#[test]
fn a_program_that_takes_no_enter_is_given_up_and_meanwhile_nothing_else_gets_in() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().display().to_string();
    // It reads everything and shows nothing of it.
    let program = format!("stty raw -echo; printf '> '; exec cat >'{path}'");
    let sim = Sim::of(&[], &words(&["sh", "-c", &program]));
    sim.stable();
    let logged = || std::fs::read_to_string(&path).unwrap();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| sim.say("hello"));
        until("it is typed", || logged().contains("hello").then_some(()));
        sim.raw("Z");
        let (status, said) = sending.join().unwrap();
        assert_eq!((status, &said["errors"][0]["message"]), (500, &json!(LATE)));
    });
    let typed = until("the other one too", || Some(logged()).filter(|log| log.contains('Z')));
    assert!(typed.starts_with("x\u{8}\u{1b}[200~hello\u{1b}[201~\r"), "{typed:?}");
    let enters = typed.split('Z').next().unwrap().matches('\r').count();
    assert!(enters >= 2, "it tried again before anything else: {typed:?}");
    assert!(sim.messages().iter().all(|(role, _)| role == "agent"), "what was not sent was never said");
}

#[test]
fn a_message_can_be_told_to_fail_before_it_is_typed_or_after() {
    let submitted = tempfile::NamedTempFile::new().unwrap();
    let path = submitted.path().display().to_string();
    let sim = Sim::start(&["--fail", "1", "--fail-typed", "1"], &["--submitted", &path]);
    for (text, code) in [("one", 500), ("two", 500), ("three", 200)] {
        sim.stable();
        let (status, said) = sim.say(text);
        assert_eq!(status, code, "{text}: {said}");
        if code == 500 {
            assert_eq!(said["errors"][0]["message"], LATE);
        }
    }
    let typed = until("the last has come", || {
        Some(std::fs::read_to_string(&path).unwrap()).filter(|typed| typed.contains("three"))
    });
    assert!(!typed.contains("one") && typed.contains("two"), "{typed}");
    let said: Vec<String> =
        sim.messages().into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(said, ["three"]);
}

#[test]
fn with_a_clock_on_the_screen_it_runs_for_ever() {
    let sim = Sim::start(&["--clock"], &[]);
    let screen = sim.listen("/internal/screen");
    // So many pictures later than it would take to be stable.
    for _ in 0..200 {
        screen.next().unwrap();
        assert_eq!(sim.status(), "running");
    }
    sim.habits(&json!({"clock": false}));
    sim.stable();
}

#[test]
fn merged_the_last_message_has_the_answers_before_it() {
    let sim = Sim::start(&[], &["--answer", "upper"]);
    for text in ["first", "second"] {
        sim.stable();
        sim.habits(&json!({"merge": text == "second"}));
        assert_eq!(sim.say(text).0, 200);
        until("it answered", || sim.messages().last()?.1.contains(&text.to_uppercase()).then_some(()));
    }
    sim.stable();
    let last = sim.messages().pop().unwrap().1;
    assert!(last.contains("FIRST") && last.contains("SECOND"), "{last}");
}

#[test]
fn habits_that_it_does_not_have_are_refused_by_name() {
    let sim = Sim::start(&[], &[]);
    let request = super::rig::client().put(format!("{}/_habits", sim.url)).send("{\"clok\": true}");
    let (status, said) = super::rig::read(request);
    assert_eq!(status, 400);
    assert!(said.to_string().contains("unknown field `clok`"), "{said}");
}
