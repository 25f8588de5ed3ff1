//! The grammar: where a step is found, what it means, and which mistakes are told.
//! Nothing is served here.

use std::time::Duration;

use fleetd_model::script::{Part, Step, Usage, has_steps, steps_of};
use serde_json::json;

fn one(line: &str) -> Vec<Part> {
    let mut steps = steps_of(line).unwrap();
    assert_eq!(steps.len(), 1, "{line}");
    steps.remove(0).parts
}

fn say(text: &str) -> Part {
    Part::Say(text.to_owned())
}

#[test]
fn steps_are_found_between_other_lines_and_only_at_their_begin() {
    let prompt =
        "[fleet turn t1 from leader]\nPlease do as I SAY:no\n  SAY:one\nHANGING is no step\nSAY:two\n-- end of t1";
    let steps = steps_of(prompt).unwrap();
    assert_eq!(steps, [Step { parts: vec![say("one")] }, Step { parts: vec![say("two")] }]);
    assert!(has_steps(prompt) && !has_steps("do as I SAY:no\nHANGING\nsay:x"));
}

#[test]
fn parts_are_joined_and_a_shell_command_may_look_alike() {
    let parts =
        one(r#"SLEEP:0.5 && THINK:hm && SAY:a && b\nc && TOOL:Bash:{"command":"cd x && make"} && STOP:refusal"#);
    let input = json!({"command": "cd x && make"}).as_object().unwrap().clone();
    let tool = Part::Tool { name: "Bash".to_owned(), input };
    let think = Part::Think("hm".to_owned());
    let slept = Part::Sleep(Duration::from_millis(500));
    assert_eq!(parts, [slept, think, say("a && b\nc"), tool, Part::Stop("refusal".to_owned())]);
}

#[test]
fn every_word_is_understood() {
    let usage = Usage { input: 7, output: 8, cache_read: 9, cache_write: 0 };
    assert_eq!(
        one("USAGE:in=7,out=8, cache_read=9 && MODEL:m && EMPTY"),
        [Part::Usage(usage), Part::Model("m".to_owned()), Part::Empty]
    );
    let error = Part::Error { status: 429, text: "slow: down".to_owned() };
    assert_eq!(one("AFTER:3 && ERR:429:slow: down"), [Part::RetryAfter(3), error]);
    let scripted = Part::Error { status: 500, text: "scripted".to_owned() };
    assert_eq!(one("ERR:500"), [scripted]);
    let pace = Part::Pace(Duration::from_millis(10));
    assert_eq!(one("PACE:0.01 && STALL"), [pace, Part::Stall]);
    assert_eq!((one("HANG"), one("CUT")), (vec![Part::Hang], vec![Part::Cut]));
    assert_eq!(steps_of("TIMES:3 && HANG\nCUT").unwrap().len(), 4);
}

#[test]
fn a_mistake_names_the_line_and_what_is_wrong_with_it() {
    for (line, why) in [
        ("TOOL:Bash", "write TOOL:NAME:{JSON}"),
        ("TOOL:Bash:{\"a\"}", "expected"),
        ("ERR:200", "200 is no error"),
        ("ERR:", "'' is no number"),
        ("SLEEP:-1", "negative"),
        ("USAGE:tokens=3", "'tokens' is none of in, out"),
        ("TIMES:3", "nothing to do"),
    ] {
        let told = steps_of(&format!("header\n{line}")).unwrap_err();
        assert!(told.contains(line) && told.contains(why), "{told}");
    }
}
