//! Structured answers through the real door and real processes: told, checked, sent back with the complaint, and killed in
//! between. What a session is told is the same text, tested with `fleet::shape`.

use serde_json::json;

use crate::support::House;

/// Answers badly at first, and well once it is told what was wrong; it keeps what it read.
const TEAM: &str = r#"
fleet.shape("finding", { file = "string", line = "integer" })
fleet.profile("mends", {
  launcher = "exec",
  command = { "sh", "-c", "cat > \"$DIR/$FLEET_TURN\"; if grep -q 'does not fit' \"$DIR/$FLEET_TURN\"; then echo '[{\"file\": \"a.rs\", \"line\": 7}]'; else echo '[{\"file\": \"a.rs\"}]'; fi" },
  env = { DIR = "SEEN" },
  timeout = "30s",
})
fleet.role("w", { profiles = { "mends" }, max_busy = 1, max_waiting = 8 })
"#;

fn house() -> House {
    let house = House::new(&[]);
    let seen = house.path().join("seen");
    std::fs::create_dir(&seen).unwrap();
    house.write("team.lua", &TEAM.replace("SEEN", seen.to_str().unwrap()));
    house
}

#[test]
fn an_answer_is_sent_back_with_what_is_wrong_and_comes_as_data() {
    let house = house();
    let daemon = house.start();
    let send = json!({ "role": "w", "prompt": "look", "schema": "finding[]", "corrections": 1.0, "key": "k" });
    let (status, reply) = daemon.post("/message", &send);
    assert_eq!((status, &reply["data"]), (200, &json!([{ "file": "a.rs", "line": 7 }])), "{reply}");
    let mut read: Vec<_> =
        std::fs::read_dir(house.path().join("seen")).unwrap().map(|entry| entry.unwrap().path()).collect();
    read.sort();
    let read: Vec<String> = read.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let [first, second] = &read[..] else { panic!("two turns: {read:?}") };
    assert!(first.starts_with("look\n\n---\nAnswer with JSON"), "{first}");
    assert!(second.starts_with(first.as_str()), "a process knows nothing of the turn before: {second}");
    assert!(second.contains("| [{\"file\": \"a.rs\"}]\n"), "{second}");
    assert!(
        second
            .contains("does not fit the JSON Schema that it was asked to fit: at /0: \"line\" is a required property"),
        "{second}"
    );

    daemon.kill();
    let daemon = house.start();
    assert_eq!(daemon.post("/message", &send), (200, reply), "the same key finds the end of the chain");
    assert_eq!(std::fs::read_dir(house.path().join("seen")).unwrap().count(), 2);
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_at_the_door() {
    let house = house();
    let daemon = house.start();
    for (schema, corrections, why) in [
        (json!("findin"), json!(null), "did you mean \"finding\"?"),
        (json!({ "type": "strin" }), json!(null), "it is no JSON Schema that can be used"),
        (json!("finding"), json!(11), "an answer is sent back 10 times at most, not 11"),
        (json!(null), json!(1), "'corrections' without 'schema'"),
        (json!("finding"), json!(1.5), "wanted a whole number"),
    ] {
        let send = json!({ "role": "w", "prompt": "look", "schema": schema, "corrections": corrections });
        let (status, refused) = daemon.post("/v1/send", &send);
        assert_eq!(status, 400, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    }
    let (_, list) = daemon.get("/v1/poll");
    assert_eq!(list["messages"], json!([]), "nothing was accepted");
}

/// Says so many numbers as the first line of its prompt tells it.
const LONG: &str = r#"
fleet.profile("numbers", {
  launcher = "exec",
  command = { "sh", "-c", "read n; printf '['; seq -s, 1 $n | tr -d '\n'; printf ']'" },
  timeout = "60s",
})
fleet.role("w-long", { profiles = { "numbers" } })
fleet.recipe("count", { input = { n = "integer" } }, function(job, run)
  local reply = run:send({ to = "w-long", prompt = job.n .. "\n", schema = "integer[]", corrections = 0 })
  if not reply.ok then return run:fail(reply.why) end
  local ok, data = pcall(function() return reply.data end)
  return { ok, ok and #data or data, reply.truncated and reply.truncated.bytes or 0 }
end)
"#;

#[test]
fn a_long_answer_is_checked_whole_and_its_data_lies_in_a_file_of_its_turn() {
    let house = house();
    house.write("long.lua", LONG);
    let daemon = house.start();
    let ask = |n: u32| {
        daemon.post(
            "/message",
            &json!({"role": "w-long", "prompt": format!("{n}\n"), "schema": "integer[]", "corrections": 0.0}),
        )
    };
    let (_, reply) = ask(200_000);
    assert_eq!((&reply["ok"], &reply["truncated"]["bytes"]), (&json!(true), &json!(1_288_896)), "{}", reply["why"]);
    assert_eq!((reply["text"].as_str().unwrap().len(), reply.get("data")), (1 << 20, None));
    let file = reply["truncated"]["data"].as_str().expect("its data goes by a file");
    let data: Vec<u32> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((data.len(), data.last()), (200_000, Some(&200_000)));
    let turns = format!("/turns/{}/", reply["turn"].as_str().unwrap());
    assert!(file.contains(&turns) && reply["truncated"]["path"].as_str().unwrap().contains(&turns), "{file}");

    let (_, reply) = ask(2_500_000);
    assert_eq!((&reply["ok"], &reply["error"]), (&json!(false), &json!("schema")));
    let why = reply["why"].as_str().unwrap();
    assert!(why.ends_with(" bytes, and 16 MiB is the most; put the long part into a file and name its path"), "{why}");

    // Where nothing is kept of the data, nothing reads as if it were there.
    let run = |n: u32| daemon.post("/v1/run", &json!({"recipe": "count", "job": {"n": n}, "wait": "60s"}));
    let (_, short) = run(10);
    assert_eq!(short["value"], json!([true, 10, 0]), "{short}");
    let (_, long) = run(200_000);
    let value = &long["value"];
    assert_eq!((&value[0], &value[2]), (&json!(false), &json!(1_288_896)), "{long}");
    let why = value[1].as_str().unwrap();
    assert!(
        why.starts_with("long.lua:") && why.contains("reply.data has more than 1 MiB") && why.contains("/data.json"),
        "{why}"
    );
}
