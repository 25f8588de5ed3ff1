//! One section of a text that is otherwise the user's: between two marks on lines of their own. Whatever stands around it
//! stays byte for byte, and what it says takes on the line ends of its surroundings. Pure: no file is known here.

/// The marks. Agents that read the file do not show comments to their models.
pub const BEGIN: &str = "<!-- fleetd: begin -->";
pub const END: &str = "<!-- fleetd: end -->";

/// Why nothing can be said of where the section is: the line of a mark, and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    pub line: usize,
    pub says: String,
}

/// Tells whether a text has such a section, or at least a mark of it.
pub fn is_in(text: &[u8]) -> bool {
    !marks(text, BEGIN).is_empty() || !marks(text, END).is_empty()
}

/// Returns the text with this section: in the place of the one that it has, or at its end.
pub fn put(text: &[u8], section: &str) -> Result<Vec<u8>, Broken> {
    let with = |eol| format!("{BEGIN}\n{}\n{END}", section.trim_end()).replace('\n', eol);
    match (&marks(text, BEGIN)[..], &marks(text, END)[..]) {
        ([], []) => Ok(appended(text, &with(eol(text)), eol(text))),
        ([begin], [end]) if begin.from < end.from => {
            let section = with(eol(&text[begin.to..]));
            Ok([&text[..begin.from], section.as_bytes(), &text[end.to..]].concat())
        }
        ([_, second, ..], _) => Err(broken(second, BEGIN, "stands here for the second time")),
        (_, [_, second, ..]) => Err(broken(second, END, "stands here for the second time")),
        ([begin], _) => Err(broken(begin, BEGIN, &format!("has no '{END}' after it"))),
        (_, [end]) => Err(broken(end, END, &format!("has no '{BEGIN}' before it"))),
    }
}

/// Where a mark stands, without the white space around it.
struct Mark {
    line: usize,
    from: usize,
    to: usize,
}

fn marks(text: &[u8], mark: &str) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut at = 0;
    for (n, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii() == mark.as_bytes() {
            let from = at + line.len() - line.trim_ascii_start().len();
            found.push(Mark { line: n + 1, from, to: from + mark.len() });
        }
        at += line.len();
    }
    found
}

fn broken(mark: &Mark, name: &str, what: &str) -> Broken {
    Broken { line: mark.line, says: format!("'{name}' {what}") }
}

/// Returns how the first line ends.
pub fn eol(text: &[u8]) -> &'static str {
    let first = text.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    if text[..first].ends_with(b"\r") { "\r\n" } else { "\n" }
}

fn appended(text: &[u8], section: &str, eol: &str) -> Vec<u8> {
    let mut new = text.to_vec();
    if !new.is_empty() {
        if !new.ends_with(b"\n") {
            new.extend(eol.as_bytes());
        }
        new.extend(eol.as_bytes());
    }
    new.extend(section.as_bytes());
    new.extend(eol.as_bytes());
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(text: &str, section: &str) -> Result<String, Broken> {
        super::put(text.as_bytes(), section).map(|new| String::from_utf8(new).expect("it was a text"))
    }

    #[test]
    fn it_comes_to_the_end_after_an_empty_line() {
        let own = "<!-- fleetd: begin -->\nours\n<!-- fleetd: end -->\n";
        assert_eq!(put("", "ours\n").as_deref(), Ok(own));
        assert_eq!(put("mine\n", "ours"), Ok(format!("mine\n\n{own}")));
        assert_eq!(put("mine", "ours"), Ok(format!("mine\n\n{own}")));
        assert_eq!(put("a\r\nb", "ours"), Ok(format!("a\nb\n\n{own}").replace('\n', "\r\n")));
    }

    #[test]
    fn it_is_renewed_where_it_stands() {
        let text = "before\n  <!-- fleetd: begin -->\nold\nand older\n<!-- fleetd: end --> \nafter, no line end";
        let new = "before\n  <!-- fleetd: begin -->\nours\n<!-- fleetd: end --> \nafter, no line end";
        assert_eq!(put(text, "ours").as_deref(), Ok(new));
        assert_eq!(put(new, "ours").as_deref(), Ok(new), "and then nothing changes any more");
        let mixed = put("a\r", "ours").expect("it has no marks");
        assert_eq!(put(&mixed, "ours").as_ref(), Ok(&mixed), "its own line ends, whatever those before it are");
        let words = "say <!-- fleetd: begin --> in a line\n";
        assert!(!is_in(words.as_bytes()) && put(words, "ours").is_ok_and(|new| new.starts_with(words)));
    }

    #[test]
    fn marks_that_fit_nothing_are_told_by_line() {
        let said = |text: &str| put(text, "ours").map_err(|broken| format!("{}: {}", broken.line, broken.says));
        insta::assert_debug_snapshot!([
            said("a\n<!-- fleetd: begin -->\n"),
            said("<!-- fleetd: end -->\n<!-- fleetd: begin -->"),
            said("<!-- fleetd: end -->"),
            said("<!-- fleetd: begin -->\n<!-- fleetd: begin -->\n<!-- fleetd: end -->"),
            said("<!-- fleetd: begin -->\n<!-- fleetd: end -->\n\n<!-- fleetd: end -->"),
        ], @r#"
        [
            Err(
                "2: '<!-- fleetd: begin -->' has no '<!-- fleetd: end -->' after it",
            ),
            Err(
                "2: '<!-- fleetd: begin -->' has no '<!-- fleetd: end -->' after it",
            ),
            Err(
                "1: '<!-- fleetd: end -->' has no '<!-- fleetd: begin -->' before it",
            ),
            Err(
                "2: '<!-- fleetd: begin -->' stands here for the second time",
            ),
            Err(
                "4: '<!-- fleetd: end -->' stands here for the second time",
            ),
        ]
        "#);
    }

    proptest! {
        #[test]
        fn what_is_around_it_stays_byte_for_byte(before in any::<Vec<u8>>(), after in any::<Vec<u8>>(), old in ".{0,40}") {
            let text = [&before[..], b"\n", BEGIN.as_bytes(), b"\n", old.as_bytes(), b"\n", END.as_bytes(), b"\n", &after].concat();
            let new = super::put(&text, "ours").expect("random bytes are no mark");
            let head = [&before[..], b"\n", BEGIN.as_bytes()].concat();
            let tail = [END.as_bytes(), b"\n", &after].concat();
            prop_assert!(new.starts_with(&head) && new.ends_with(&tail));
            prop_assert_eq!(super::put(&new, "ours").expect("as before"), new.clone());
            let appended = super::put(&before, "ours").expect("random bytes are no mark");
            prop_assert!(appended.starts_with(&before));
            prop_assert_eq!(super::put(&appended, "ours").expect("as before"), appended.clone());
        }
    }
}
