//! The recorded sessions of both versions, read by this client's types:
//! nothing that it uses may be lost.

use std::collections::HashMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::told::*;

fn lines(version: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/herdr").join(version);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for (n, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            found.push((format!("{}:{}", path.display(), n + 1), serde_json::from_str(line).unwrap()));
        }
    }
    found
}

fn result<T: DeserializeOwned>(answer: &Value) -> T {
    let answer: Answer<T> = serde_json::from_value(answer.clone()).unwrap();
    answer.result.unwrap()
}

fn count(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

fn same(told: &PaneTold, recorded: &Value) {
    assert_eq!(told.pane_id, recorded["pane_id"]);
    assert_eq!(told.terminal_id, recorded["terminal_id"]);
    assert_eq!(told.workspace_id, recorded["workspace_id"]);
    assert_eq!(told.tab_id, recorded["tab_id"]);
    assert_eq!(told.label.as_deref(), recorded["label"].as_str());
}

/// Reads an answer as the client would, and compares what it uses with the recording.
fn read_answer(method: &str, answer: &Value) -> bool {
    if let Some(error) = answer.get("error") {
        let read: Answer<Done> = serde_json::from_value(answer.clone()).unwrap();
        let refusal = read.error.unwrap();
        assert_eq!((refusal.code, refusal.message), (text(&error["code"]), text(&error["message"])));
        return true;
    }
    let recorded = &answer["result"];
    match method {
        "ping" => {
            let pong: Greeting = result(answer);
            assert_eq!(
                (Value::from(pong.protocol), pong.version),
                (recorded["protocol"].clone(), text(&recorded["version"]))
            );
            assert!(pong.protocol >= OLDEST_PROTOCOL);
        }
        "session.snapshot" => {
            let Snapshotted { snapshot } = result(answer);
            let recorded = &recorded["snapshot"];
            assert_eq!(snapshot.workspaces.len(), count(&recorded["workspaces"]));
            assert_eq!(snapshot.tabs.len(), count(&recorded["tabs"]));
            assert_eq!(snapshot.panes.len(), count(&recorded["panes"]));
            snapshot.panes.iter().zip(recorded["panes"].as_array().unwrap()).for_each(|(a, b)| same(a, b));
        }
        "workspace.create" => {
            let created: WorkspaceCreated = result(answer);
            assert_eq!(created.workspace.workspace_id, recorded["workspace"]["workspace_id"]);
            assert_eq!(created.workspace.label, recorded["workspace"]["label"]);
            same(&created.root_pane, &recorded["root_pane"]);
        }
        "layout.apply" => {
            let Applied { layout } = result(answer);
            assert_eq!(layout.focused_pane_id, recorded["layout"]["root"]["pane_id"], "the one pane of ours");
            assert_eq!(layout.tab_id, recorded["layout"]["tab_id"]);
            assert_eq!(layout.workspace_id, recorded["layout"]["workspace_id"]);
        }
        "tab.list" | "tab.move" => {
            let Tabs { tabs } = result(answer);
            for (tab, recorded) in tabs.iter().zip(recorded["tabs"].as_array().unwrap()) {
                assert_eq!((&*tab.tab_id, &*tab.label), (&*text(&recorded["tab_id"]), &*text(&recorded["label"])));
                assert_eq!(Value::from(tab.pane_count), recorded["pane_count"]);
            }
        }
        "pane.process_info" => {
            let ProcessTold { process_info } = result(answer);
            assert_eq!(Value::from(process_info.shell_pid), recorded["process_info"]["shell_pid"]);
            assert_eq!(process_info.pane_id, recorded["process_info"]["pane_id"]);
        }
        "pane.read" => {
            let ReadTold { read } = result(answer);
            assert_eq!(read.text, recorded["read"]["text"]);
        }
        "pane.send_input" | "pane.send_keys" | "pane.close" | "pane.rename" | "tab.rename" | "events.subscribe" => {
            let Done {} = result(answer);
        }
        _ => return false,
    }
    true
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn read_recordings(version: &str) {
    let mut requests: HashMap<(String, u64), String> = HashMap::new();
    let (mut answers, mut events) = (0, 0);
    for (place, line) in lines(version) {
        let file = place.rsplit_once(':').unwrap().0.to_owned();
        let key = (file, line["conn"].as_u64().unwrap());
        let message = &line["msg"];
        if line["dir"] == "send" {
            requests.insert(key, message["method"].as_str().unwrap_or_default().to_owned());
        } else if message.get("event").is_some() {
            let event: Event = serde_json::from_value(message.clone()).unwrap();
            let data = &message["data"];
            assert_eq!(event.data.pane_id.as_deref(), data["pane_id"].as_str(), "{place}");
            assert_eq!(event.data.previous_pane_id.as_deref(), data["previous_pane_id"].as_str(), "{place}");
            events += 1;
        } else if message.get("result").is_some() || message.get("error").is_some() {
            answers += usize::from(requests.get(&key).is_some_and(|method| read_answer(method, message)));
        }
    }
    assert!(answers > 500 && events > 500, "{answers} answers and {events} events were read");
}

#[test]
fn the_recordings_of_0_8_0_are_read() {
    read_recordings("0.8.0");
}

#[test]
fn the_recordings_of_0_8_2_are_read() {
    read_recordings("0.8.2");
}
