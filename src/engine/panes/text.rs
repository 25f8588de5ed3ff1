//! Text that may be typed: what a terminal or the program in it would take as a command is not in it.
//! What an agent would take as a command of its own is the launcher's matter.

/// Returns the text without control characters but line ends and tabs: no ESC (which could end the paste), no other
/// C0, no DEL, no C1. CR LF and a lone CR become LF, for CR is the Enter key.
pub fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn no_text_can_end_its_paste_or_press_a_key() {
        assert_eq!(clean("a\u{1b}[201~b\rc\r\nd\u{3}\u{7f}\u{9b}201~\te\u{0}"), "a[201~b\nc\nd201~\te");
    }

    #[test]
    fn letters_of_any_script_stay() {
        let text = "häß 漢字 👩\u{200d}💻 \u{202b}עברית e\u{301}";
        assert_eq!(clean(text), text);
    }
}
