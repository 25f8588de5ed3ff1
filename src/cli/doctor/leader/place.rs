//! Where in a JSON text a key stands, as a line to look at. What it means is not known here, and a text that is no JSON
//! gives no answer worth having.

/// Returns the line of the key at the end of this way of keys, counted from 1; nothing if it is not written like that.
pub fn line_of(text: &str, way: &[&str]) -> Option<usize> {
    // For each object or list that is open, the key at which we are; a list has none.
    let mut open: Vec<Option<&str>> = Vec::new();
    let (mut line, mut at) = (1, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => line += 1,
            b'{' | b'[' => open.push(None),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let end = end_of_string(bytes, at);
                let is_key = text[end..].trim_start_matches(['"', ' ', '\t', '\r', '\n']).starts_with(':');
                if let (true, Some(last)) = (is_key, open.last_mut()) {
                    *last = Some(&text[at + 1..end]);
                    if open.iter().copied().eq(way.iter().copied().map(Some)) {
                        return Some(line);
                    }
                }
                line += text[at..end].matches('\n').count();
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the quote stands that ends the string which begins here, or the end of the text.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_its_place_alone() {
        let text = "{\n \"note\": \"env: \\\"KEY\\\": {\",\n \"KEY\": 1,\n \"list\": [{\"KEY\": 2}],\n \"env\": {\n  \"KEY\" : 3 }\n}";
        assert_eq!(line_of(text, &["env", "KEY"]), Some(6));
        assert_eq!(line_of(text, &["KEY"]), Some(3));
        assert_eq!(line_of(text, &["env"]), Some(5));
        assert_eq!(line_of(text, &["note", "KEY"]), None);
        assert_eq!(line_of("{\"\\u004bEY\": 1}", &["KEY"]), None);
    }

    #[test]
    fn broken_texts_are_no_trouble() {
        for text in ["", "\"", "{\"a", "{\"a\\", "}]", "{\"é\":", "\"a\":1", "{\"a\\é\": 1"] {
            assert_eq!(line_of(text, &["KEY"]), None, "{text}");
        }
    }
}
