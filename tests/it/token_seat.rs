//! The leader's seat held by a token, on a real daemon: by a session, from wherever the token comes, as long as it is
//! used. What a token lets in at all is tested beside this file.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Daemon, House, PATIENCE, agent};

const TOKEN: &str = "0123456789abcdef-0123456789abcdef";

fn house(seat_ttl: &str) -> House {
    let house = House::new(&[(
        "team.lua",
        "fleet.profile('upper', { launcher = 'exec', command = { 'tr', 'a-z', 'A-Z' } })\n\
         fleet.role('w-upper', { profiles = { 'upper' } })\n",
    )]);
    let file = house.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let settings = format!("auth = \"token\"\ntoken_file = \"token\"\nseat_ttl = \"{seat_ttl}\"\n");
    std::fs::write(house.path().join("fleetd.toml"), settings).unwrap();
    house
}

/// A client of the session protocol that shows the token, as if it came through a proxy from elsewhere.
struct Client<'d> {
    daemon: &'d Daemon,
    session: Option<String>,
}

impl<'d> Client<'d> {
    fn new(daemon: &'d Daemon) -> Client<'d> {
        let mut client = Client { daemon, session: None };
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.ask("initialize", hello);
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn post(&mut self, body: &Value) -> String {
        let mut request = agent().post(format!("{}/mcp", self.daemon.url));
        request = request.header("authorization", format!("Bearer {TOKEN}")).header("x-forwarded-for", "192.0.2.7");
        request = request.header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        let mut answer = request.send_json(body).unwrap();
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_string());
        }
        answer.body_mut().read_to_string().unwrap()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let data = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        let messages: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
        messages.into_iter().find(|message| message["id"] == 1).unwrap_or_else(|| panic!("{answer}"))["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))["structuredContent"].clone()
    }
}

fn seat(daemon: &Daemon) -> Value {
    let request = agent().get(format!("{}/v1/seat", daemon.url)).header("authorization", format!("Bearer {TOKEN}"));
    request.call().unwrap().body_mut().read_json().unwrap()
}

#[test]
fn a_session_with_the_token_leads_from_wherever_it_is_and_another_one_does_not() {
    let house = house("10m");
    let daemon = house.start();
    let (mut first, mut second) = (Client::new(&daemon), Client::new(&daemon));
    assert_eq!(first.call("fleet_whoami", json!({}))["caller"], "operator");
    let reply = first.call("fleet_send", json!({"to": "w-upper", "prompt": "hello", "wait": "60s"}));
    assert_eq!(reply["text"], "HELLO", "{reply}");
    assert_eq!(first.call("fleet_whoami", json!({}))["caller"], "leader");
    let refused = second.call("fleet_list", json!({}));
    assert_eq!(refused["kind"], "not_allowed", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("has been the leader for"), "{refused}");
    assert!(!refused.to_string().contains(first.session.as_deref().unwrap()), "the id of a session is nobody's matter");
    // Whoever shows the token without a session is not that session.
    assert_eq!(seat(&daemon)["taken"], true);
    let session = first.session.clone();
    daemon.kill();

    let daemon = house.start();
    let mut again = Client { daemon: &daemon, session };
    assert_eq!(again.call("fleet_whoami", json!({}))["caller"], "leader", "the session and its seat are still there");
}

#[test]
fn a_seat_that_is_not_used_for_its_time_is_free() {
    let house = house("1s");
    let daemon = house.start();
    let mut client = Client::new(&daemon);
    client.call("fleet_list", json!({}));
    assert_eq!(seat(&daemon)["taken"], true);
    let begun = std::time::Instant::now();
    while seat(&daemon)["taken"] == true {
        assert!(begun.elapsed() < PATIENCE, "{}", seat(&daemon));
    }
    assert_eq!(client.call("fleet_whoami", json!({}))["caller"], "operator");
}
