//! Rust text with what is no code blanked out, and its tokens: just enough of a lexer for rules that count words
//! and read paths. Lines stay where they are. It never decides anything about a rule.

/// One token with the line it stands on, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// What to blank out besides comments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Text literals stay.
    Texts,
    /// Text literals go too.
    CodeOnly,
}

/// Returns the source with comments (and perhaps text literals) replaced by spaces, line by line as before.
pub fn strip(source: &str, keep: Keep) -> String {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (end, blank) = piece(bytes, at);
        let blank = match blank {
            Piece::Code => false,
            Piece::Comment => true,
            Piece::Text => keep == Keep::CodeOnly,
        };
        out.extend(bytes[at..end].iter().map(|&b| if blank && b != b'\n' { b' ' } else { b }));
        at = end;
    }
    String::from_utf8(out).expect("only whole pieces are blanked, and with ASCII")
}

enum Piece {
    Code,
    Comment,
    Text,
}

/// Returns the end of the piece that begins at `at`, and what it is.
fn piece(bytes: &[u8], at: usize) -> (usize, Piece) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n);
        return (end, Piece::Comment);
    }
    if rest.starts_with(b"/*") {
        return (block_comment_end(bytes, at), Piece::Comment);
    }
    if rest[0] == b'"' {
        return (quoted_end(bytes, at + 1), Piece::Text);
    }
    if rest[0] == b'\'' {
        return match char_end(bytes, at) {
            Some(end) => (end, Piece::Text),
            None => (at + 1, Piece::Code),
        };
    }
    if is_word(rest[0]) {
        let word_end = at + rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len());
        if matches!(&bytes[at..word_end], b"r" | b"br" | b"cr")
            && let Some(end) = raw_end(bytes, word_end)
        {
            return (end, Piece::Text);
        }
        return (word_end, Piece::Code);
    }
    (at + 1, Piece::Code)
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i < bytes.len() {
        if bytes[i..].starts_with(b"/*") {
            (depth, i) = (depth + 1, i + 2);
        } else if bytes[i..].starts_with(b"*/") {
            (depth, i) = (depth - 1, i + 2);
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], mut i: usize) -> usize {
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// Returns the end of a character literal, or `None` where the quote begins a lifetime.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    let inner = at + 1;
    if bytes.get(inner) == Some(&b'\\') {
        return bytes[inner + 2..].iter().position(|&b| b == b'\'').map(|n| inner + 2 + n + 1);
    }
    let width = match bytes.get(inner)? {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    (bytes.get(inner + width) == Some(&b'\'')).then_some(inner + width + 1)
}

fn raw_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at..].iter().take_while(|&&b| b == b'#').count();
    if bytes.get(at + hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = at + hashes + 1;
    let found = bytes[body..].windows(close.len()).position(|w| w == close);
    Some(found.map_or(bytes.len(), |n| body + n + close.len()))
}

