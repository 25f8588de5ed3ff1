//! Deals the files out into a bounded number of parts, and writes names so that any name survives the way.
//!
//! The encoding is the one that `charters/demo/bin/common.sh` reads. Pure: files are written elsewhere.

use std::ffi::OsStr;
use std::fmt::Write;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use super::walk::Found;

/// More parts than this show nothing new and only cost processes.
const MOST_PARTS: usize = 24;
/// So few files are one part.
const FEW_FILES: usize = 25;
/// Opening a file costs about as much as reading so many bytes of it.
const OPENING: u64 = 4096;

/// Returns the ranges of `files` that make up the parts: neighbours together, about equal in work, one at least.
pub fn parts(files: &[Found]) -> Vec<Range<usize>> {
    let wanted = files.len().div_ceil(FEW_FILES).clamp(1, MOST_PARTS);
    let work = |file: &Found| file.bytes + OPENING;
    let mut left: u64 = files.iter().map(work).sum();

    let mut parts = Vec::new();
    let (mut begin, mut done) = (0, 0);
    for (index, file) in files.iter().enumerate() {
        done += work(file);
        // The fair share of what is left, so that one heavy file makes its own part heavy and no other one light.
        let parts_left = (wanted - parts.len()) as u64;
        if parts_left > 1 && done >= left / parts_left {
            parts.push(begin..index + 1);
            (begin, left, done) = (index + 1, left - done, 0);
        }
    }
    if begin < files.len() || parts.is_empty() {
        parts.push(begin..files.len());
    }
    parts
}

/// Returns the list that a worker reads for one part.
pub fn list(files: &[Found]) -> String {
    let mut list = String::new();
    for file in files {
        list.push_str(&encode(file.path.as_os_str()));
        list.push('\n');
    }
    list
}

/// Returns the name as one line of UTF-8; `%XX` stands for a byte that could not stay as it is.
pub fn encode(name: &OsStr) -> String {
    let mut out = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            // An `@` at the start would announce a list.
            if letter.is_ascii_control() || letter == '%' || (letter == '@' && out.is_empty()) {
                push_byte(&mut out, letter as u8);
            } else {
                out.push(letter);
            }
        }
        for byte in chunk.invalid() {
            push_byte(&mut out, *byte);
        }
    }
    out
}

/// Returns the bytes of the name that `encode` wrote.
pub fn decode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, after) {
            (b'%', [high, low, after @ ..]) if let Some(byte) = hex(*high, *low) => {
                out.push(byte);
                rest = after;
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

fn push_byte(out: &mut String, byte: u8) {
    write!(out, "%{byte:02X}").expect("a string takes everything");
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? * 16 + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(sizes: &[u64]) -> Vec<Found> {
        let found = |(index, &bytes): (usize, &u64)| Found { path: format!("f{index}").into(), bytes };
        sizes.iter().enumerate().map(found).collect()
    }

    #[test]
    fn no_files_are_one_empty_part() {
        let none: Range<usize> = 0..0;
        assert_eq!(parts(&[]), vec![none]);
    }

    #[test]
    fn twenty_thousand_files_are_a_bounded_number_of_even_parts() {
        let parts = parts(&files(&[1000; 20_000]));
        assert_eq!(parts.len(), MOST_PARTS);
        assert!(parts.iter().all(|part| (800..=870).contains(&part.len())));
    }

    #[test]
    fn one_heavy_file_does_not_starve_the_other_parts() {
        let mut sizes = vec![100; 100];
        sizes[0] = 1 << 20;
        let parts = parts(&files(&sizes));
        assert_eq!(parts[0], 0..1);
        assert!(parts[1..].iter().all(|part| part.len() >= 30), "{parts:?}");
    }

    #[test]
    fn odd_names_become_one_line_each() {
        assert_eq!(encode(OsStr::new("a b/ü.rs")), "a b/ü.rs");
        assert_eq!(encode(OsStr::new("@x\n100%")), "%40x%0A100%25");
        assert_eq!(encode(OsStr::from_bytes(b"\xff@.c")), "%FF@.c");
        assert_eq!(decode("50%-%4"), b"50%-%4");
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in proptest::collection::vec(1u8.., 0..40)) {
            let encoded = encode(OsStr::from_bytes(&name));
            prop_assert!(!encoded.contains(|c: char| c.is_ascii_control()) && !encoded.starts_with('@'));
            prop_assert_eq!(decode(&encoded), name);
        }

        #[test]
        fn parts_cover_every_file_once_in_order(sizes in proptest::collection::vec(0u64..1 << 20, 0..2000)) {
            let files = files(&sizes);
            let parts = parts(&files);
            prop_assert!((1..=MOST_PARTS).contains(&parts.len()));
            prop_assert!(sizes.is_empty() || parts.iter().all(|part| !part.is_empty()));
            let all: Vec<usize> = parts.into_iter().flatten().collect();
            prop_assert_eq!(all, (0..files.len()).collect::<Vec<_>>());
        }
    }
}
