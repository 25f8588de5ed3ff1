//! A screen against what a program may print, on purpose or not. What it looks like to a watcher is in `frame`.
//! No terminal and no process: bytes in, rows out.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const SMALL: Size = Size { rows: 4, columns: 12 };

fn print(screen: &mut Screen, bytes: &[u8]) {
    let late = Instant::now() + Duration::from_secs(600);
    assert_eq!(screen.print(bytes, late), bytes.len());
}

fn lines(screen: &mut Screen) -> Vec<String> {
    screen.view(false, 0).lines
}

#[test]
fn a_panic_costs_the_screen_and_nothing_else() {
    let mut screen = Screen::new(SMALL);
    print(&mut screen, b"1\r\n2\r\n3\r\n4\r\n5\r\nlost");
    print(&mut screen, b"\x1b]panic\x07");
    assert_eq!(lines(&mut screen), ["", "", "", ""]);
    print(&mut screen, b"and on");
    assert_eq!(lines(&mut screen)[0], "and on");
    assert_eq!(screen.view(false, 9).history, ["1", "2"]);
}

#[test]
fn rows_that_leave_are_kept_up_to_a_bound() {
    let mut screen = Screen::new(SMALL);
    for n in 0..10_000 {
        print(&mut screen, format!("\x1b[3{}mrow {n}\x1b[m\r\n", n % 8).as_bytes());
    }
    let kept = screen.view(false, usize::MAX).history;
    assert_eq!(kept.len(), 2_000);
    assert_eq!(kept.last().map(String::as_str), Some("row 9996"));
    assert_eq!(screen.view(false, 2).history, ["row 9995", "row 9996"]);
    // What is drawn on the alternate screen leaves nothing behind.
    print(&mut screen, b"\x1b[?1049h");
    (0..100).for_each(|_| print(&mut screen, b"alternate\r\n"));
    print(&mut screen, b"\x1b[?1049l");
    assert_eq!(screen.view(false, 1).history, ["row 9996"]);
    assert_eq!(lines(&mut screen), ["row 9997", "row 9998", "row 9999", ""]);
}

#[test]
fn invalid_text_is_passed_over() {
    let mut screen = Screen::new(SMALL);
    print(&mut screen, b"a\xff\xfeb\xc3\xc3\xa9c\xf0\x9f\x92");
    print(&mut screen, b"\xbbd\x80");
    let line = lines(&mut screen).swap_remove(0);
    for letter in ["a", "b", "é", "c", "💻", "d"] {
        assert!(line.contains(letter), "{line}");
    }
}

#[test]
fn one_short_sequence_does_not_take_long() {
    let mut screen = Screen::new(Size { rows: 300, columns: 500 });
    print(&mut screen, b"x");
    let hostile = b"\x1b[65535b\x1b[65535S\x1b[65535L\x1b[65535@".repeat(1_000);
    let mut taken = 0;
    let mut longest = Duration::ZERO;
    let mut slices = 0;
    while taken < hostile.len() && slices < 20 {
        let began = Instant::now();
        taken += screen.print(&hostile[taken..], began + Duration::from_millis(1));
        longest = longest.max(began.elapsed());
        slices += 1;
    }
    assert!(slices > 1 || taken == hostile.len());
    assert!(longest < Duration::from_secs(2), "a slice took {longest:?}");
}

#[test]
fn a_program_that_asks_its_terminal_is_answered() {
    let mut screen = Screen::new(SMALL);
    let mut asks = |question: &str| {
        print(&mut screen, question.as_bytes());
        String::from_utf8(screen.answers()).expect("text")
    };
    assert_eq!(asks("\x1b[c"), "\x1b[?62;22c");
    assert_eq!(asks("\x1b[2;5H\x1b[6n"), "\x1b[2;5R");
    assert_eq!(asks("\x1b[5n"), "\x1b[0n");
    assert_eq!(asks("\x1b[?2004h\x1b[?2004$p"), "\x1b[?2004;1$y");
    assert_eq!(asks("\x1b[?2026$p"), "\x1b[?2026;0$y");
    assert_eq!(asks("\x1b]11;?\x07"), "\x1b]11;rgb:0000/0000/0000\x1b\\");
    assert!(asks("\x1b[>0q").starts_with("\x1bP>|fleetd "));
    assert_eq!(asks("\x1b[>c"), "\x1b[>1;10;0c");
    assert_eq!(asks("\x1b]52;c;?\x07\x1b]0;title\x07\x1b[8;9;9t"), "", "neither the clipboard nor a title");
    assert!(asks(&"\x1b[5n".repeat(100_000)).len() <= 4 * 1024);
}

#[test]
fn a_coloured_row_is_letters_and_attributes_alone() {
    let mut screen = Screen::new(SMALL);
    print(&mut screen, "\x1b[1;31mre\x1b[44md\x1b[m  \x1b[38;2;1;2;3m漢\x1b[m x\x1b[42m  ".as_bytes());
    let painted = "\x1b[0;1;31mre\x1b[0;1;31;44md\x1b[0m  \x1b[0;38;2;1;2;3m漢\x1b[0m x\x1b[0;42m  \x1b[0m";
    assert_eq!(screen.row(0, 12), painted);
    assert_eq!(screen.row(0, 6), "\x1b[0;1;31mre\x1b[0;1;31;44md\x1b[0m  \x1b[0;38;2;1;2;3m \x1b[0m", "half a letter");
    assert_eq!(screen.row(1, 12), "");
}

/// What a program prints: text, whole sequences, broken ones, noise.
fn printed() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![Just(String::new()), (0u32..70_000).prop_map(|n| n.to_string())];
    let sequence = (proptest::collection::vec(number, 0..4), "[@-~]", "[ ?>!$]{0,2}")
        .prop_map(|(numbers, end, middle)| format!("\x1b[{middle}{}{end}", numbers.join(";")).into_bytes());
    let text = "[ -~]{0,9}|[漢字👩é\u{301}\u{200d}]{0,9}|\r\n|\t|\x08|\x1b[78cDEHM]|\x1b\\][0-9]{0,3};[a-z?]{0,9}\x07";
    let noise = proptest::collection::vec(any::<u8>(), 0..12);
    let one = prop_oneof![4 => sequence, 3 => text.prop_map(String::into_bytes), 1 => noise];
    proptest::collection::vec(one, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn whatever_is_printed_and_resized_a_screen_stays_a_screen(
        steps in proptest::collection::vec((printed(), 1u16..30, 1u16..40), 1..6)
    ) {
        let mut screen = Screen::new(SMALL);
        for (bytes, rows, columns) in steps {
            print(&mut screen, &bytes);
            let size = Size { rows: rows.max(2), columns: columns.max(2) };
            screen.resize(size);
            let view = screen.view(true, 10);
            prop_assert_eq!(view.lines.len(), usize::from(size.rows));
            prop_assert_eq!(view.coloured.len(), usize::from(size.rows));
            let cursor = screen.cursor();
            prop_assert!(cursor.row < size.rows && cursor.column < size.columns);
            for line in view.coloured {
                let plain: String = vt100::capture::basic_formatted_to_plain(&line).collect();
                prop_assert!(!plain.contains(|c: char| c.is_control()), "{:?}", plain);
            }
        }
    }
}
