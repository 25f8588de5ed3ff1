//! The task that watches: one stream of the few events that tell of ends and moves, and a look at everything when one
//! comes, when the stream is new, and now and then whatever happens. Events may come late, twice, in another order, or
//! not at all; so none of them is believed, and each only means "look".

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::time::{sleep, sleep_until, timeout};

use super::told::{Answer, Done, Event, Snapshot};
use super::wire::{Fault, request};
use super::{Desk, find, order};
use crate::engine::panes::{PaneError, PaneSeen};
use crate::fleet::worker::Process;
use crate::process::ProcessId;

/// What is listened to: ends and moves. Nothing tells of a renamed pane or of a state.
const KINDS: [&str; 5] = ["pane.exited", "pane.closed", "pane.moved", "tab.closed", "workspace.closed"];
/// How often a pane is looked at that somebody looks at.
const SCREEN_EVERY: Duration = Duration::from_millis(300);
/// How soon after a look the next one may be: a new stream begins with old events, and each would ask for one.
const REST: Duration = Duration::from_millis(50);
/// How long to wait for herdr when it is away, at first and at most.
const AWAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// An event that is longer than this is not one of ours.
const LONGEST_EVENT: usize = 1 << 20;

/// Watches for as long as it is run.
pub async fn run(desk: Arc<Desk>) {
    let mut wait = AWAY.0;
    loop {
        let ended = match begin(&desk).await {
            Ok(stream) => {
                wait = AWAY.0;
                follow(&desk, stream).await
            }
            Err(fault) => PaneError::from(fault),
        };
        // A server that is there again at once was only renewed: nobody needs to hear that it was away.
        let why = ended.to_string();
        desk.state().is_known = false;
        // Whoever calls in vain has it tried again sooner, but not all the time.
        sleep(AWAY.0).await;
        tokio::select! {
            () = sleep(wait - AWAY.0) => {}
            () = desk.nudge.notified(), if wait > AWAY.0 => {}
        }
        if wait > AWAY.0 {
            is_down(&desk, why);
        }
        wait = (wait * 2).min(AWAY.1);
    }
}

fn is_down(desk: &Desk, why: String) {
    let before = desk.state().down.replace(why.clone());
    if before.as_ref() != Some(&why) {
        tracing::warn!(why, "herdr is away");
        desk.tell(PaneSeen::Down(why));
    }
}

fn is_up(desk: &Desk) {
    if desk.state().down.take().is_some() {
        tracing::info!(socket = %desk.options.socket.display(), "herdr is there");
    }
    // Whatever was seen on another stream may be wrong by now.
    desk.tell(PaneSeen::Up);
}

type Stream = Lines<BufReader<UnixStream>>;

/// Opens the stream, and looks only then: what happens in between comes as an event.
async fn begin(desk: &Desk) -> Result<Stream, Fault> {
    desk.check_protocol().await?;
    let kinds: Vec<_> = KINDS.iter().map(|kind| json!({"type": kind})).collect();
    let line = request("events.subscribe", json!({"subscriptions": kinds}))?;
    let mut stream = desk.connect().await?;
    let broken = |error: std::io::Error| Fault::Unreachable(format!("herdr's events cannot be read: {error}"));
    let begun = async {
        stream.write_all(&line).await.map_err(broken)?;
        // Nothing is ever written to it again: any byte ends it.
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next_line().await.map_err(broken)?.unwrap_or_default();
        let answer: Result<Answer<Done>, _> = serde_json::from_str(&first);
        match answer {
            Ok(Answer { error: None, result: Some(_) }) => Ok(lines),
            Ok(Answer { error: Some(refusal), .. }) => Err(Fault::Refused(refusal)),
            _ => Err(Fault::Unreachable("herdr closed its events at once".to_owned())),
        }
    };
    let late = |_| Fault::Unreachable("herdr did not answer in time".to_owned());
    let stream = timeout(desk.options.answer_within, begun).await.map_err(late)??;
    look(desk).await?;
    is_up(desk);
    Ok(stream)
}

/// Reads the stream to its end; returns how it ended.
async fn follow(desk: &Desk, mut stream: Stream) -> PaneError {
    let mut next_look = Instant::now() + desk.options.look_every;
    let mut next_screens = Instant::now();
    loop {
        let watched = watched(desk);
        let at = if watched.is_empty() { next_look } else { next_look.min(next_screens) };
        tokio::select! {
            // A line that is cut off by another branch is not lost: the reader keeps what it has.
            line = stream.next_line() => match line {
                Ok(Some(line)) if line.len() <= LONGEST_EVENT => {
                    if matters(desk, &line) {
                        next_look = next_look.min(Instant::now() + REST);
                    }
                }
                Ok(Some(_)) => return PaneError::Unavailable("herdr told something too long".to_owned()),
                Ok(None) => return PaneError::Unavailable(away(desk, "herdr has closed its events")),
                Err(error) => return PaneError::Unavailable(away(desk, &format!("herdr's events broke: {error}"))),
            },
            () = sleep_until(at.into()) => {}
            () = desk.nudge.notified() => next_look = next_look.min(Instant::now() + REST),
        }
        if Instant::now() >= next_look {
            if let Err(fault) = look(desk).await {
                let error = PaneError::from(fault);
                // The stream lives, so it is too early to say that herdr is away: it may only stand still.
                tracing::debug!(%error, "herdr was not looked at");
            }
            next_look = Instant::now() + desk.options.look_every;
        }
        if !watched.is_empty() && Instant::now() >= next_screens {
            look_at_screens(desk, watched).await;
            next_screens = Instant::now() + SCREEN_EVERY;
        }
    }
}