/// Returns stripped code without the items that are compiled for tests only.
pub fn without_tests(code: &str) -> String {
    const MARKS: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test,"];
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = MARKS.iter().filter_map(|mark| code[from..].find(mark)).min().map(|n| from + n) {
        let end = item_end(code.as_bytes(), found + MARKS[0].len());
        out[found..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        from = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns where the item ends: at its semicolon, or at the brace that closes its body.
fn item_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    for (i, b) in bytes.iter().enumerate().skip(at) {
        match b {
            b';' if depth == 0 => return i + 1,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return i + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    bytes.len()
}

/// Returns the tokens of stripped code: words, `::`, and every other character alone.
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (n, text) in code.lines().enumerate() {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let end = if is_word(bytes[at]) {
                at + bytes[at..].iter().position(|&b| !is_word(b)).unwrap_or(bytes.len() - at)
            } else if bytes[at..].starts_with(b"::") {
                at + 2
            } else {
                at + 1
            };
            if !bytes[at].is_ascii_whitespace() {
                found.push(Token { line: n + 1, text: &text[at..end] });
            }
            at = end;
        }
    }
    found
}

/// A path in code (`crate::fleet::Turn`), groups in `use` lines taken apart, and how many modules written in place
/// (`mod tests { … }`) it is inside of.
#[derive(Debug, PartialEq, Eq)]
pub struct Path {
    pub line: usize,
    pub inline_depth: usize,
    pub names: Vec<String>,
}

impl Path {
    /// Tells whether the path begins with these names.
    pub fn begins(&self, names: &[&str]) -> bool {
        self.names.len() >= names.len() && self.names.iter().zip(names).all(|(a, b)| a == b)
    }

    /// Tells whether these names follow each other somewhere in the path.
    pub fn holds(&self, names: &[&str]) -> bool {
        self.names.windows(names.len()).any(|w| w.iter().zip(names).all(|(a, b)| a == b))
    }
}

/// Returns every path of two names or more in stripped code.
pub fn paths(code: &str) -> Vec<Path> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut inline = Inline::default();
    let mut at = 0;
    while at < tokens.len() {
        inline.see(&tokens, at);
        let begins = starts_word(tokens[at].text) && (at == 0 || tokens[at - 1].text != "::");
        at = if begins { path_end(&tokens, at, Vec::new(), inline.opened_at.len(), &mut found) } else { at + 1 };
    }
    found
}

fn starts_word(text: &str) -> bool {
    text.as_bytes().first().is_some_and(|&b| is_word(b) && !b.is_ascii_digit())
}

/// Reads one path from a word on, adds it (or each path of its group) and returns the token after it.
fn path_end(tokens: &[Token<'_>], mut at: usize, mut names: Vec<String>, depth: usize, found: &mut Vec<Path>) -> usize {
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text);
    let line = tokens[at].line;
    loop {
        names.push(text(at).to_owned());
        at += 1;
        if text(at) != "::" {
            break;
        }
        if text(at + 1) == "{" {
            at += 2;
            while !matches!(text(at), "}" | "") {
                at = match text(at) {
                    "as" => at + 2,
                    word if starts_word(word) || word == "*" => path_end(tokens, at, names.clone(), depth, found),
                    _ => at + 1,
                };
            }
            return at + 1;
        }
        if !starts_word(text(at + 1)) && text(at + 1) != "*" {
            break;
        }
        at += 1;
    }
    if names.len() > 1 {
        found.push(Path { line, inline_depth: depth, names });
    }
    at
}

/// Which braces on the way were opened by a module written in place.
#[derive(Default)]
struct Inline {
    braces: usize,
    opened_at: Vec<usize>,
}

impl Inline {
    fn see(&mut self, tokens: &[Token<'_>], at: usize) {
        match tokens[at].text {
            "{" => {
                if at >= 2 && tokens[at - 2].text == "mod" {
                    self.opened_at.push(self.braces);
                }
                self.braces += 1;
            }
            "}" => {
                self.braces = self.braces.saturating_sub(1);
                if self.opened_at.last() == Some(&self.braces) {
                    self.opened_at.pop();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_go_but_lines_stay() {
        let source = "a // b\n/* c /* d */ e */ f\nlet g = \"h // i\"; 'j' 'k r#\"l\"m\"# n";
        let code = strip(source, Keep::CodeOnly);
        assert_eq!(code.lines().count(), 3);
        let words: Vec<_> = tokens(&code).iter().map(|t| t.text.to_owned()).collect();
        assert_eq!(words, ["a", "f", "let", "g", "=", ";", "'", "k", "n"]);
        assert!(strip(source, Keep::Texts).contains("\"h // i\""));
    }

    #[test]
    fn what_is_compiled_for_tests_only_goes() {
        let code = "fn a() {}\n#[cfg(all(test, unix))]\nmod tests {\n  fn b() { c() }\n}\nfn d() {}\n#[cfg(test)]\nmod e;\nfn f() {}";
        let left = without_tests(code);
        assert!(left.contains("fn a") && left.contains("fn d") && left.contains("fn f"), "{left}");
        assert!(!left.contains("fn b") && !left.contains("mod e"), "{left}");
    }

    #[test]
    fn a_group_is_taken_apart_and_modules_in_place_are_counted() {
        let code = "use a::{b, c::{d, e as f}, g::*};\nmod h { use super::i; }\nj::k();";
        let found: Vec<_> = paths(code).iter().map(|p| (p.line, p.inline_depth, p.names.join("::"))).collect();
        let expected = [
            (1, 0, "a::b"),
            (1, 0, "a::c::d"),
            (1, 0, "a::c::e"),
            (1, 0, "a::g::*"),
            (2, 1, "super::i"),
            (3, 0, "j::k"),
        ];
        assert_eq!(found, expected.map(|(line, depth, path)| (line, depth, path.to_owned())));
    }
}
