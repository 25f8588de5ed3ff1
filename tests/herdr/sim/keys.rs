//! Keys by the names that the real server knows, as the bytes that it sends.
//! Other keyboard protocols are not spoken here.

/// Returns the bytes of a key, or nothing where the name is not known.
pub fn bytes(name: &str, application_cursor: bool, shift_tab: &str) -> Option<Vec<u8>> {
    let lower = name.to_lowercase();
    if name.chars().count() == 1 {
        return Some(name.as_bytes().to_vec());
    }
    let arrow = |letter: char| format!("\x1b{}{letter}", if application_cursor { 'O' } else { '[' }).into_bytes();
    let plain: &[u8] = match lower.as_str() {
        "enter" | "return" => b"\r",
        "esc" | "escape" => b"\x1b",
        "tab" => b"\t",
        "space" => b" ",
        "backspace" | "bs" => b"\x7f",
        "plus" => b"+",
        "minus" => b"-",
        "up" => return Some(arrow('A')),
        "down" => return Some(arrow('B')),
        "right" => return Some(arrow('C')),
        "left" => return Some(arrow('D')),
        "shift+tab" => return Some(shift_tab.as_bytes().to_vec()),
        "shift+enter" => b"\x1b[27;2;13~",
        "ctrl+enter" => b"\x1b[27;5;13~",
        "alt+enter" => b"\x1b\r",
        "ctrl+[" => b"\x1b",
        "ctrl+space" => b"\0",
        other => return combined(name, other),
    };
    Some(plain.to_vec())
}

fn combined(name: &str, lower: &str) -> Option<Vec<u8>> {
    if let Some(number) = lower.strip_prefix('f').and_then(|number| number.parse::<usize>().ok()) {
        const CODES: [&str; 12] =
            ["OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~"];
        return CODES.get(number.checked_sub(1)?).map(|code| format!("\x1b{code}").into_bytes());
    }
    let one = |rest: &str| (rest.chars().count() == 1).then(|| rest.to_owned());
    if let Some(letter) = lower.strip_prefix("ctrl+").or_else(|| lower.strip_prefix("c-")).and_then(one) {
        let letter = *letter.as_bytes().first()?;
        return letter.is_ascii_lowercase().then(|| vec![letter & 0x1f]);
    }
    if let Some(arrow) = lower.strip_prefix("ctrl+") {
        let letter = match arrow {
            "up" => 'A',
            "down" => 'B',
            "right" => 'C',
            "left" => 'D',
            _ => return None,
        };
        return Some(format!("\x1b[1;5{letter}").into_bytes());
    }
    if let Some(letter) = lower.strip_prefix("alt+").and_then(one) {
        return Some(format!("\x1b{letter}").into_bytes());
    }
    if let Some(letter) = lower.strip_prefix("shift+").and_then(one) {
        return Some(letter.to_uppercase().into_bytes());
    }
    let rest = lower.strip_prefix("super+").or_else(|| lower.strip_prefix("cmd+"))?;
    one(rest).map(|_| name.chars().last().map(String::from).unwrap_or_default().into_bytes())
}
