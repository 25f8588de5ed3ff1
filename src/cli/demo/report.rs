//! How the demo's result looks: for a terminal of any width, and as data.
//!
//! Pure: a report in, text out. Nothing here asks a clock, a terminal or a daemon.

use std::fmt::Write;

use console::{Style, measure_text_width, pad_str, truncate_str};
use serde_json::{Value, json};

use super::verdict::{Finding, Missing, Receipt, Verdict};
use super::walk::LeftOut;
use crate::cli::look::{Look, count, one_line};
use crate::fleet::time::Span;

/// So many receipts are shown one by one; the others are in `--json`.
const RECEIPTS: usize = 12;

/// All that the demo has to tell.
#[derive(Debug)]
pub struct Report {
    /// The directory, fit for a terminal.
    pub root: String,
    /// Files inspected.
    pub files: usize,
    /// Parts they were dealt out into.
    pub parts: usize,
    /// What was not inspected.
    pub left_out: LeftOut,
    /// How the run ended: `done`, `partial`, …
    pub outcome: String,
    /// Why, unless it is done.
    pub why: Option<String>,
    /// What it gave back.
    pub verdict: Verdict,
    /// From the start of the run to its end.
    pub wall: Span,
}

impl Report {
    /// Returns the report for people.
    pub fn text(&self, look: &Look) -> String {
        let mut page = Page { look: *look, text: String::new() };
        self.head(&mut page);
        self.findings(&mut page);
        self.sums(&mut page);
        self.missing(&mut page);
        self.receipts(&mut page);
        self.clocks(&mut page);
        page.text
    }

    /// Returns the report for programs: the same, and every receipt.
    pub fn json(&self) -> Value {
        json!({
            "root": self.root,
            "files": self.files,
            "parts": self.parts,
            "left_out": {
                "big": self.left_out.big,
                "links": self.left_out.links,
                "special": self.left_out.special,
                "folders": self.left_out.folders,
                "unreadable": self.left_out.unreadable,
                "stopped": self.left_out.stopped,
            },
            "outcome": self.outcome,
            "why": self.why,
            "findings": self.verdict.findings,
            "sums": self.verdict.sums,
            "missing": self.verdict.missing,
            "receipts": self.verdict.receipts,
            "wall_ms": self.wall.0,
            "sum_of_parts_ms": self.verdict.sum_of_parts().0,
        })
    }

    fn head(&self, page: &mut Page) {
        let turns = self.verdict.receipts.len();
        page.line(&format!(
            "{} in {}, {}: {}",
            count(self.files, "file"),
            count(self.parts, "part"),
            count(turns, "turn"),
            self.outcome
        ));
        if let Some(why) = &self.why {
            page.faint(why);
        }
        let reasons = self.left_out.reasons();
        if !reasons.is_empty() {
            page.faint(&format!("left out: {}", reasons.join(", ")));
        }
    }

    fn findings(&self, page: &mut Page) {
        let findings = &self.verdict.findings;
        page.title(&match (findings.len(), self.verdict.found()) {
            (0, _) => "Nothing found".to_owned(),
            (shown, found) if found > shown as u64 => {
                format!("The worst {shown} of {found} findings")
            }
            (shown, _) => count(shown, "finding"),
        });
        let places: Vec<String> =
            findings.iter().map(|finding| format!("{}:{}", finding.file.shown(), finding.line)).collect();
        // A place is never cut: it is there to be clicked or copied. What does not fit beside it goes below.
        let widest = places.iter().map(|place| measure_text_width(place)).max();
        let column = widest.unwrap_or(0).min(page.look.width / 2);
        for (finding, place) in findings.iter().zip(&places) {
            page.finding(finding, place, column);
        }
    }

    fn sums(&self, page: &mut Page) {
        if self.verdict.sums.is_empty() {
            return;
        }
        page.title("Who looked for what");
        for sum in &self.verdict.sums {
            let unread = match sum.unread {
                0 => String::new(),
                unread => format!(", {unread} could not be read"),
            };
            let role = format!("w-{}", sum.kind);
            // Padded, so that the columns stand under each other.
            let files = if sum.files == 1 { "file read " } else { "files read" };
            let findings = if sum.found == 1 { "finding" } else { "findings" };
            page.line(&format!("  {role:<8} {:>6} {files} {:>6} {findings}{unread}", sum.files, sum.found));
        }
    }

