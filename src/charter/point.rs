//! Where in its file a mistake stands, as near as can be told from the text, and what an author may have meant there.
//! Only texts are looked at: the line of a call is known, a field or a value is looked for in the lines that follow it.

use super::error::CharterError;
use super::sources::Sources;
use crate::fleet::refusal::nearest;

/// How many lines below a call its fields are looked for.
const REACH: u32 = 60;

/// Words of Lua that an author may want as the name of a field.
const RESERVED: [&str; 8] = ["for", "end", "in", "repeat", "until", "while", "then", "function"];

/// Moves an error from the line of the call to the line of the field that is to blame; `hours[2].days` is one of the second
/// table in a list.
pub(super) fn at_field(error: &mut CharterError, sources: &Sources, field: &str) {
    if let Some((list, (n, inner))) = field.split_once('[').and_then(|(list, rest)| Some((list, rest.split_once(']')?)))
    {
        at_field(error, sources, list);
        at_entry(error, sources, list, n.parse().unwrap_or(1));
        if let Some(inner) = inner.strip_prefix('.') {
            at_field(error, sources, inner);
        }
        return;
    }
    at(error, sources, |text| {
        text.match_indices(field).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            // A field whose name is a word of Lua stands as `["for"]`.
            let after = text[at + field.len()..].trim_start_matches(['"', '\'', ']']).trim_start();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
                && after.starts_with('=')
                && !after.starts_with("==")
        })
    });
}

/// Moves an error from the line of a list to that in which its entry of this number begins, if each is a table.
fn at_entry(error: &mut CharterError, sources: &Sources, list: &str, n: usize) {
    let (mut depth, mut entries, mut is_first) = (0_usize, 0, true);
    at(error, sources, |text| {
        let text = text.split("--").next().unwrap_or_default();
        let text =
            if std::mem::take(&mut is_first) { text.split_once(list).map_or("", |(_, rest)| rest) } else { text };
        for sign in text.chars() {
            match sign {
                '{' => {
                    depth += 1;
                    entries += usize::from(depth == 2);
                    if depth == 2 && entries == n {
                        return true;
                    }
                }
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        false
    });
}

/// Moves an error from the line of the call to the line in which a text is written.
pub(super) fn at_text(error: &mut CharterError, sources: &Sources, text: &str) {
    let forms = [format!("\"{text}\""), format!("'{text}'")];
    at(error, sources, |line| forms.iter().any(|form| line.contains(form)));
}

fn at(error: &mut CharterError, sources: &Sources, mut fits: impl FnMut(&str) -> bool) {
    let (Some(file), Some(line)) = (error.file.clone(), error.line) else { return };
    let lines = (line..line.saturating_add(REACH)).map_while(|line| Some((line, sources.line(&file, line)?)));
    if let Some((found, _)) = lines.into_iter().find(|(_, text)| fits(text)) {
        let CharterError { hint, message, .. } = std::mem::take(error);
        *error = CharterError { hint, ..CharterError::at(sources, &file, found, message) };
    }
}

/// Returns the local of a file whose name is nearest to one that is not there.
pub(super) fn local_near<'a>(sources: &'a Sources, file: &str, name: &str) -> Option<&'a str> {
    let text = sources.text(file)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let locals = text.match_indices("local ").flat_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches("function ");
        let names = rest.split(['=', '\n', '(']).next().unwrap_or_default();
        names.split(',').map(|name| name.trim().trim_end_matches(|c| !is_word(c)))
    });
    nearest(name, locals.filter(|local| !local.is_empty() && *local != name && local.chars().all(is_word)))
}

/// Returns what is meant by a line that is Lua elsewhere and not here, or whose mistake is further up.
pub(super) fn advice(message: &str, line: &str) -> Option<&'static str> {
    let got = |sign: &str| message.ends_with(&format!("got '{sign}'"));
    let words = || line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let as_field = |word: &str| {
        let mut found = line.match_indices(word).map(|(at, _)| line[at + word.len()..].trim_start());
        got(word) && found.any(|rest| rest.starts_with('=') && !rest.starts_with("=="))
    };
    Some(match () {
        () if RESERVED.into_iter().any(as_field) => {
            "a word of Lua is a field's name only in brackets: write [\"for\"] = \"5m\""
        }
        () if words().any(|word| word == "goto") => {
            "there is no goto here; a loop has 'continue', and a function 'return'"
        }
        () if line.contains("<const>") || line.contains("<close>") => "a local has no attributes here: leave it out",
        () if ["&", "|", "~", "<<", ">>"].into_iter().any(got) => {
            "there are no operators on bits here; write bit32.band(a, b), bit32.bor(a, b), bit32.bxor(a, b)"
        }
        () if got("{") && line.trim_start().starts_with('{') => {
            "a table alone does nothing; 'return' may be missing before it"
        }
        () if message.starts_with("Incomplete statement") && line.contains("++") => "there is no ++ here; write n += 1",
        () if message.starts_with("Incomplete statement")
            && words().any(|word| nearest(word, ["return"]).is_some()) =>
        {
            "did you mean 'return'?"
        }
        () if message.contains("attempt to yield across") => {
            "the library calls this function (as table.sort and string.gsub do), and no step can wait inside of it: take the step before"
        }
        () if message.starts_with("attempt to call missing method") && line.contains("run:") => {
            "`run` is another value here: a local or an argument of that name hides the run"
        }
        () if message.starts_with("Expected") && line.matches('"').count() % 2 == 1 => {
            "a text in this line may have no end: the number of its quotes is odd"
        }
        () if line.trim_start().starts_with("end") && message.starts_with("Expected identifier") => {
            "the line above is not finished, or an 'if', 'for' or 'function' above has no 'end' of its own"
        }
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_local_is_found_however_it_is_declared() {
        let text = "local limit, most = 3, 4\nlocal function shout(x) end\nlocal other\n";
        let sources = Sources::from_files([("a.lua", text)]);
        for (name, local) in [("limti", "limit"), ("mots", "most"), ("shuot", "shout"), ("othr", "other")] {
            assert_eq!(local_near(&sources, "a.lua", name), Some(local));
        }
        assert_eq!(local_near(&sources, "a.lua", "nothing_like_it"), None);
        assert_eq!(local_near(&sources, "b.lua", "limti"), None);
    }

    #[test]
    fn a_field_is_pointed_at_and_not_a_comparison_with_it() {
        let text = "call({\n  a == cap,\n  recap = 1,\n  cap = 2,\n})";
        let sources = Sources::from_files([("a.lua", text)]);
        let mut error = CharterError::at(&sources, "a.lua", 1, "wrong");
        at_field(&mut error, &sources, "cap");
        assert_eq!((error.line, error.source_line.as_deref()), (Some(4), Some("  cap = 2,")));
    }

    #[test]
    fn a_field_of_an_entry_is_pointed_at_in_its_own_table() {
        let text = "call({ a = { 1 },\n  list = {\n    { of = { 1, 2 }, cap = 1 }, -- {\n    {\n      cap = 2,\n    }, { cap = 3 },\n  } })";
        let sources = Sources::from_files([("a.lua", text)]);
        for (field, line) in
            [("list[1].cap", 3), ("list[2].cap", 5), ("list[2]", 4), ("list[3].cap", 6), ("list[9]", 2)]
        {
            let mut error = CharterError::at(&sources, "a.lua", 1, "wrong");
            at_field(&mut error, &sources, field);
            assert_eq!(error.line, Some(line), "{field}");
        }
    }
}
