//! What came of a turn or a run that was waited for: the line about it that goes to standard error beside the text
//! itself, and what an open one needs.

use super::failure::lines;
use super::{Look, safe, wrap};
use crate::engine::requests::{Pending, PendingKind};
use crate::fleet::envelope::{Envelope, Exit};
use crate::fleet::turn::Outcome;
use crate::fleet::view::{QuestionView, TurnView};

/// Draws the line about a settled turn.
pub fn envelope(envelope: &Envelope, look: &Look) -> String {
    let mut parts = vec![look.bold(&envelope.turn.to_string()), ended(envelope, look)];
    parts.extend(envelope.from.worker.as_ref().map(|worker| match &envelope.from.profile {
        Some(profile) => format!("{worker} ({profile})"),
        None => worker.to_string(),
    }));
    parts.extend(envelope.message.map(|message| format!("message {message}")));
    let mut out = parts.join(look.dot());
    if envelope.outcome != Outcome::Replied {
        let why = envelope.why.as_deref().unwrap_or(envelope.outcome.word());
        out = format!("{out}\n{}", lines("error", &format!("{} has no reply: {why}", envelope.turn), &[], look));
        if let Some(stderr) = envelope.stderr.as_deref().and_then(|text| stderr_end(text, "")) {
            out = format!("{out}\n{stderr}");
        }
    }
    if let Some(cut) = &envelope.truncated {
        let line = format!("the text was cut; all {} bytes are in {}", cut.bytes, cut.path);
        out = format!("{out}\n{}", wrap(&safe(&line), look.width, ""));
        if let Some(data) = &cut.data {
            let line = format!("it fits its schema, and its data is in {data}");
            out = format!("{out}\n{}", wrap(&safe(&line), look.width, ""));
        }
    }
    out
}

/// Draws the end of a process's stderr, if anything stands in it.
pub fn stderr_end(text: &str, indent: &str) -> Option<String> {
    if text.trim().is_empty() {
        return None;
    }
    let lines: String = safe(text).lines().map(|line| format!("\n{indent}  {line}")).collect();
    Some(format!("{indent}the end of its stderr:{lines}"))
}

/// Returns why a turn ended so, unless `ended` says that already.
pub fn more_why(envelope: &Envelope) -> Option<&str> {
    let said = match &envelope.exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => String::new(),
    };
    envelope.why.as_deref().filter(|why| *why != said)
}

/// Returns how a turn ended, in a few words.
pub fn ended(envelope: &Envelope, look: &Look) -> String {
    let took = envelope.times.settled.since(envelope.times.accepted);
    let exit = match &envelope.exit {
        Some(Exit::Code(0)) | None => String::new(),
        Some(Exit::Code(code)) => format!(" (exit {code})"),
        Some(Exit::Signal(signal)) => format!(" (signal {signal})"),
    };
    format!("{}{exit} in {took}", look.state(envelope.outcome.word()))
}

/// Draws an accepted turn that is not waited for.
pub fn accepted(turn: &TurnView, look: &Look) -> String {
    let row = &turn.turn;
    let mut line = format!("{} is queued for {}", look.bold(&row.id.to_string()), row.to);
    if let Some(because) = &row.because {
        line += &format!(", because {}", safe(because));
    }
    if let Some(waits) = &turn.waits {
        let ahead = turn.ahead.filter(|ahead| *ahead > 0).map(|ahead| format!("; {ahead} of yours go first"));
        line += &format!(" ({}{})", safe(waits), ahead.unwrap_or_default());
    }
    wrap(&line, look.width, "")
}

