//! Five hundred reloads of a real daemon under load: people send messages all the time, and runs are under way.
//! What a reload does to the charter alone is seen in `charter::flood`; here the fleet, the store and the workers are real.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::{Daemon, House, agent, until};

const RELOADS: u32 = 500;
/// After so many reloads a run is begun.
const EVERY: u32 = 25;
const SENDERS: usize = 3;
/// What the daemon may grow by between the hundredth reload and the last one.
const GROWTH_KIB: u64 = 32 * 1024;

/// A save that changes a cap, the rubric's words and the recipe's steps, and leaves the role where it is.
fn team(number: u32) -> String {
    format!(
        "fleet.profile('upper', {{ launcher = 'exec', command = {{ 'tr', 'a-z', 'A-Z' }} }})\n\
         fleet.role('w', {{ profiles = {{ 'upper' }}, max_busy = {}, max_waiting = 1000 }})\n\
         fleet.route('the only one', function() return {{ role = 'w', because = 'save {number}' }} end)\n\
         fleet.recipe('chain', {{}}, function(job, run)\n  \
           local first = run:send {{ to = 'w', prompt = 'run of {number}' }}\n  \
           run:sleep('300ms')\n  \
           local second = run:send {{ prompt = 'end of {number}' }}\n  \
           return {{ first.text, second.text, {number} }}\n\
         end)\n",
        number % 4 + 1
    )
}

/// Sends messages one after the other, each to whom the rubrics say; every reply must be the one to its prompt.
fn send_until(url: &str, sender: usize, enough: &AtomicBool) -> u32 {
    let (agent, mut sent) = (agent(), 0);
    while !enough.load(Ordering::Relaxed) {
        let prompt = format!("message {sent} of sender {sender}");
        let mut answer = agent
            .post(format!("{url}/message"))
            .send_json(json!({ "to": "auto", "prompt": prompt }))
            .expect("answered");
        let reply: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        assert_eq!((answer.status().as_u16(), &reply["text"]), (200, &json!(prompt.to_uppercase())), "{reply}");
        sent += 1;
    }
    sent
}

fn vms(daemon: &Daemon) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap().flatten();
    let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    names
        .filter(|name| {
            name.starts_with("charter-") && name.trim_start_matches("charter-").starts_with(char::is_numeric)
        })
        .count()
}

fn resident_kib(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn five_hundred_reloads_of_a_daemon_that_works_lose_no_message_and_no_run() {
    let house = House::new(&[("team.lua", &team(1))]);
    let daemon = house.start();
    let enough = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (url, enough) = (daemon.url.clone(), Arc::clone(&enough));
            std::thread::spawn(move || send_until(&url, sender, &enough))
        })
        .collect();
    let (mut runs, mut resident) = (Vec::new(), 0);
    for number in 2..=RELOADS + 1 {
        // By rename, as a careful program saves: what is read is one save or the other.
        std::fs::write(house.charter().join(".new"), team(number)).unwrap();
        std::fs::rename(house.charter().join(".new"), house.charter().join("team.lua")).unwrap();
        let (status, charter) = daemon.post("/v1/charter/reload", &json!({}));
        assert_eq!((status, &charter["generation"]["number"]), (200, &json!(number)), "{charter}");
        if number % EVERY == 0 {
            let (_, begun) = daemon.post("/v1/run", &json!({ "recipe": "chain" }));
            runs.push((number, begun["id"].as_str().expect("begun").to_string()));
        }
        if number == 100 {
            resident = resident_kib(&daemon);
        }
    }
    for (number, run) in &runs {
        let (status, ended) = daemon.get(&format!("/v1/runs/{run}/wait?wait=60s"));
        assert_eq!((status, &ended["outcome"]), (200, &json!("done")), "{ended}");
        let value = json!([format!("RUN OF {number}"), format!("END OF {number}"), number]);
        assert_eq!(ended["value"], value, "it went on with the files it began with");
    }
    enough.store(true, Ordering::Relaxed);
    let sent: u32 = senders.into_iter().map(|sender| sender.join().expect("every message had its reply")).sum();
    assert!(sent >= 100, "only {sent} messages were sent");
    let (_, charter) = daemon.get("/v1/charter");
    assert_eq!((&charter["rejected"], &charter["rubric_errors"], charter.get("error")), (&json!(0), &json!(0), None));
    let (_, list) = daemon.get("/v1/list");
    assert_eq!((&list["open_turns"], &list["open_runs"]), (&json!(0), &json!(0)), "{list}");

    until("the VMs of old generations are gone", || (vms(&daemon) == 1).then_some(()));
    let grown = resident_kib(&daemon).saturating_sub(resident);
    assert!(grown < GROWTH_KIB, "{grown} KiB more than after a hundred reloads");
}
