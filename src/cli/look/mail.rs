//! What waits in a mailbox, oldest first, each with its id for `ack`.
//! Drawing a message shows it and no more: whether it counts as shown or collected is known only to the daemon.

use super::answer::{ended, more_why, question, stderr_end};
use super::{Look, safe, wrap};
use crate::engine::requests::{Mail, MailItem};

/// How many lines of a text are shown, unless all are wanted.
const LINES: usize = 20;

/// Draws a mailbox; `whole` shows all lines of the texts.
pub fn draw(mail: &Mail, whole: bool, look: &Look) -> String {
    let mut parts: Vec<String> = mail.messages.iter().map(|item| one(item, whole, look)).collect();
    if mail.more {
        let cursor = mail.cursor.map(|cursor| cursor.to_string()).unwrap_or_default();
        parts.push(look.dim(&format!("more wait: fleetd poll --after {cursor}")));
    }
    parts.join("\n")
}

fn one(item: &MailItem, whole: bool, look: &Look) -> String {
    let shown = if item.shown { look.dim(" (shown before)") } else { String::new() };
    let id = look.bold(&item.message.to_string());
    if let Some(envelope) = &item.reply {
        let worker = envelope.from.worker.as_ref().map(|worker| format!("{}{worker}", look.dot())).unwrap_or_default();
        let mut out = format!("{id} {}{}{}{worker}{shown}", envelope.turn, look.dot(), ended(envelope, look));
        if let Some(late) = &envelope.late {
            let late = format!("it came late; the turn had ended as {}", safe(late));
            out = format!("{out}\n{}", wrap(&late, look.width, "  "));
        }
        if let Some(why) = more_why(envelope) {
            out = format!("{out}\n{}", wrap(&safe(why), look.width, "  why: "));
        }
        out += &text(&envelope.text, whole, look);
        if !envelope.ok
            && let Some(stderr) = envelope.stderr.as_deref().and_then(|text| stderr_end(text, "  "))
        {
            out = format!("{out}\n{stderr}");
        }
        return out;
    }
    if let Some(asked) = &item.question {
        return format!("{id} asks{shown}\n{}", question(asked, look));
    }
    if let Some(result) = &item.run {
        let value = text(&super::run::value_of(result).unwrap_or_default(), whole, look);
        return format!("{id} {}{shown}{value}", super::run::line(&result.run, None, look));
    }
    let notice = item.notice.as_deref().unwrap_or("something this version of fleetd does not know");
    wrap(&safe(notice), look.width, &format!("{id}{shown} "))
}

fn text(text: &str, whole: bool, look: &Look) -> String {
    let text = safe(text);
    let most = if whole { usize::MAX } else { LINES };
    let mut out: String = text.lines().take(most).map(|line| format!("\n  {line}")).collect();
    let left = text.lines().count().saturating_sub(most);
    if left > 0 {
        out += &look.dim(&format!("\n  {} {left} more lines: --whole", look.cut()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;
    use serde_json::json;

    #[test]
    fn every_kind_of_message_is_drawn() {
        let reply = json!({
            "turn": "t17", "from": {"worker": "w-local-1"}, "ok": true, "outcome": "replied", "text": "one\ntwo",
            "times": {"accepted": 1000, "settled": 2240}, "generation": 1
        });
        let run = json!({
            "id": "r3", "recipe": "bug-hunt", "owner": "operator", "generation": {"number": 1, "hash": "x"}, "started": 1000,
            "finished_steps": 9, "sent": 8, "settled": 8, "outcome": "partial", "why": "2 parts are missing", "ended": 62_000,
            "value": {"found": 6}
        });
        let mail: Mail = serde_json::from_value(json!({
            "messages": [
                {"message": "m20", "at": 2240, "shown": true, "reply": reply},
                {"message": "m21", "at": 2240, "shown": false, "question": {"question": "q5", "turn": "t18", "text": "Which one?", "at": 2000}},
                {"message": "m22", "at": 2240, "shown": false, "run": run},
                {"message": "m23", "at": 2240, "shown": false, "notice": "the charter was not taken: team.lua:3: no 'recpie'"}
            ],
            "more": true, "cursor": "m23"
        }))
        .expect("a mailbox");
        insta::assert_snapshot!(draw(&mail, false, &plain(80)), @r#"
        m20 t17 · replied in 1.2s · w-local-1 (shown before)
          one
          two
        m21 asks
          q5 of t18: Which one?
          answer: fleetd reply q5 TEXT
        m22 r3 · bug-hunt · partial in 1m01s · 8/8 turns · 2 parts are missing
          {
            "found": 6
          }
        m23 the charter was not taken: team.lua:3: no 'recpie'
        more wait: fleetd poll --after m23
        "#);
    }

    #[test]
    fn a_failed_turn_says_why_once_and_shows_the_end_of_its_stderr() {
        let reply = json!({
            "turn": "t17", "from": {"worker": "w-local-1"}, "ok": false, "outcome": "failed", "why": "exit 3",
            "exit": {"code": 3}, "text": "half", "stderr": "cannot open x\n",
            "times": {"accepted": 1000, "settled": 2240}, "generation": 1
        });
        let messages = json!([{"message": "m20", "at": 2240, "shown": false, "reply": reply}]);
        let mail: Mail = serde_json::from_value(json!({"messages": messages, "more": false})).expect("a mailbox");
        insta::assert_snapshot!(draw(&mail, false, &plain(80)), @"
        m20 t17 · failed (exit 3) in 1.2s · w-local-1
          half
          the end of its stderr:
            cannot open x
        ");
    }

    #[test]
    fn a_long_text_is_cut_unless_all_of_it_is_wanted() {
        let long = "line\n".repeat(30);
        assert_eq!(text(&long, false, &plain(80)).lines().count(), 1 + LINES + 1);
        assert!(text(&long, false, &plain(80)).ends_with("10 more lines: --whole"));
        assert_eq!(text(&long, true, &plain(80)).lines().count(), 1 + 30);
    }
}
