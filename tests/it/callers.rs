//! Who a caller is, asked by real processes of a real daemon: whatever a worker's process does to itself it stays that
//! worker's, the leader's tree is the leader's, and everybody else is the operator or nobody. And what processes of
//! the same user can do to that all the same.

use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde_json::{Value, json};

use crate::rules::{Batch, names, outcomes};
use crate::support::{Daemon, House, PATIENCE};

/// A worker that does what its prompt says.
const TEAM: &str = r#"
fleet.profile("sh", { launcher = "exec", command = { "sh" } })
fleet.role("w", { profiles = { "sh" }, max_busy = 1, max_waiting = 8 })
"#;

/// Returns what a worker of `w` prints.
#[track_caller]
fn printed(daemon: &Daemon, script: &str) -> String {
    let (status, reply) = daemon.post("/message", &json!({ "role": "w", "prompt": script }));
    assert_eq!((status, reply["outcome"].as_str()), (200, Some("replied")), "{script}: {reply}");
    reply["text"].as_str().unwrap().to_string()
}

#[track_caller]
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What counts of a `whoami`.
fn who(me: &Value) -> (&str, Option<&str>, Option<bool>) {
    (me["caller"].as_str().unwrap(), me["name"].as_str(), me["via_child"].as_bool())
}

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

/// Asks through any socket who one is.
fn raw(to: &str, daemon: &Daemon, headers: &str) -> Value {
    asked(TcpStream::connect(to).unwrap(), local(daemon), headers)
}

/// Asks on a connection who one is; nothing can be asked on it after that.
fn asked(mut stream: TcpStream, host: &str, headers: &str) -> Value {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET /v1/whoami HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    read(answer.split_once("\r\n\r\n").unwrap().1)
}

fn local(daemon: &Daemon) -> &str {
    daemon.url.strip_prefix("http://").unwrap()
}

#[test]
fn a_process_of_a_worker_is_that_worker_whatever_it_does_to_itself() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let ask = format!("curl -s {}/v1/whoami", daemon.url);
    // An orphan, which asks once its parent is gone and pane-exec has taken it in.
    let orphan = format!(
        "(setsid sh -c 'while ! test -e free; do sleep 0.02; done; exec {ask} -o said' </dev/null >/dev/null 2>&1 &)
         : > free; until grep -qs generation said; do sleep 0.02; done; cat said"
    );
    for (what, script, via_child) in [
        ("the agent itself", format!("exec {ask}"), false),
        ("a child", format!("{ask}; true"), true),
        ("a new session", format!("setsid --fork --wait {ask}; true"), true),
        ("nohup", format!("nohup {ask} 2>/dev/null & wait"), true),
        ("an emptied environment", format!("env -i $(command -v env) {ask}; true"), true),
        ("a proxy's header", format!("{ask} -H 'X-Forwarded-For: 192.0.2.7' -H 'Via: 1.1 x'; true"), true),
        ("what looks like a token", format!("{ask} -H 'Authorization: Bearer x'; true"), true),
        // Nothing tells it from the agent, which is a child of pane-exec too.
        ("a double fork", orphan, false),
    ] {
        let me = read(&printed(&daemon, &script));
        assert_eq!(who(&me), ("worker", Some("w-1"), Some(via_child)), "{what}: {me}");
    }
    assert_eq!(daemon.get("/v1/whoami").1["caller"], "operator");
}

#[test]
fn a_relay_that_a_worker_runs_makes_everybody_behind_it_that_worker() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let relay = std::env::current_exe().unwrap();
    let at = house.path().join("relay-at");
    let script = format!(
        "RELAY_TO={} RELAY_AT={} exec {} --exact callers::a_relay --ignored",
        local(&daemon),
        at.display(),
        relay.display()
    );
    let (_, turn) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": script }));
    let address = until("the relay", || std::fs::read_to_string(&at).ok());
    let me = raw(&address, &daemon, "");
    assert_eq!(who(&me), ("worker", Some("w-1"), Some(false)), "{me}");
    let (_, reply) = daemon.get(&format!("/v1/turns/{}/wait", turn["id"].as_str().unwrap()));
    assert_eq!(reply["outcome"], "replied", "{reply}");
}