/// Draws an open turn or run: why the wait ended, and what to do.
pub fn pending(pending: &Pending, look: &Look) -> String {
    let (id, see, end) = match (pending.turn, pending.run) {
        (_, Some(run)) => (run.to_string(), format!("fleetd run show {run}"), "end"),
        (Some(turn), None) => (turn.to_string(), format!("fleetd trace {turn}"), "reply"),
        (None, None) => ("it".to_string(), "fleetd status".to_string(), "end"),
    };
    let why = match pending.pending {
        PendingKind::Question => "asks, and goes on when it is answered".to_string(),
        PendingKind::WaitOver | PendingKind::Accepted => format!("is still {}", pending.state),
    };
    let mut line = format!("{} {why}", look.bold(&id));
    if let (PendingKind::WaitOver, Some(waits)) = (pending.pending, &pending.waits) {
        line += &format!(" ({})", safe(waits));
    }
    let mut out = vec![wrap(&line, look.width, "")];
    out.extend(pending.questions.iter().map(|q| question(q, look)));
    let later = format!("its {end} will wait in your mailbox: fleetd poll; where it stands: {see}");
    out.push(wrap(&look.dim(&later), look.width, ""));
    out.join("\n")
}

/// Draws a question with how to answer it.
pub fn question(question: &QuestionView, look: &Look) -> String {
    let from = match (question.turn, question.run) {
        (Some(turn), Some(run)) => format!(" of {turn} in {run}"),
        (Some(turn), None) => format!(" of {turn}"),
        (None, Some(run)) => format!(" of {run}"),
        (None, None) => String::new(),
    };
    let begin = format!("  {}{from}: ", look.state("question").replace("question", &question.question.to_string()));
    format!("{}\n  answer: fleetd reply {} TEXT", wrap(&safe(&question.text), look.width, &begin), question.question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    fn settled(more: serde_json::Value) -> Envelope {
        let mut envelope = json!({
            "turn": "t17", "message": "m18", "from": {"worker": "w-local-1", "role": "w-local", "profile": "qwen", "launcher": "exec"},
            "ok": true, "outcome": "replied", "text": "hello", "times": {"accepted": 1000, "settled": 2240}, "generation": 1
        });
        let fields = envelope.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        serde_json::from_value(envelope).expect("an envelope")
    }

    #[test]
    fn a_reply_is_told_in_one_line() {
        insta::assert_snapshot!(envelope(&settled(json!({})), &plain(80)), @"t17 · replied in 1.2s · w-local-1 (qwen) · message m18");
    }

    #[test]
    fn a_failure_shows_why_and_the_end_of_stderr() {
        let failed = json!({"ok": false, "outcome": "failed", "error": "failed", "why": "exit 3", "text": "", "exit": {"code": 3}, "stderr": "cannot\u{1b}[0m open x\n"});
        insta::assert_snapshot!(envelope(&settled(failed), &plain(80)), @r"
        t17 · failed (exit 3) in 1.2s · w-local-1 (qwen) · message m18
        error: t17 has no reply: exit 3
        the end of its stderr:
          cannot\u{1b}[0m open x
        ");
    }

    #[test]
    fn a_question_is_shown_with_how_to_answer() {
        let open: Pending = serde_json::from_value(json!({
            "pending": "question", "run": "r3", "state": "running",
            "questions": [{"question": "q5", "run": "r3", "text": "Merge the two lists, or keep both?", "at": 1000}]
        }))
        .expect("a pending run");
        insta::assert_snapshot!(pending(&open, &plain(60)), @"
        r3 asks, and goes on when it is answered
          q5 of r3: Merge the two lists, or keep both?
          answer: fleetd reply q5 TEXT
        its end will wait in your mailbox: fleetd poll; where it
        stands: fleetd run show r3
        ");
    }

    #[test]
    fn an_ended_wait_says_what_it_waits_for() {
        let open: Pending = serde_json::from_value(json!({
            "pending": "wait_over", "turn": "t17", "state": "queued", "waits": "cap: 2 of 2 workers of 'w-local' are busy"
        }))
        .expect("a pending turn");
        insta::assert_snapshot!(pending(&open, &plain(80)), @"
        t17 is still queued (cap: 2 of 2 workers of 'w-local' are busy)
        its reply will wait in your mailbox: fleetd poll; where it stands: fleetd trace
        t17
        ");
    }
}