    fn missing(&self, page: &mut Page) {
        if self.verdict.missing.is_empty() {
            return;
        }
        page.title("What is missing");
        for missing in &self.verdict.missing {
            page.missing(missing);
        }
    }

    fn receipts(&self, page: &mut Page) {
        let mut receipts: Vec<&Receipt> = self.verdict.receipts.iter().collect();
        if receipts.is_empty() {
            return;
        }
        // The ones that tell most: what went wrong, then what took longest.
        receipts.sort_by_key(|receipt| {
            let replied = receipt.outcome.as_deref() == Some("replied");
            (replied, std::cmp::Reverse(receipt.work()))
        });
        page.title(&match receipts.len() {
            all if all > RECEIPTS => {
                format!("Receipts: {RECEIPTS} of {all} (all of them: --json)")
            }
            _ => "Receipts".to_owned(),
        });
        page.faint("  turn  worker      part   waited   worked  outcome");
        for receipt in receipts.into_iter().take(RECEIPTS) {
            page.receipt(receipt);
        }
    }

    fn clocks(&self, page: &mut Page) {
        let sum = self.verdict.sum_of_parts();
        let times = sum.0 as f64 / self.wall.0.max(1) as f64;
        let meaning = match times {
            times if times >= 1.05 => format!("{times:.1} times as fast as one after the other"),
            _ => "with so little work, one after the other is as fast".to_owned(),
        };
        page.title(&format!("Wall clock {}, sum of the parts {}: {meaning}", seconds(self.wall), seconds(sum)));
    }
}

// ---- one page ----

struct Page {
    look: Look,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(&truncate_str(line, self.look.width, self.look.cut()));
        self.text.push('\n');
    }

    fn faint(&mut self, line: &str) {
        let line = self.look.dim(line);
        self.line(&line);
    }

    fn title(&mut self, line: &str) {
        self.text.push('\n');
        let line = self.look.bold(line);
        // Titles carry figures and are wrapped by the terminal rather than cut.
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn finding(&mut self, finding: &Finding, place: &str, column: usize) {
        let style = match finding.severity.as_str() {
            "high" => Style::new().red().bold(),
            "medium" => Style::new().yellow(),
            _ => Style::new().dim(),
        };
        let severity = self.look.paint(style, &format!("{:<6}", finding.severity));
        let what = one_line(&finding.what, self.look.width, &self.look);
        if measure_text_width(place) <= column && self.look.width >= column + 30 {
            let place = pad_str(place, column, console::Alignment::Left, None);
            self.line(&format!("  {severity}  {place}  {what}"));
        } else {
            self.text.push_str(&format!("  {severity}  {place}\n"));
            self.line(&format!("          {what}"));
        }
    }

    fn missing(&mut self, missing: &Missing) {
        let error = self.look.paint(Style::new().red(), &missing.error);
        let turn = missing.turn.as_ref().map(|turn| format!(" [{turn}]")).unwrap_or_default();
        let mut line = format!("  {} part {}{turn}: {error}", missing.role, missing.part);
        if let Some(why) = &missing.why {
            let _ = write!(line, ", {}", one_line(why, self.look.width, &self.look));
        }
        if missing.on_purpose {
            line.push_str(" (on purpose)");
        }
        self.line(&line);
        let said = missing.stderr.as_deref().unwrap_or("").trim_end();
        if let Some(last) = said.lines().last() {
            self.faint(&format!("    {}", one_line(last, self.look.width, &self.look)));
        }
    }

    fn receipt(&mut self, receipt: &Receipt) {
        let outcome = receipt.outcome.as_deref().unwrap_or("never accepted");
        let style = match outcome {
            "replied" => Style::new().green(),
            _ => Style::new().red(),
        };
        let outcome = self.look.paint(style, outcome);
        let part = receipt.part.map_or("-".to_owned(), |part| part.to_string());
        self.line(&format!(
            "  {:<5} {:<11} {part:>4} {:>8} {:>8}  {outcome}",
            receipt.turn.as_deref().unwrap_or("-"),
            receipt.worker.as_deref().unwrap_or(&receipt.role),
            seconds(receipt.wait()),
            seconds(receipt.work()),
        ));
    }
}