#[test]
#[ignore = "a part that a worker plays: it passes one connection on"]
fn a_relay() {
    let Ok(to) = std::env::var("RELAY_TO") else { return };
    let at = std::env::var("RELAY_AT").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let half = format!("{at}.half");
    std::fs::write(&half, listener.local_addr().unwrap().to_string()).unwrap();
    std::fs::rename(half, at).unwrap();
    let (mut outside, _) = listener.accept().unwrap();
    let mut daemon = TcpStream::connect(to).unwrap();
    let (mut from, mut into) = (outside.try_clone().unwrap(), daemon.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from, &mut into));
    std::io::copy(&mut daemon, &mut outside).unwrap();
}

#[test]
fn a_socket_that_a_worker_was_given_is_a_workers_unless_it_was_used_before() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let at = house.path().join("given");
    let listener = UnixListener::bind(&at).unwrap();
    let script = format!(
        "GIVEN_AT={} GIVEN_SAYS=said exec {} --exact callers::one_who_is_given_a_socket --ignored >&2",
        at.display(),
        std::env::current_exe().unwrap().display()
    );
    let given = |stream: &TcpStream| {
        let (_, turn) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": script }));
        let (to, _) = listener.accept().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let sockets = [stream.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&sockets)));
        sendmsg(&to, &[IoSlice::new(b"!")], &mut control, SendFlags::empty()).unwrap();
        let (_, reply) = daemon.get(&format!("/v1/turns/{}/wait", turn["id"].as_str().unwrap()));
        assert_eq!(reply["outcome"], "replied", "{reply}");
        read(&std::fs::read_to_string(house.path().join("said")).unwrap())
    };
    // We hold it too, and are the operator: one worker among the holders is enough.
    let fresh = TcpStream::connect(local(&daemon)).unwrap();
    let me = given(&fresh);
    assert_eq!(who(&me), ("worker", Some("w-1"), Some(false)), "{me}");

    // The owner is looked for once: whoever lends what it has used lends its rights.
    let mut used = TcpStream::connect(local(&daemon)).unwrap();
    used.set_read_timeout(Some(PATIENCE)).unwrap();
    used.write_all(b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut byte = [0];
        used.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let me = given(&used);
    assert_eq!(who(&me), ("operator", None, None), "docs/security.md says so: {me}");
}

#[test]
#[ignore = "a part that a worker plays: it asks on a socket that it is given who it is"]
fn one_who_is_given_a_socket() {
    let Ok(at) = std::env::var("GIVEN_AT") else { return };
    let from = UnixStream::connect(at).unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&from, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::empty()).unwrap();
    let given = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    let me = asked(given.unwrap().into(), "localhost", "");
    std::fs::write(std::env::var("GIVEN_SAYS").unwrap(), me.to_string()).unwrap();
}

