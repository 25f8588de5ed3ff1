//! A process that commits without pause is killed at arbitrary moments: what it was told is stored is there, and no
//! commit is there in part. The child is this same test binary.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fleetd::engine::ports::Journal;
use fleetd::fleet::ids::TurnId;

use crate::store_rows::{Place, life};

const ROUNDS: u64 = 20;
const DIR: &str = "FLEETD_TEST_CRASH_DIR";

#[test]
fn what_was_acknowledged_survives_kill_9_and_nothing_is_there_in_part() {
    let place = Place::new();
    let mut acknowledged: Vec<u64> = Vec::new();
    let mut found_before = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store_crash::the_child_that_is_killed", "--ignored", "--nocapture", "--test-threads=1"])
            .env(DIR, place.dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Killed in the middle of its work, after a number of answers that differs from round to round.
        let answers = 1 + round * round * 7 % 113;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acks = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("ack ")?.parse::<u64>().ok());
        acknowledged.extend(acks.by_ref().take(usize::try_from(answers).unwrap()));
        child.kill().unwrap();
        // What it had written before it died counts as well.
        acknowledged.extend(acks);
        child.wait().unwrap();

        let store = place.open();
        let next = place.wait(store.load()).unwrap().next;
        let mut found = 0;
        // Turns in flight are numbered without gaps, so a few above `next` are looked for too.
        for id in 1..next + 100 {
            let parts = [
                place.wait(store.turn(TurnId(id))).unwrap().is_some(),
                place.wait(store.prompt(TurnId(id))).unwrap().is_some(),
                place.wait(store.envelope(TurnId(id))).unwrap().is_some(),
                place.wait(store.events(TurnId(id))).unwrap().len() == 2,
            ];
            assert!(parts.iter().all(|part| *part == parts[0]), "round {round}: turn {id} in part: {parts:?}");
            assert!(parts[0] || !acknowledged.contains(&id), "round {round}: turn {id} was acknowledged and is lost");
            found += u64::from(parts[0]);
        }
        assert_eq!(found, next.saturating_sub(1), "the counter is as far as the turns are");
        assert!(found >= found_before + answers, "round {round} stored nothing");
        found_before = found;
    }
    assert!(acknowledged.len() as u64 > ROUNDS * 10, "{} acknowledgements", acknowledged.len());
}

#[test]
#[ignore = "the crash test starts it as its child"]
fn the_child_that_is_killed() {
    let Some(dir) = std::env::var_os(DIR) else { panic!("{DIR} names the state directory") };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let state = fleetd::store::StateDir::take(dir.as_ref()).unwrap();
    let store = fleetd::store::Store::open(&state).unwrap();
    runtime.block_on(async move {
        let first = store.load().await.unwrap().next.max(1);
        // Several in flight, so that a kill also falls between the commits of one group.
        let mut flight = std::collections::VecDeque::new();
        for id in first.. {
            let store: &Arc<fleetd::store::Store> = &store;
            flight.push_back((id, store.commit(life(id, 10, &"text ".repeat(100)))));
            if flight.len() > 8
                && let Some((id, commit)) = flight.pop_front()
            {
                commit.await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "ack {id}").and_then(|()| out.flush()).unwrap();
            }
        }
    });
}
