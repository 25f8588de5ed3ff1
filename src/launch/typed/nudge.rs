//! Telling the leader by one line in its own pane that something waits for it: only while it is idle with an empty
//! composer, and only in a pane that shows to be the leader's now.

use std::sync::Arc;
use std::time::Instant;

use super::super::session::front::PAUSED;
use super::Desk;
use super::look::Look;
use super::submit::{Act, End, Submission};
use crate::engine::panes::{Key, Pane, PaneError};
use crate::fleet::input::{Nudged, Sighting};
use crate::fleet::typing::Typing;
use crate::fleet::worker::Process;
use crate::process::{ProcessId, is_in_foreground, lineage};

/// Tells the leader once, and reports what came of it.
pub(super) async fn tell(desk: Arc<Desk>, leader: Process, waiting: usize) {
    let how = try_once(&desk, leader, waiting).await;
    desk.common.tell(Sighting::Nudged { leader, how }).await;
}

async fn try_once(desk: &Desk, leader: Process, waiting: usize) -> Nudged {
    let Some(typing) = &desk.leader else {
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
    let line = format!("[fleet] {what} for you: call fleet_poll");
    match type_line(desk, typing, leader, &pane, &line).await {
        Ok(()) => Nudged::Typed,
        Err(why) => Nudged::NotNow(why),
    }
}

/// Types one line and enters it. The error says why it was not entered.
async fn type_line(desk: &Desk, typing: &Typing, leader: Process, pane: &Pane, line: &str) -> Result<(), String> {
    let mut submission = Submission::new(line, None);
    let began = Instant::now();
    let failed = |error: PaneError| error.to_string();
    loop {
        let screen = desk.host().screen(pane.clone()).await.map_err(failed)?;
        let act = submission.next(began.elapsed(), &Look::of(&screen, typing), typing, |_| false, false);
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
            Act::End(End::Taken) => return Ok(()),
            Act::End(End::Held(why) | End::Unknown(why)) => return Err(why),
        }
    }
}
