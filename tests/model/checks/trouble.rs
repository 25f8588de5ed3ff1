//! Answers that go wrong in each way that a script can ask for.
//! Waits are seen by what does not come before them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fleetd_model::Model;
use serde_json::json;

use super::client::{Talk, said};

/// Asks with a bare connection, so that what does not come can be seen.
fn ask(model: &Model, prompt: &str, stream: bool) -> TcpStream {
    let mut connection = TcpStream::connect(model.url().trim_start_matches("http://")).unwrap();
    let body = json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": prompt}]}).to_string();
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: model\r\nx-claude-code-session-id: {stream}\r\n");
    write!(connection, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    connection
}

/// Reads until this has come, and then as long as more comes at once; tells whether the connection is still open.
fn read(connection: &mut TcpStream, until: &str) -> (String, bool) {
    let mut bytes = Vec::new();
    loop {
        let told = String::from_utf8_lossy(&bytes).into_owned();
        let patience = if told.contains(until) { Duration::from_millis(200) } else { Duration::from_secs(60) };
        connection.set_read_timeout(Some(patience)).unwrap();
        let mut some = [0; 4096];
        match connection.read(&mut some) {
            Ok(0) => return (told, false),
            Ok(count) => bytes.extend_from_slice(&some[..count]),
            Err(error) => return (told, matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)),
        }
    }
}

#[test]
fn errors_have_their_status_kind_and_text() {
    let model = Model::start().unwrap();
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let (told, answer) = Talk::new(&model, "a").say(&format!("ERR:{status}:so it is"));
        assert_eq!(told, status);
        assert_eq!(answer, json!({"type": "error", "error": {"type": kind, "message": "so it is"}}));
    }
}

#[test]
fn an_error_can_say_when_to_try_again_and_a_retry_takes_the_next_step() {
    let model = Model::start().unwrap();
    let (told, open) = read(&mut ask(&model, "AFTER:7 && ERR:429", true), "scripted");
    assert!(told.starts_with("HTTP/1.1 429") && told.contains("retry-after: 7\r\n") && !open, "{told}");
    let mut talk = Talk::new(&model, "a");
    assert_eq!(talk.say("TIMES:2 && ERR:529\nSAY:well").0, 529);
    assert_eq!(talk.ask().0, 529);
    assert_eq!(said(&talk.ask()), "well");
}

#[test]
fn an_error_after_some_text_comes_in_the_stream() {
    let model = Model::start().unwrap();
    let events = Talk::new(&model, "a").stream("SAY:part && ERR:529:too much");
    let (name, data) = events.last().unwrap();
    assert_eq!((name.as_str(), &data["error"]["type"]), ("error", &json!("overloaded_error")));
}

#[test]
fn hanging_says_nothing_and_the_connection_stays() {
    let model = Model::start().unwrap();
    for stream in [true, false] {
        assert_eq!(read(&mut ask(&model, "HANG", stream), ""), (String::new(), true));
    }
}

#[test]
fn stalling_says_a_part_and_the_connection_stays() {
    let model = Model::start().unwrap();
    let (told, open) = read(&mut ask(&model, "SAY:a part && STALL", true), "\"part\"");
    assert!(told.contains("\"part\"") && !told.contains("message_stop") && open, "{told}");
    let (told, open) = read(&mut ask(&model, "SAY:a part && STALL", false), "200 OK");
    assert!(told.contains("200 OK") && !told.contains("part") && open, "{told}");
}

#[test]
fn cutting_says_a_part_and_ends_the_connection_in_the_middle() {
    let model = Model::start().unwrap();
    for stream in [true, false] {
        let (told, open) = read(&mut ask(&model, "SAY:a part && CUT", stream), "never");
        assert!(told.contains("200 OK") && !open, "{told}");
        assert!(!told.ends_with("0\r\n\r\n"), "an end as it should be: {told}");
        assert_eq!(told.contains("\"part\""), stream, "{told}");
    }
}

#[test]
fn sleeping_holds_back_what_comes_after_it() {
    let model = Model::start().unwrap();
    let began = Instant::now();
    assert_eq!(said(&Talk::new(&model, "a").say("SLEEP:0.2 && SAY:late")), "late");
    assert!(began.elapsed() >= Duration::from_millis(200));
    let (told, open) = read(&mut ask(&model, "SAY:early && SLEEP:60 && SAY:late", true), "early");
    assert!(told.contains("early") && !told.contains("late") && open, "{told}");
    let (told, open) = read(&mut ask(&model, "PACE:60 && SAY:one two", true), "one ");
    assert!(told.contains("one ") && !told.contains("\"two\"") && open, "{told}");
}

#[test]
fn a_line_that_cannot_be_read_is_told_to_whoever_looks() {
    let model = Model::start().unwrap();
    let (status, answer) = Talk::new(&model, "a").say("TOOL:Bash:{no}");
    assert_eq!(status, 400);
    assert!(answer["error"]["message"].as_str().unwrap().contains("'TOOL:Bash:{no}' is no step"), "{answer}");
}

#[test]
fn a_forced_step_goes_before_every_script_until_it_is_taken_back() {
    let model = Model::start().unwrap();
    let mut talk = Talk::new(&model, "a");
    model.force(Some("ERR:401:no such key")).unwrap();
    assert_eq!((talk.say("SAY:one").0, talk.ask().0), (401, 401));
    model.force(None).unwrap();
    assert_eq!(said(&talk.ask()), "one");
    assert!(model.force(Some("ERR:9")).is_err());
}

#[test]
fn an_endpoint_that_ends_cuts_off_who_waits() {
    let model = Model::start().unwrap();
    let mut connection = ask(&model, "HANG", true);
    assert_eq!(read(&mut connection, ""), (String::new(), true));
    drop(model);
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let ended: Result<usize, _> = connection.read(&mut [0; 9]);
    assert!(
        matches!(&ended, Ok(0)) || matches!(&ended, Err(error) if error.kind() == ErrorKind::ConnectionReset),
        "{ended:?}"
    );
}