#[test]
fn a_daemon_that_the_leaders_shell_started_tells_its_workers_from_the_leader() {
    let house = House::new(&[("team.lua", TEAM)]);
    let context = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "fleet_list", "arguments": {}, "_meta": context });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    // The shell itself is the client that takes the seat: it opens the connection by its own means.
    let script = format!(
        r#"{fleetd} serve --listen 127.0.0.1:0 --state {state} --charter {charter} > said 2>/dev/null </dev/null &
        until grep -q 'listens on' said; do sleep 0.02; done
        url=$(sed -n 's/.*listens on \([^ ]*\).*/\1/p' said)
        address=${{url#http://}}
        exec 3<>/dev/tcp/${{address%:*}}/${{address##*:}}
        printf '%b%s' "POST /mcp HTTP/1.1\r\nHost: $address\r\nConnection: close\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: fleet_list\r\nContent-Length: {length}\r\n\r\n" '{call}' >&3
        grep -q '"isError":false\|"roles"' <&3 || echo 'the seat was not given'
        echo "$url"
        curl -s "$url/v1/whoami"; echo
        curl -s "$url/message" -H 'content-type: application/json' -d "{{\"role\": \"w\", \"prompt\": \"exec curl -s $url/v1/whoami\"}}"; echo
        read -r go
        kill %1; wait"#,
        fleetd = env!("CARGO_BIN_EXE_fleetd"),
        state = house.state().display(),
        charter = house.charter().display(),
        length = call.len(),
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(house.path()).env_clear().env("HOME", house.path());
    shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.next().unwrap();
    assert!(url.starts_with("http://"), "{url}");
    let leader = read(&lines.next().unwrap());
    let worker = read(&lines.next().unwrap());
    let outside = crate::support::agent().get(format!("{url}/v1/whoami")).call().unwrap().body_mut().read_to_string();
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    shell.wait().unwrap();
    assert_eq!(who(&leader), ("leader", None, None), "{leader}");
    assert_eq!(worker["outcome"], "replied", "{worker}");
    assert_eq!(who(&read(worker["text"].as_str().unwrap())), ("worker", Some("w-1"), Some(false)), "{worker}");
    assert_eq!(who(&read(&outside.unwrap())), ("operator", None, None), "we did not sit down");
}

#[test]
fn a_fleet_inside_a_worker_has_workers_of_its_own_and_they_are_still_the_outer_one() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let script = format!(
        r#"{fleetd} serve --listen 127.0.0.1:0 --state inner --charter {charter} > inner.said 2>/dev/null </dev/null &
        until grep -q 'listens on' inner.said; do sleep 0.02; done
        url=$(sed -n 's/.*listens on \([^ ]*\).*/\1/p' inner.said)
        curl -s $url/v1/whoami; echo
        curl -s {outer}/v1/whoami; echo
        curl -s $url/message -H 'content-type: application/json' -d "{{\"role\": \"w\", \"prompt\": \"curl -s $url/v1/whoami; echo; curl -s {outer}/v1/whoami\"}}"
        kill $!; wait"#,
        fleetd = env!("CARGO_BIN_EXE_fleetd"),
        charter = house.charter().display(),
        outer = daemon.url,
    );
    let said = printed(&daemon, &script);
    let mut lines = said.lines();
    let mut next = || read(lines.next().unwrap());
    let (inner, outer, envelope) = (next(), next(), next());
    assert_eq!(who(&inner), ("operator", None, None), "the shell that started it: {said}");
    assert_eq!(who(&outer), ("worker", Some("w-1"), Some(true)), "{said}");
    assert_eq!(envelope["outcome"], "replied", "{said}");
    let mut both = envelope["text"].as_str().unwrap().lines().map(read);
    let (inner, outer) = (both.next().unwrap(), both.next().unwrap());
    assert_eq!(who(&inner), ("worker", Some("w-1"), Some(true)), "{said}");
    assert_eq!(who(&outer), ("worker", Some("w-1"), Some(true)), "{said}");
}

#[test]
fn thousands_of_connections_that_close_at_once_do_no_harm() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
    assert_eq!(daemon.get("/v1/whoami").1["caller"], "operator");
    let before = open();
    for n in 0..3_000 {
        let mut stream = TcpStream::connect(local(&daemon)).unwrap();
        if n % 2 == 0 {
            // The process behind it is looked for while it goes away.
            stream.write_all(b"GET /v1/list HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        }
    }
    let me = daemon.get("/v1/whoami").1;
    assert_eq!(who(&me), ("operator", None, None), "{me}");
    assert_eq!(printed(&daemon, "echo still here"), "still here\n");
    until("the end of the connections", || (open() <= before + 4).then_some(()));
}

#[test]
fn another_user_and_a_proxy_are_nobody() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    for header in [
        "Forwarded: for=192.0.2.7",
        "x-forwarded-for: 192.0.2.7",
        "X-Forwarded-Host: x",
        "X-Real-IP: ::1",
        "Via: 1.1 x",
    ] {
        let me = raw(local(&daemon), &daemon, &format!("{header}\r\n"));
        assert_eq!(who(&me), ("anonymous", None, None), "{header}: {me}");
        assert!(me["why"].as_str().unwrap().contains("proxy"), "{header}: {me}");
    }
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut curl = Command::new("curl");
    let said = curl.args(["-s", &format!("{}/v1/whoami", daemon.url)]).uid(65_534).current_dir("/").output().unwrap();
    let me = read(&String::from_utf8(said.stdout).unwrap());
    assert_eq!(who(&me), ("anonymous", None, None), "{me}");
    assert!(me["why"].as_str().unwrap().contains("another user"), "{me}");
}

/// What a worker can do to its own pane-exec, being of the same user: what is then left is told by its mark, and
/// without that by nothing. That it happened is told.
#[test]
fn a_worker_that_kills_its_pane_exec_ends_its_turn_as_unknown_and_only_the_mark_is_left_to_know_it_by() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    // They end by themselves, also when nobody lets them ask.
    let asks = |file: &str| {
        format!(
            ": > {file}.ready; n=0; while ! test -e over && test $n -lt 3000; do sleep 0.02; n=$((n+1)); done; \
             curl -s {}/v1/whoami > {file}.half; mv {file}.half {file}",
            daemon.url
        )
    };
    let script = format!(
        "(setsid env -u FLEET_ROOT sh -c '{}' </dev/null >/dev/null 2>&1 &)
         (setsid env -i PATH=$PATH sh -c '{}' </dev/null >/dev/null 2>&1 &)
         until test -e marked.ready && test -e bare.ready; do sleep 0.02; done; kill -9 $PPID; sleep 60",
        asks("marked"),
        asks("bare")
    );
    let (_, reply) = daemon.post("/message", &json!({ "role": "w", "prompt": script }));
    assert_eq!(reply["outcome"], "unknown", "{reply}");
    assert!(reply["why"].as_str().unwrap().contains("was killed before it could say"), "{reply}");
    std::fs::write(house.path().join("over"), "").unwrap();
    let said = |file: &str| {
        let file = house.path().join(file);
        read(&until("its answer", || std::fs::read_to_string(&file).ok()))
    };
    let marked = said("marked");
    assert_eq!(who(&marked), ("anonymous", None, None), "{marked}");
    assert!(marked["why"].as_str().unwrap().contains("a worker's mark"), "{marked}");
    let bare = said("bare");
    assert_eq!(who(&bare), ("operator", None, None), "docs/security.md says so: {bare}");
    let (_, trace) = daemon.get(&format!("/v1/turns/{}", reply["turn"].as_str().unwrap()));
    assert!(trace["events"].to_string().contains("settled as unknown: pane-exec (pid "), "{trace}");
}

#[test]
fn a_worker_that_reports_at_the_hook_door_is_told_that_its_launcher_takes_none() {
    let house = House::new(&[("team.lua", TEAM)]);
    let daemon = house.start();
    let report = format!("curl -s {}/hook -d '{{\"secret\": \"text\"}}' -w '%{{http_code}}'; true", daemon.url);
    let said = printed(&daemon, &report);
    assert!(said.ends_with("409") && said.contains("'exec', which takes no hooks"), "{said}");
    // A body that breaks off, and one that is too large: each is told so, and can be read by who sent it.
    let local = local(&daemon).replace(':', "/");
    let sent = |body: &str| {
        let head = r"POST /hook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        let script = format!("exec 3<>/dev/tcp/{local}\nprintf '{head}' >&3\n{body} >&3\ncat <&3\n");
        printed(&daemon, &format!("bash <<'END'\n{script}END\n"))
    };
    let broken = sent(r"printf 'Transfer-Encoding: chunked\r\n\r\nno number\r\n'");
    assert!(broken.starts_with("HTTP/1.1 400") && broken.contains("the body broke off"), "{broken}");
    let large = sent(r"{ printf 'Content-Length: 9000000\r\n\r\n'; head -c 9000000 /dev/zero; }");
    assert!(large.starts_with("HTTP/1.1 413") && large.contains("larger than 8 MiB"), "{large}");
    let (status, refused) = daemon.post("/hook", &json!({ "secret": "text" }));
    assert_eq!((status, &refused["kind"]), (403, &json!("not_allowed")), "{refused}");
    let (status, refused) = daemon.get("/hook");
    assert_eq!((status, &refused["hints"]), (405, &json!(["it takes POST"])), "{refused}");
    let state = house.state();
    assert_eq!(daemon.terminate(), Some(0));
    let lines = audited(&state, "hook");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!((&lines[0]["who"]["worker"], &lines[0]["allowed"]), (&json!("w-1"), &json!(true)), "{lines:?}");
    assert_eq!(lines[0]["outcome"], "conflict", "{lines:?}");
    assert_eq!((&lines[3]["who"]["caller"], &lines[3]["refusal"]), (&json!("operator"), &json!("not_allowed")));
}

fn audited(state: &Path, door: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(state.join("audit.jsonl")).unwrap();
    text.lines().map(read).filter(|line| line["door"] == door).collect()
}

#[test]
fn a_worker_has_only_what_its_profile_grants() {
    let house = House::new(&[]);
    let team = |grants: &str| TEAM.replacen("\"sh\" }", &format!("\"sh\" }}, grants = {{ {grants} }}"), 1);
    house.write("team.lua", &team("\"reply\""));
    let daemon = house.start();
    let post = |path: &str, body: &str| {
        format!("curl -s {}{path} -H 'content-type: application/json' -d '{body}'; echo\n", daemon.url)
    };
    let mut batch = Batch::new(&daemon, &[]);
    batch.menu();
    batch.tool("mcp ask", "fleet_ask", &json!({ "text": "may I?", "wait": "1ms" }));
    batch.tool("mcp reply", "fleet_reply", &json!({ "text": "done" }));
    let batch = batch.written(&house, "batch");
    let tries = format!(
        "curl -s {}/v1/whoami; echo\ncurl -sN -K {} >tools 2>/dev/null\n{}{}true",
        daemon.url,
        batch.display(),
        post("/v1/ask", "{\"text\": \"may I?\", \"wait\": \"1ms\"}"),
        post("/v1/reply", "{\"text\": \"done\"}"),
    );
    let send = || {
        let (_, turn) = daemon.post("/v1/send", &json!({ "role": "w", "prompt": format!("exec > said; {tries}") }));
        let wait = format!("/v1/turns/{}/wait?wait=30s", turn["id"].as_str().unwrap());
        // It answers earlier while the turn asks.
        until("the end of the turn", || Some(daemon.get(&wait).1).filter(|reply| !reply["outcome"].is_null()))
    };
    let lines = || std::fs::read_to_string(house.path().join("said")).unwrap().lines().map(read).collect::<Vec<_>>();
    assert_eq!(send()["text"], "done");
    let said = lines();
    assert_eq!(said[0]["may"], json!(["whoami", "health", "metrics", "reply"]), "{said:?}");
    assert!(said[0]["says"].as_str().unwrap().ends_with("you may reply to its turn"), "{said:?}");
    assert_eq!(said[1]["kind"], "not_allowed", "{said:?}");
    assert_eq!(said[1]["message"], "worker w-1 may not ask: its profile 'sh' does not grant it");
    assert_eq!(said[1]["hints"], json!(["granted: reply"]));
    let tools = || outcomes(&std::fs::read_to_string(house.path().join("tools")).unwrap());
    let given = tools();
    assert_eq!(names(&given["mcp menu"].1), ["fleet_whoami", "fleet_reply"]);
    assert_eq!((given["mcp ask"].0, given["mcp reply"].0), (false, true), "{given:?}");

    // The next worker has what the profile says by then.
    house.write("team.lua", &team("\"ask\""));
    assert_eq!(daemon.post("/v1/charter/reload", &json!({})).0, 200);
    assert_eq!(send()["text"], "");
    let said = lines();
    assert_eq!((&said[1]["kind"], &said[1]["answer"]), (&Value::Null, &Value::Null), "it asked: {said:?}");
    assert_eq!(said[2]["hints"], json!(["granted: ask"]), "{said:?}");
    let given = tools();
    assert_eq!(names(&given["mcp menu"].1), ["fleet_whoami", "fleet_ask"]);
    assert_eq!((given["mcp ask"].0, given["mcp reply"].0), (true, false), "{given:?}");

    house.write("team.lua", &team("\"replay\""));
    let (status, refused) = daemon.post("/v1/charter/reload", &json!({}));
    assert_eq!(status, 400, "{refused}");
    let text = refused.to_string();
    assert!(text.contains("team.lua:2") && text.contains("did you mean 'reply'? valid: reply, ask"), "{text}");
}
