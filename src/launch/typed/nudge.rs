//! Telling the leader by one line in its own pane that something waits for it: only while it is idle with an empty
//! composer, and only in a pane that shows to be the leader's now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::session::front::PAUSED;
use super::Desk;
use super::leaders;
use super::look::Look;
use super::submit::{Act, End, OWN_WORK, Submission};
use crate::engine::panes::{Key, Pane, PaneError};
use crate::fleet::input::{Nudged, Sighting};
use crate::fleet::typing::Typing;
use crate::fleet::worker::Process;
use crate::process::{ProcessId, is_in_foreground, lineage};

/// How long one try may take; a dialog may stand before the composer for hours.
const LONGEST: Duration = Duration::from_secs(60);
/// How each line begins and ends.
const BEGIN: &str = "[fleet] ";
const END: &str = " for you: call fleet_poll";

/// Tells the leader once, and reports what came of it.
pub(super) async fn tell(desk: Arc<Desk>, leader: Process, waiting: usize) {
    // Whoever is not heard of is tried again.
    let Ok(alone) = desk.telling.try_lock() else { return };
    let how = tokio::time::timeout(LONGEST, try_once(&desk, leader, waiting)).await;
    // Before it is told: the next order may come at once.
    drop(alone);
    let how = how.unwrap_or_else(|_| Nudged::NotNow("its composer did not come back".into()));
    desk.common.tell(Sighting::Nudged { leader, how }).await;
}

async fn try_once(desk: &Desk, leader: Process, waiting: usize) -> Nudged {
    let Some(words) = &desk.leader else {
        return Nudged::NoPane("fleetd.toml says that the leader is not told in its pane".into());
    };
    if !ProcessId::from(leader).is_alive() {
        return Nudged::NoPane("the leader is gone".into());
    }
    let above = lineage(ProcessId::from(leader)).into_iter().map(Process::from).collect();
    let pane = match desk.host().pane_of(above).await {
        Ok(Some(pane)) => pane,
        Ok(None) => return Nudged::NoPane(format!("the leader runs in no pane of {}", desk.host().word())),
        Err(error) => return Nudged::NotNow(error.to_string()),
    };
    let what = if waiting == 1 { "1 thing waits" } else { &format!("{waiting} things wait") };
    let line = format!("{BEGIN}{what}{END}");
    let typing = leaders::typing(ProcessId::from(leader), words);
    match type_line(desk, &typing, leader, &pane, &line).await {
        Ok(()) => Nudged::Typed,
        Err(why) => Nudged::NotNow(why),
    }
}

/// Types one line and enters it. The error says why it was not entered.
async fn type_line(desk: &Desk, typing: &Typing, leader: Process, pane: &Pane, line: &str) -> Result<(), String> {
    let mut submission = None;
    let began = Instant::now();
    let failed = |error: PaneError| error.to_string();
    loop {
        let screen = desk.host().screen(pane.clone()).await.map_err(failed)?;
        let look = Look::of(&screen, typing);
        // A line that was left standing is entered when its agent rests, as a new one is typed.
        if submission.is_none() && look.busy && look.composer.as_deref().is_some_and(is_ours) {
            return Err(OWN_WORK.into());
        }
        let submission =
            submission.get_or_insert_with(|| match look.composer.as_deref().filter(|text| is_ours(text)) {
                // Left by an earlier try, of which it was not seen that it stood there, or by a daemon that was killed.
                Some(left) => Submission::resumed(left, String::new()),
                None => Submission::new(line, None),
            });
        let act = submission.next(began.elapsed(), &look, typing, |_| false, false);
        // A line that stands there gets its Enter: left behind it would be taken for somebody's draft.
        if desk.pause.is_on() && act == Act::Paste {
            return Err(PAUSED.into());
        }
        // Whoever is behind the leader in its terminal, such as its shell, would run the line as a command.
        if !is_in_foreground(ProcessId::from(leader)) {
            return Err("the leader is not in the foreground of its terminal".into());
        }
        match act {
            Act::Paste => desk.host().paste(pane.clone(), line.into()).await.map_err(failed)?,
            Act::Enter => desk.host().press(pane.clone(), vec![Key::Enter]).await.map_err(failed)?,
            Act::Look(after) => tokio::time::sleep(after).await,
            // Nothing of a leader's is ever emptied.
            Act::Clear => return Err("another text stands in its composer".into()),
            Act::End(End::Taken) => return Ok(()),
            Act::End(End::Held(why) | End::Unknown(why)) => return Err(why),
        }
    }
}

/// Returns whether a line of ours stands in a composer, and nothing else: nobody's words go along with its Enter. The
/// screen breaks it where it likes.
fn is_ours(composer: &str) -> bool {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let text = dense(composer);
    let what = text.strip_prefix(&dense(BEGIN)).and_then(|rest| rest.strip_suffix(&dense(END)));
    let count = what.and_then(|what| what.strip_suffix("thingwaits").or(what.strip_suffix("thingswait")));
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_line_is_known_by_all_of_it() {
        for ours in
            ["[fleet] 1 thing waits for you: call fleet_poll", "[fleet] 12 things\nwait for you: call fleet_poll"]
        {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "",
            "[fleet] things wait for you: call fleet_poll",
            "[fleet] 1 thing waits for you: call fleet_poll and then",
            "not now [fleet] 1 thing waits for you: call fleet_poll",
            "[fleet] 1 thing waits[fleet] 1 thing waits for you: call fleet_poll",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
