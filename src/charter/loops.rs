//! Loops over a table as it is (`for key in list do`), which call nothing: what they go over is handed through a function
//! of the prelude, which sees to it that the order is the same at a replay.
//!
//! No lines move, so that errors stay where the author wrote them. What cannot be told apart is left as it is.

use std::borrow::Cow;

/// The name by which a chunk finds that function.
pub(super) const EACH: &str = "__each";

/// Returns a source in which all such loops are handed through.
pub(super) fn guarded(text: &str) -> Cow<'_, str> {
    let tokens = tokens(text);
    let mut inserts: Vec<(usize, &str)> = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.text == "for") {
        if let Some((first, last)) = list(&tokens, at) {
            inserts.push((tokens[first].at, "("));
            inserts.push((tokens[last].at + tokens[last].text.len(), ")"));
        }
    }
    if inserts.is_empty() {
        return Cow::Borrowed(text);
    }
    inserts.sort_by_key(|(at, _)| *at);
    let (mut out, mut from) = (String::with_capacity(text.len() + inserts.len() * 8), 0);
    for (at, what) in inserts {
        out.push_str(&text[from..at]);
        if what == "(" {
            out.push_str(EACH);
        }
        out.push_str(what);
        from = at;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// Returns the first and the last token of what a loop goes over, unless it counts, or `pairs` or `ipairs` stand there.
fn list(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    let mut depth = 0;
    let mut names = (at + 1..).zip(tokens.get(at + 1..)?);
    let first = names.find_map(|(n, token)| {
        depth += token.opens();
        match token.text {
            "in" if depth == 0 => Some(Some(n + 1)),
            "=" | "do" if depth == 0 => Some(None),
            _ => None,
        }
    })??;
    let (mut depth, mut blocks) = (0, 0);
    for (n, token) in (first..).zip(tokens.get(first..)?) {
        depth += token.opens();
        match token.text {
            "do" if depth == 0 && blocks == 0 => {
                let is_call = matches!(tokens[first].text, "pairs" | "ipairs") && tokens[first + 1].text == "(";
                return (n > first && !(is_call && closes(tokens, first + 1) == Some(n - 1))).then(|| (first, n - 1));
            }
            "function" => blocks += 1,
            "do" | "repeat" if blocks > 0 => blocks += 1,
            "if" if blocks > 0 && !tokens[n - 1].wants_value() => blocks += 1,
            "end" | "until" => blocks -= 1,
            _ => {}
        }
        if depth < 0 || blocks < 0 {
            return None;
        }
    }
    None
}

/// Returns the token that closes what another one opens.
fn closes(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0;
    (at..).zip(&tokens[at..]).find_map(|(n, token)| {
        depth += token.opens();
        (depth == 0).then_some(n)
    })
}

/// A word, a text, or one other character of a source.
struct Token<'t> {
    at: usize,
    text: &'t str,
}

impl Token<'_> {
    fn opens(&self) -> i32 {
        match self.text {
            "(" | "[" | "{" => 1,
            ")" | "]" | "}" => -1,
            _ => 0,
        }
    }

    /// Returns whether what follows belongs to an expression.
    fn wants_value(&self) -> bool {
        match self.text {
            "return" | "and" | "or" | "not" | "in" => true,
            word => word.len() == 1 && !word.starts_with(is_word) && !matches!(word, ")" | "]" | "}" | ";"),
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let comment = rest.strip_prefix("--");
        let length = match letter {
            _ if comment.is_some() => {
                let said = comment.unwrap_or_default();
                2 + long(said).unwrap_or_else(|| said.find('\n').unwrap_or(said.len()))
            }
            '"' | '\'' | '`' => quoted(rest, letter),
            '[' => long(rest).unwrap_or(1),
            _ if is_word(letter) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ => letter.len_utf8(),
        };
        if comment.is_none() && !letter.is_whitespace() {
            tokens.push(Token { at, text: &rest[..length] });
        }
        at += length;
    }
    tokens
}

/// Returns how long a text between long brackets is, if one begins here.
fn long(text: &str) -> Option<usize> {
    let level = text.strip_prefix('[')?.bytes().take_while(|byte| *byte == b'=').count();
    text[level + 1..].strip_prefix('[')?;
    let end = format!("]{}]", "=".repeat(level));
    Some(text.find(&end).map_or(text.len(), |at| at + end.len()))
}

/// Returns how long a text between quotes is.
fn quoted(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '\n' if quote != '`' => return at,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn loops_over_a_table_are_handed_through_and_nothing_else_is_touched() {
        for (source, wanted) in [
            ("for k in t do end", "for k in __each(t) do end"),
            ("for k, v in job.parts -- all\ndo end", "for k, v in __each(job.parts) -- all\ndo end"),
            (
                "for k: string, v: { [string]: number } in f(x) do end",
                "for k: string, v: { [string]: number } in __each(f(x)) do end",
            ),
            ("for k in next, t do end", "for k in __each(next, t) do end"),
            ("for k in pairs(a), pairs(b) do end", "for k in __each(pairs(a), pairs(b)) do end"),
            ("for a in t do for b in a do end end", "for a in __each(t) do for b in __each(a) do end end"),
            (
                "for k in (function() if x then while y do end end return if a then b else c end)() do end",
                "for k in __each((function() if x then while y do end end return if a then b else c end)()) do end",
            ),
            (
                "for _, at in run:each(l, function(p) for q in p do end end) do end",
                "for _, at in __each(run:each(l, function(p) for q in __each(p) do end end)) do end",
            ),
        ] {
            assert_eq!(guarded(source), wanted);
        }
        for same in [
            "for n = 1, 2 do end",
            "for k, v in pairs(f(t)) do end",
            "for n, v in ipairs({ 1, 2 }) do end",
            "-- for k in t do\nlocal x = 'for k in t do' .. \"\\\" for k in t do\"",
            "--[==[ ]] for k in t do ]==] local x = [[ for k in t do ]]",
            "local s = `for k in {t} do`",
            "for k in t",
            "for k in",
            "for",
            "größe for k in ) do",
        ] {
            assert_eq!(guarded(same), same);
        }
    }
}
