//! The difference between two texts in which one piece was changed, as people know it: `-`, `+`, and some lines around;
//! or of the piece alone, where what is around it may be secret. Pure.

/// Lines that are shown before and after what differs.
const AROUND: usize = 3;

/// Returns the difference, with nothing in it that could steer a terminal left to whoever prints it.
pub fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (from, to) = (head.saturating_sub(AROUND), old.len() - tail);
    let mut out = format!("@@ line {} @@\n", head + 1);
    let mut say = |sign: char, lines: &[&str]| {
        for line in lines {
            out.push(sign);
            match line.strip_suffix('\n') {
                Some(line) => out.push_str(line.strip_suffix('\r').unwrap_or(line)),
                None => out.push_str(&format!("{line}\n\\ no newline at the end")),
            }
            out.push('\n');
        }
    };
    say(' ', &old[from..head]);
    say('-', &old[head..to]);
    say('+', &new[head..new.len() - tail]);
    say(' ', &old[to..(to + AROUND).min(old.len())]);
    out
}

/// Returns what went and what came, to the letter, from one quotation mark to the next: not what is beside it in the same
/// line.
pub fn piece(old: &str, new: &str) -> String {
    let alike = |pairs: &mut dyn Iterator<Item = (char, char)>| -> Vec<char> {
        pairs.take_while(|(old, new)| old == new).map(|(c, _)| c).collect()
    };
    let head = alike(&mut old.chars().zip(new.chars()));
    let from: usize = head.iter().map(|c| c.len_utf8()).sum();
    let tail = alike(&mut old[from..].chars().rev().zip(new[from..].chars().rev()));
    let to: usize = tail.iter().map(|c| c.len_utf8()).sum();
    // A text that only became another one is shown whole.
    let inside = head.iter().filter(|c| **c == '"').count() % 2 == 1;
    let quoted = |side: &mut dyn Iterator<Item = &char>| -> usize {
        let letters: Vec<&char> = side.take_while(|c| !matches!(c, '"' | '\n')).collect();
        letters.iter().map(|c| c.len_utf8()).sum()
    };
    let (before, after) = match inside {
        true => (quoted(&mut head.iter().rev()), quoted(&mut tail.iter().rev())),
        false => (0, 0),
    };
    let (from, to) = (from - before, to - after);
    let mut out = format!("@@ line {} @@\n", 1 + old[..from].matches('\n').count());
    for (sign, text) in [('-', &old[from..old.len() - to]), ('+', &new[from..new.len() - to])] {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.for_each(|line| out.push_str(&format!("{sign}{line}\n")));
    }
    out
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_stands_between_the_lines_around_it() {
        insta::assert_snapshot!(diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\nnew\ne\nf\n"), @"
        @@ line 5 @@
         b
         c
         d
        +new
         e
         f
        ");
        insta::assert_snapshot!(diff("one\r\ntwo\r\nthree", "one\r\n2\r\nthree\r\n"), @r#"
        @@ line 2 @@
         one
        -two
        -three
        \ no newline at the end
        +2
        +three
        "#);
        insta::assert_snapshot!(diff("", "all\n"), @"
        @@ line 1 @@
        +all
        ");
        insta::assert_snapshot!(diff("x\nx\n", "x\nx\nx\n"), @"
        @@ line 3 @@
         x
         x
        +x
        ");
    }

    #[test]
    fn a_piece_is_shown_without_what_is_beside_it() {
        let old = "{\"a\": {\"key\": \"secret\"}, \"url\": \"http://x:9001/\"}";
        insta::assert_snapshot!(piece(old, &old.replace("9001", "9002")), @"
        @@ line 1 @@
        -http://x:9001/
        +http://x:9002/
        ");
        let added = old.replace("}, ", ",\n  \"new\": {\n    \"b\": 1\n  }}, ");
        let shown = piece(old, &added);
        assert!(!shown.contains("secret"), "{shown}");
        insta::assert_snapshot!(shown, @r#"
        @@ line 1 @@
        +,
        +  "new": {
        +    "b": 1
        +  }
        "#);
    }
}