fn seconds(span: Span) -> String {
    format!("{:.2} s", span.0 as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::look::tests::plain;

    fn report() -> Report {
        let verdict = json!({
            "findings": [
                {"severity": "high", "file": "src/a.rs", "line": 7, "what": "long function: f has 180 lines"},
                {"severity": "low", "file": "odd%0Aname.py", "line": 1, "what": "note: TODO \u{1b}[2Jsay"},
            ],
            "sums": [{"kind": "size", "files": 40, "found": 31, "unread": 2}],
            "missing": [
                {"role": "w-flaky", "part": 1, "turn": "t9", "error": "failed", "why": "exit 1",
                 "stderr": "flaky.sh: giving up on purpose\n", "on_purpose": true},
            ],
            "receipts": [
                {"turn": "t1", "role": "w-size", "part": 1, "worker": "w-size-1", "outcome": "replied",
                 "times": {"accepted": 0, "handed": 10, "started": 20, "settled": 1520}},
                {"turn": "t9", "role": "w-flaky", "part": 1, "worker": "w-flaky-1", "outcome": "failed",
                 "times": {"accepted": 0, "handed": 5, "started": 10, "settled": 510}},
            ],
        });
        Report {
            root: "/tree".into(),
            files: 40,
            parts: 2,
            left_out: LeftOut { links: 1, ..LeftOut::default() },
            outcome: "partial".into(),
            why: Some("1 of 9 errands brought nothing back".into()),
            verdict: Verdict::read(&verdict).expect("as the recipe gives it"),
            wall: Span(1000),
        }
    }

    #[test]
    fn a_report_reads_from_the_worst_to_the_clocks() {
        let text = report().text(&plain(100));
        insta::assert_snapshot!(text, @r"
        40 files in 2 parts, 2 turns: partial
        1 of 9 errands brought nothing back
        left out: 1 not followed (symbolic links)

        The worst 2 of 31 findings
          high    src/a.rs:7      long function: f has 180 lines
          low     odd\nname.py:1  note: TODO \u{1b}[2Jsay

        Who looked for what
          w-size       40 files read     31 findings, 2 could not be read

        What is missing
          w-flaky part 1 [t9]: failed, exit 1 (on purpose)
            flaky.sh: giving up on purpose

        Receipts
          turn  worker      part   waited   worked  outcome
          t9    w-flaky-1      1   0.01 s   0.50 s  failed
          t1    w-size-1       1   0.01 s   1.50 s  replied

        Wall clock 1.00 s, sum of the parts 2.00 s: 2.0 times as fast as one after the other
        ");
    }

    #[test]
    fn one_is_not_many_and_slower_is_not_faster() {
        let mut small = report();
        (small.files, small.parts, small.wall) = (1, 1, Span(4000));
        small.verdict.receipts.truncate(1);
        (small.verdict.sums[0].files, small.verdict.sums[0].found) = (1, 1);
        let text = small.text(&plain(100));
        for said in ["1 file in 1 part, 1 turn: ", " 1 file read ", " 1 finding,", "one after the other is as fast"] {
            assert!(text.contains(said), "no {said:?} in\n{text}");
        }
        assert!(!text.contains("times as fast"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_cuts_words_but_never_a_place() {
        let text = report().text(&plain(30));
        assert!(text.contains("src/a.rs:7\n"), "{text}");
        assert!(text.contains("odd\\nname.py:1\n"), "{text}");
        let wide = text.lines().filter(|line| measure_text_width(line) > 30);
        assert!(wide.clone().all(|line| !line.starts_with("  ")), "{text}");
    }

    #[test]
    fn a_workers_text_cannot_move_the_cursor() {
        let text = report().text(&plain(100));
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn the_data_holds_every_receipt_and_both_clocks() {
        let data = report().json();
        assert_eq!(data["receipts"].as_array().map(Vec::len), Some(2));
        assert_eq!(data["wall_ms"], 1000);
        assert_eq!(data["sum_of_parts_ms"], 2000);
        assert_eq!(data["findings"][1]["file"], "odd\nname.py");
    }

    #[test]
    fn nothing_at_all_is_a_report_too() {
        let mut empty = report();
        empty.verdict = Verdict::default();
        empty.files = 0;
        let text = empty.text(&plain(80));
        assert!(text.contains("Nothing found") && !text.contains("Receipts"));
    }
}