fn away(desk: &Desk, why: &str) -> String {
    format!("{why} ({})", desk.options.socket.display())
}

/// Tells whether an event may be about one of ours. What is replayed from before our time mostly is not.
fn matters(desk: &Desk, line: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Event>(line) else { return false };
    let ids = [event.data.pane_id, event.data.previous_pane_id];
    if ids.iter().all(Option::is_none) {
        // A tab or a workspace with all that was in it.
        return !desk.state().known.is_empty();
    }
    let state = desk.state();
    state.known.values().any(|known| known.ids.iter().any(|id| ids.iter().flatten().any(|about| about == id)))
}

/// Looks at everything: tells which panes are gone, learns new ids, restores labels.
async fn look(desk: &Desk) -> Result<(), Fault> {
    let snapshot = find::snapshot(desk).await.map_err(|error| Fault::Unreachable(error.to_string()))?;
    let mut present: Vec<(Process, usize)> = Vec::new();
    for (n, told) in snapshot.panes.iter().enumerate() {
        let root = find::root_of(desk, told).await.map_err(|error| Fault::Unreachable(error.to_string()))?;
        present.extend(root.map(|root| (root, n)));
    }
    let mut gone = Vec::new();
    {
        let mut state = desk.state();
        let terminals = &snapshot.panes;
        state.roots.retain(|terminal, _| terminals.iter().any(|told| told.terminal_id == *terminal));
        state.known.retain(|root, known| {
            let at = present.iter().find(|(other, _)| other == root).map(|(_, n)| *n);
            match at {
                Some(n) if !known.ids.contains(&snapshot.panes[n].pane_id) => {
                    known.ids.push(snapshot.panes[n].pane_id.clone());
                }
                Some(_) => {}
                // One that was started while this was asked for is not in the answer: only the dead are gone.
                None if ProcessId::from(*root).is_alive() => {}
                None => gone.append(&mut known.ids),
            }
            at.is_some() || ProcessId::from(*root).is_alive()
        });
    }
    for id in gone {
        desk.tell(PaneSeen::Gone(id));
    }
    restore_labels(desk, &snapshot, &present).await;
    Ok(())
}

/// Gives back the labels that were lost, as by a move to a new tab. One that people gave stays.
async fn restore_labels(desk: &Desk, snapshot: &Snapshot, present: &[(Process, usize)]) {
    for (root, n) in present {
        let told = &snapshot.panes[*n];
        let slot = desk.state().known.get(root).and_then(|known| known.slot.clone());
        let Some(name) = slot.map(|slot| slot.worker.to_string()) else { continue };
        if told.label.is_none() {
            let _ = desk.ask::<Done>("pane.rename", json!({"pane_id": told.pane_id, "label": name})).await;
        }
        let tab = snapshot.tabs.iter().find(|tab| tab.tab_id == told.tab_id && tab.pane_count == 1);
        if let Some(tab) = tab.filter(|tab| order::is_unlabelled(&snapshot.tabs, tab)) {
            let _ = desk.ask::<Done>("tab.rename", json!({"tab_id": tab.tab_id, "label": name})).await;
        }
    }
}

/// Returns the panes that somebody looked at just now; nobody looks at an idle fleet, so this costs nothing then.
fn watched(desk: &Desk) -> Vec<(Process, String)> {
    let now = Instant::now();
    let mut state = desk.state();
    let mut found = Vec::new();
    for (root, known) in &mut state.known {
        if known.looked_at.take_if(|(until, _)| *until < now).is_none()
            && known.looked_at.is_some()
            && let Some(id) = known.ids.last()
        {
            found.push((*root, id.clone()));
        }
    }
    found
}

async fn look_at_screens(desk: &Desk, panes: Vec<(Process, String)>) {
    for (root, id) in panes {
        let Ok(lines) = find::visible(desk, &id).await else { continue };
        let mut state = desk.state();
        let looked_at = state.known.get_mut(&root).and_then(|known| known.looked_at.as_mut());
        let has_changed = looked_at.is_some_and(|(_, before)| {
            let has_changed = *before != lines;
            *before = lines;
            has_changed
        });
        drop(state);
        if has_changed {
            desk.tell(PaneSeen::Changed(id));
        }
    }
}
