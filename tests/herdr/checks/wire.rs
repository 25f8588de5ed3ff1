//! The habits of the wire, one by one: what is not answered, what takes 100 ms, what ends a stream, what outlives a
//! restart. The recordings hold no broken bytes and no waits, so these stand here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::house::{House, PATIENCE, until};

const PING: &[u8] = b"{\"id\":\"p\",\"method\":\"ping\",\"params\":{}}\n";

fn connect(house: &House) -> UnixStream {
    let stream = UnixStream::connect(house.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn subscribe(house: &House, kinds: &[&str]) -> BufReader<UnixStream> {
    let mut stream = connect(house);
    let entries: Vec<Value> = kinds.iter().map(|kind| json!({"type": kind})).collect();
    let request = json!({"id": "s", "method": "events.subscribe", "params": {"subscriptions": entries}});
    writeln!(stream, "{request}").unwrap();
    let mut lines = BufReader::new(stream);
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    assert!(first.contains("subscription_started"), "{first}");
    lines
}

fn event(lines: &mut BufReader<UnixStream>) -> Option<Value> {
    let mut line = String::new();
    let read = lines.read_line(&mut line).unwrap_or(0);
    (read > 0).then(|| serde_json::from_str(&line).unwrap())
}

#[test]
fn broken_lines_are_closed_without_a_word_and_others_answered_without_an_id() {
    let house = House::start(&[]);
    for silent in [&b"\n"[..], b"   \n", b"\xff\xfe\n"] {
        assert_eq!(house.send(silent), None, "{silent:?}");
    }
    let mut long = vec![b' '; (1 << 20) + 1];
    long.push(b'\n');
    assert_eq!(house.send(&long), None);
    let mut stream = connect(&house);
    stream.write_all(&PING[..PING.len() - 1]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "half a line and a half-close");
    for bad in [
        &b"{\"id\":\"a\",\"method\":\"ping\"}\n"[..],
        b"{\"id\":\"a\",\"id\":\"b\",\"method\":\"ping\",\"params\":{}}\n",
    ] {
        let answer: Value = serde_json::from_str(&house.send(bad).unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(""), &json!("invalid_request")));
    }
    let mode = std::fs::metadata(house.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_line_that_comes_late_costs_a_sleep_and_one_that_never_ends_is_given_up() {
    let house = House::start(&[]);
    let mut stream = connect(&house);
    // So long that the server has looked once; how long exactly does not matter.
    until("the server has looked", || house.send(PING).is_some());
    super::house::pause();
    let began = Instant::now();
    stream.write_all(PING).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.contains("pong"));
    assert!(began.elapsed() > Duration::from_millis(30), "{:?}", began.elapsed());
    let mut never = connect(&house);
    never.write_all(b"{").unwrap();
    let began = Instant::now();
    assert_eq!(never.read(&mut [0; 9]).unwrap(), 0);
    assert!(began.elapsed() > Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn a_stream_begins_with_the_past_at_its_own_pace_and_ends_with_any_byte() {
    let house = House::start(&[]);
    for n in 0..5 {
        house.done("workspace.create", json!({"label": n.to_string()}));
    }
    let began = Instant::now();
    let mut lines = subscribe(&house, &["workspace.created"]);
    for n in 0..5 {
        assert_eq!(event(&mut lines).unwrap()["data"]["workspace"]["label"], n.to_string());
    }
    assert!(began.elapsed() >= Duration::from_millis(400), "one a tick: {:?}", began.elapsed());
    lines.get_mut().write_all(b"x").unwrap();
    assert_eq!(event(&mut lines), None);
}

#[test]
fn what_is_more_than_512_events_behind_is_lost_without_a_word() {
    let house = House::start(&[]);
    let made = house.done("workspace.create", json!({}));
    let tab = made["tab"]["tab_id"].clone();
    for n in 0..600 {
        house.done("tab.rename", json!({"tab_id": tab, "label": n.to_string()}));
    }
    let mut lines = subscribe(&house, &["tab.renamed", "workspace.created"]);
    let first = event(&mut lines).unwrap();
    assert_eq!(first["data"]["label"], "88", "what was before is lost");
}

#[test]
fn faults_come_on_order() {
    let house = House::start(&[]);
    let mut lines = subscribe(&house, &["workspace.created"]);
    house.done("sim.fault", json!({"lose_events": 3}));
    house.done("workspace.create", json!({"label": "a"}));
    house.done("sim.fault", json!({"lose_events": 0}));
    house.done("workspace.create", json!({"label": "b"}));
    assert_eq!(event(&mut lines).unwrap()["data"]["workspace"]["label"], "b", "the first was lost");
    house.done("sim.fault", json!({"drop_streams": true}));
    assert_eq!(event(&mut lines), None);
    house.done("sim.fault", json!({"stall_ms": 300}));
    let began = Instant::now();
    assert!(house.send(PING).is_some());
    assert!(began.elapsed() < Duration::from_millis(250), "ping goes round it");
    house.done("workspace.list", json!({}));
    assert!(began.elapsed() >= Duration::from_millis(250));
    house.done("sim.fault", json!({"unanswered": 1}));
    assert_eq!(house.send(b"{\"id\":\"a\",\"method\":\"workspace.list\",\"params\":{}}\n"), None);
    house.done("sim.fault", json!({"refuse_ms": 300}));
    until("nobody gets a connection", || UnixStream::connect(house.socket()).is_err());
    until("it is there again", || UnixStream::connect(house.socket()).is_ok());
}

#[test]
fn a_restart_gives_shells_under_the_old_ids_and_a_kill_forgets_the_newest() {
    let mut house = House::start(&[("HERDR_SIM_SAVE_MS", "5000")]);
    let made = house.done("workspace.create", json!({"label": "fleet"}));
    let root = json!({"type": "pane", "label": "a-1", "command": ["sh", "-c", "trap '' HUP; sleep 600"]});
    let applied = house.done("layout.apply", json!({"workspace_id": "w1", "tab_label": "a-1", "root": root}));
    let pane = applied["layout"]["root"]["pane_id"].clone();
    let info = |house: &House| house.done("pane.process_info", json!({"pane_id": pane}))["process_info"].clone();
    let told = |house: &House| house.done("pane.get", json!({"pane_id": pane}))["pane"].clone();
    let (before, terminal) = (info(&house), told(&house)["terminal_id"].clone());

    house.done("server.live_handoff", json!({}));
    until("it is back", || UnixStream::connect(house.socket()).is_ok());
    assert_eq!(info(&house)["shell_pid"], before["shell_pid"], "a handoff keeps processes");
    assert_ne!(told(&house)["terminal_id"], terminal);

    house.done("server.stop", json!({}));
    assert_eq!(house.ended().code(), Some(0));
    assert!(!house.socket().exists());
    house.launch();
    assert_ne!(info(&house)["shell_pid"], before["shell_pid"]);
    assert_eq!(told(&house)["label"], "a-1");
    assert_eq!(info(&house)["foreground_processes"][0]["argv"], json!(["/bin/sh"]), "a bare shell");

    let newest = house.done("tab.create", json!({"workspace_id": made["workspace"]["workspace_id"]}));
    house.signal(Signal::KILL);
    assert!(UnixStream::connect(house.socket()).is_err() && house.socket().exists());
    house.launch();
    let gone = house.ask("pane.get", json!({"pane_id": newest["root_pane"]["pane_id"]}));
    assert_eq!(gone["error"]["code"], "pane_not_found");
}

#[test]
fn a_stubborn_close_holds_everybody_up_but_ping() {
    let house = House::start(&[]);
    house.done("workspace.create", json!({}));
    let root =
        json!({"type": "pane", "command": ["sh", "-c", "trap '' HUP TERM; echo up; while :; do sleep 0.1; done"]});
    let applied = house.done("layout.apply", json!({"root": root}));
    let pane = applied["layout"]["root"]["pane_id"].clone();
    let wait = json!({"pane_id": pane, "source": "visible", "match": {"type": "substring", "value": "up"}});
    house.done("pane.wait_for_output", wait);
    let began = Instant::now();
    house.done("pane.close", json!({"pane_id": pane}));
    assert!((500..2_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(house.ask("pane.close", json!({"pane_id": pane}))["error"]["code"], "pane_not_found");
}

#[test]
fn a_long_read_turns_the_wheel_of_a_full_screen_program() {
    let house = House::start(&[]);
    house.done("workspace.create", json!({}));
    let log = house.home().join("log");
    let command = [env!("CARGO_BIN_EXE_test-agent"), "--mouse", "--log", &log.display().to_string()];
    let applied = house.done("layout.apply", json!({"root": {"type": "pane", "command": command}}));
    let pane = applied["layout"]["root"]["pane_id"].clone();
    let wait = json!({"pane_id": pane, "source": "visible", "match": {"type": "substring", "value": ">"}});
    house.done("pane.wait_for_output", wait);
    house.done("pane.read", json!({"pane_id": pane, "source": "visible"}));
    house.done("pane.send_text", json!({"pane_id": pane, "text": "a"}));
    until("the program read it", || std::fs::read(&log).unwrap_or_default() == b"a");
    house.done("pane.read", json!({"pane_id": pane, "source": "recent"}));
    until("the program saw the wheel", || std::fs::read(&log).unwrap().starts_with(b"a\x1b[<64;"));
}

#[test]
fn sockets_are_found_by_the_recorded_precedence() {
    let mut house = House::without_server(&[("HERDR_SESSION", "night")]);
    let socket = |name: &str| house.home().join(name);
    let (night, day) =
        (socket(".config/herdr/sessions/night/herdr.sock"), socket(".config/herdr/sessions/day/herdr.sock"));
    let (given, config) = (socket("given.sock"), socket("c/herdr/herdr.sock"));
    let config_home = house.home().join("c").display().to_string();
    let mut check = |variables: &[(&str, &str)], args: &[&str], expected: &std::path::Path| {
        house.variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        house.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut server = house.command().spawn().unwrap();
        until(&expected.display().to_string(), || UnixStream::connect(expected).is_ok());
        assert_eq!(house.command().status().unwrap().code(), Some(1), "a second one");
        server.kill().unwrap();
        server.wait().unwrap();
    };
    check(&[("HERDR_SESSION", "night")], &["server"], &night);
    check(&[("HERDR_SESSION", "night"), ("HERDR_SOCKET_PATH", &given.display().to_string())], &["server"], &given);
    let all = [("HERDR_SESSION", "night"), ("HERDR_SOCKET_PATH", &given.display().to_string())];
    check(&all, &["--session", "day", "server"], &day);
    check(&[("XDG_CONFIG_HOME", &config_home)], &["server"], &config);
}
