//! What clients need to hear of the server, how large things may be, and the answers that would lead a client astray.
//! Wrong calls within the bounds are in `refusals`.

use serde_json::{Value, json};

use super::client::Client;
use crate::door::inside::Inside;

#[test]
fn a_client_hears_the_rules_and_which_answers_are_long() {
    let door = Inside::new();
    let client = Client::silent(door.local);
    let server = client.begin();
    assert_eq!(server["protocolVersion"], "2025-11-25");
    assert_eq!(server["serverInfo"]["name"], "fleetd");
    let instructions = server["instructions"].as_str().unwrap();
    assert!((400..2_000).contains(&instructions.chars().count()) && instructions.contains("fleet_ack"));
    for list in ["tools", "prompts"] {
        assert_eq!(server["capabilities"][list]["listChanged"], true, "{server}");
    }
    let found = Client::stateless(door.local).ask("server/discover", json!({}));
    assert_eq!(found["result"]["instructions"], instructions, "{found}");
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let long =
        |tool: &&Value| tool["_meta"]["anthropic/maxResultSizeChars"].as_u64().is_some_and(|most| most > 200_000);
    let long: Vec<_> =
        tools.as_array().unwrap().iter().filter(long).map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(long, ["fleet_status", "fleet_send", "fleet_poll", "fleet_cancel", "fleet_run"]);
}

#[test]
fn a_prompt_may_have_a_mebibyte_and_not_more() {
    let door = Inside::new();
    for client in [Client::new(door.local), Client::stateless(door.local)] {
        // The worst case: every character takes six bytes on its way.
        let most = "\u{1}".repeat(1 << 20);
        let reply = client.good("fleet_send", json!({ "to": "w-upper", "prompt": most, "wait": "50s" }));
        assert_eq!(reply["text"].as_str().unwrap().len(), 1 << 20);
        let more = "x".repeat((1 << 20) + 1);
        let refusal = client.call("fleet_send", json!({ "to": "w-upper", "prompt": more })).refusal();
        assert!(refusal.starts_with("too_large: ") && refusal.contains("1048576"), "{refusal}");
    }
}

#[test]
fn a_body_beyond_all_bounds_is_413_and_can_be_read_by_who_sent_it() {
    let door = Inside::new();
    for client in [Client::new(door.local), Client::stateless(door.local)] {
        // More than the kernel would hold for a server that does not read.
        assert_eq!(client.post_raw(&vec![b' '; 40 << 20], "").status, 413);
        let prompt = "x".repeat(9 << 20);
        let answer = client.start_call("fleet_send", json!({ "to": "w-upper", "prompt": prompt }), json!({}));
        assert_eq!(answer.status, 413);
        client.good("fleet_whoami", json!({}));
    }
}

#[test]
fn nobody_is_ever_sent_to_log_in() {
    let door = Inside::new();
    let never = |what: &str, status: u16| assert!(status != 401 && status < 500, "{what} got {status}");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string();
    for session in [None, Some("unknown".to_string())] {
        let client = Client::silent(door.local);
        client.session.replace(session);
        for header in
            ["", "Authorization: Bearer wrong\r\n", "X-Forwarded-For: 1.2.3.4\r\n", "Origin: http://evil.example\r\n"]
        {
            never(header, client.post_raw(body.as_bytes(), header).status);
        }
        never("listen", client.listen(None).status);
        never("end", client.end());
    }
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/register"] {
        assert_eq!(door.get(path).0, 404, "{path}");
    }
    // Whoever comes by a proxy is nobody: it may ask who it is, and is told why it may do no more.
    let client = Client::stateless(door.local);
    let proxied = |tool: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        } });
        let headers = format!("X-Forwarded-For: 1.2.3.4\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n");
        client.post_raw(message.to_string().as_bytes(), &headers).fine().called()
    };
    assert_eq!(proxied("fleet_whoami").good()["caller"], "anonymous");
    let refusal = proxied("fleet_list").refusal();
    assert!(refusal.contains("through a proxy") && refusal.ends_with("you may: whoami"), "{refusal}");
}
