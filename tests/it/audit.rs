//! The audit of a real daemon: one line for each decision, also where something was refused, went wrong or still
//! waits; and what is told while it cannot be written.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Daemon, House, PATIENCE};

const TEAM: &str = r#"
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" } })
fleet.profile("slow", { launcher = "exec", command = { "sh", "-c", "while ! test -e \"$HOME/go\"; do sleep 0.05; done" } })
fleet.role("w-upper", { profiles = { "upper" } })
fleet.role("w-slow", { profiles = { "slow" } })
fleet.recipe("nothing", { input = { n = "integer" } }, function(job, run) return job.n end)
"#;

fn lines(house: &House) -> Vec<Value> {
    let text = std::fs::read_to_string(house.state().join("audit.jsonl")).unwrap_or_default();
    // The last one may be half there while the daemon writes it.
    text.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(|l| serde_json::from_str(l).expect(l)).collect()
}

/// Waits until something is seen.
#[track_caller]
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "{what} was never seen");
        std::thread::yield_now();
    }
}

fn raw(daemon: &Daemon, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(daemon.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Returns a line without what differs from run to run, as text.
fn essence(line: &Value) -> String {
    let mut line = line.clone();
    let map = line.as_object_mut().unwrap();
    map.shift_remove("at");
    assert_eq!(map.shift_remove("door"), Some(json!("rest")));
    assert_eq!(map.shift_remove("generation"), Some(json!(1)));
    let who = map.shift_remove("who").unwrap();
    let rest = serde_json::to_string(&map).unwrap();
    format!("{} {rest}", who["caller"].as_str().unwrap())
}

#[test]
fn each_decision_is_one_line() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    assert_eq!(daemon.post("/message", &json!({ "role": "w-upper", "prompt": "hello" })).0, 200);
    assert_eq!(daemon.get("/healthz").0, 200);
    assert_eq!(daemon.get("/metrics").0, 200);
    assert_eq!(daemon.get("/v1/turns/t1/wait").0, 200);
    assert_eq!(daemon.post("/v1/ack", &json!({ "messages": ["m2", "m9"] })).0, 200);
    assert_eq!(daemon.post("/v1/run", &json!({ "recipe": "nothing", "job": { "n": 1 }, "wait": 30 })).0, 200);
    assert_eq!(daemon.post("/message", &json!({ "role": "w-uper", "prompt": "x" })).0, 404);
    assert_eq!(daemon.post("/message", &json!({ "role": "w-upper", "promt": "x" })).0, 400);
    assert_eq!(daemon.get("/nowhere").0, 404);
    let mut text = String::new();
    let head = "Host: localhost\r\nVia: 1.1 x\r\nConnection: close\r\n\r\n";
    raw(&daemon, &format!("GET /v1/status?turn=t1 HTTP/1.1\r\n{head}")).read_to_string(&mut text).unwrap();
    raw(&daemon, "GET /v1/list HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        .read_to_string(&mut text)
        .unwrap();
    let pid = u64::from(std::process::id());
    assert_eq!(daemon.terminate(), Some(0));

    let lines = lines(&house);
    // On a busy machine any of them may take longer than a line waits for.
    let told: Vec<String> = lines.iter().map(|line| essence(line).replace(r#","outcome":"open""#, "")).collect();
    assert_eq!(
        told,
        [
            r#"operator {"verb":"send","target":["w-upper","t1"],"allowed":true,"bytes":5}"#,
            r#"operator {"verb":"status","target":["t1"],"allowed":true}"#,
            r#"operator {"verb":"ack","target":["m2","m9"],"allowed":true}"#,
            r#"operator {"verb":"run","target":["nothing","r3"],"allowed":true,"bytes":7}"#,
            r#"operator {"verb":"send","target":["?"],"allowed":true,"outcome":"unknown","bytes":1}"#,
            r#"operator {"verb":"send","allowed":true,"outcome":"invalid"}"#,
            r#"anonymous {"verb":"status","allowed":false,"refusal":"not_allowed"}"#,
            r#"anonymous {"verb":"list","allowed":false,"refusal":"not_allowed"}"#,
        ]
    );
    assert!(lines[..7].iter().all(|line| line["who"]["pid"] == pid), "{lines:?}");
    let at = lines[0]["at"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z') && at.as_bytes()[19] == b'.', "{at}");
    let mode = std::fs::metadata(house.state().join("audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // The next daemon goes on in the same file.
    let daemon = house.start();
    assert_eq!(daemon.get("/v1/list").0, 200);
    assert_eq!(daemon.terminate(), Some(0));
    assert_eq!(self::lines(&house).len(), lines.len() + 1);
}

#[test]
fn a_worker_that_asks_is_named() {
    let house = House::new(&[]);
    let look = format!("'{}' list --state '{}' 2>&1; true", env!("CARGO_BIN_EXE_fleetd"), house.state().display());
    let profile = format!("fleet.profile('looks', {{ launcher = 'exec', command = {{ 'sh', '-c', [[{look}]] }} }})");
    house.write("team.lua", &format!("{profile}\nfleet.role('w-looks', {{ profiles = {{ 'looks' }} }})\n"));
    let daemon = house.start();
    let (_, reply) = daemon.post("/message", &json!({ "role": "w-looks", "prompt": "look" }));
    assert!(reply["text"].as_str().unwrap().contains("worker w-looks-1 may not list"), "{reply}");
    assert_eq!(daemon.terminate(), Some(0));
    let lines = lines(&house);
    let asked = lines.iter().find(|line| line["verb"] == "list").unwrap();
    assert_eq!(asked["who"], json!({ "caller": "worker", "worker": "w-looks-1", "via_child": true }));
    assert_eq!((&asked["allowed"], &asked["refusal"]), (&json!(false), &json!("not_allowed")));
}

#[test]
fn a_call_that_waits_is_told_of_while_it_does_and_one_that_goes_away_too() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| daemon.post("/message", &json!({ "role": "w-slow", "prompt": "wait" })));
        let line = until("the line of a held call", || lines(&house).into_iter().next());
        assert_eq!((&line["verb"], &line["target"][0]), (&json!("send"), &json!("w-slow")), "{line}");
        assert_eq!((&line["allowed"], &line["outcome"]), (&json!(true), &json!("open")), "{line}");
        let leaves = raw(&daemon, "GET /v1/turns/t1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // It is heard once its process was looked for, so that it does not leave before it was there.
        until("the wait", || (daemon.get("/metrics").1.as_str()?.contains("waiting_callers 2")).then_some(()));
        drop(leaves);
        let left = until("the line of who left", || lines(&house).into_iter().nth(1));
        assert!(["left", "open"].contains(&left["outcome"].as_str().unwrap()), "{left}");
        std::fs::write(house.path().join("go"), "").unwrap();
        assert_eq!(held.join().unwrap().0, 200);
    });
    assert_eq!(daemon.terminate(), Some(0));
    assert_eq!(lines(&house).len(), 2, "a line is written once");
}

#[test]
fn an_audit_that_cannot_be_written_is_told_everywhere_and_holds_up_nothing() {
    let house = House::new(&[("team.lua", TEAM)]);
    let file = house.state().join("audit.jsonl");
    std::fs::DirBuilder::new().mode(0o700).create(house.state()).unwrap();
    std::fs::create_dir(&file).unwrap();
    let daemon = house.start();
    for _ in 0..3 {
        let (status, reply) = daemon.post("/message", &json!({ "role": "w-upper", "prompt": "hello" }));
        assert_eq!((status, &reply["text"]), (200, &json!("HELLO")));
    }
    let why = until("the trouble", || {
        let (status, health) = daemon.get("/healthz");
        assert_eq!((status, &health["ready"]), (200, &json!(true)));
        let why = health["degraded"][0].as_str()?.to_string();
        why.ends_with("lines lost since: 3").then_some(why)
    });
    assert!(why.starts_with(&format!("audit: {} cannot be written: ", file.display())), "{why}");
    let metrics = daemon.get("/metrics").1;
    let metrics = metrics.as_str().unwrap();
    assert!(metrics.contains("fleetd_audit_lines_lost_total 3"), "{metrics}");
    assert!(metrics.contains("fleetd_degraded 1"), "{metrics}");
    let status = daemon.get("/v1/status").1;
    assert!(status["health"]["degraded"][0].as_str().unwrap().starts_with("audit: "), "{status}");

    until("the fourth loss", || daemon.get("/metrics").1.as_str()?.contains("lost_total 4").then_some(()));
    std::fs::remove_dir(&file).unwrap();
    assert_eq!(daemon.get("/v1/list").0, 200);
    until("the recovery", || (daemon.get("/healthz").1["degraded"] == json!([])).then_some(()));
    assert_eq!(daemon.terminate(), Some(0));
    let lines = lines(&house);
    assert_eq!((lines.len(), &lines[0]["verb"], &lines[1]["lost"]), (2, &json!("list"), &json!(4)), "{lines:?}");
}
