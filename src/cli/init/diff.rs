//! The difference between two texts in which one piece was changed, as people know it: `-`, `+`, and some lines around.
//! Pure.

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
}
