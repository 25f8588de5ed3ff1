//! The token of `auth = "token"`: how it is read from its file or variable, and what is kept of it.
//!
//! Kept is its SHA-256 alone, so nothing here can print, log or store the token itself. Errors never repeat it.

use std::fmt;
use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// The least length of a token, in characters.
const LEAST: usize = 32;
/// The greatest: longer ones do not fit every client's headers.
const MOST: usize = 1_024;

/// What is kept of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

/// What is wrong with a token and what would be right, without the setting that names it.
pub type TokenError = (String, &'static str);

const MAKE: &str = "make one: (umask 077 && head -c 32 /dev/urandom | base64 > FILE)";

impl Token {
    /// Checks a text around which there may be space.
    pub fn of(text: &str) -> Result<Token, TokenError> {
        let token = text.trim();
        let length = token.chars().count();
        match token {
            "" => Err(("it is empty".into(), MAKE)),
            token if token.lines().count() > 1 => {
                Err(("it has more than one line".into(), "write the token alone, on one line"))
            }
            token if !token.chars().all(|c| c.is_ascii_graphic()) => Err((
                "it holds a space or a character that a header cannot carry".into(),
                "use letters, digits and signs of ASCII",
            )),
            _ if length < LEAST => Err((format!("it has {length} characters; a token has at least {LEAST}"), MAKE)),
            _ if length > MOST => Err((format!("it has {length} characters; a token has at most {MOST}"), MAKE)),
            token => Ok(Token(digest(token))),
        }
    }

    /// Returns whether a text is this token. Takes as long for a near miss as for any other.
    pub fn matches(&self, text: &[u8]) -> bool {
        let other: [u8; 32] = Sha256::digest(text).into();
        let apart = self.0.iter().zip(other).fold(0, |apart, (a, b)| black_box(apart | (a ^ b)));
        black_box(apart) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Reads a file that only we can read.
pub(super) fn read_private(file: &Path) -> Result<String, TokenError> {
    const REGULAR: &str = "name a regular file";
    let failed = |error: std::io::Error| (format!("it cannot be read: {error}"), "name a file that fleetd can read");
    // Without waiting: the other end of a pipe may never come.
    let wait_never = OFlags::NONBLOCK.bits().cast_signed();
    let mut opened = OpenOptions::new().read(true).custom_flags(wait_never).open(file).map_err(failed)?;
    let found = opened.metadata().map_err(failed)?;
    let me = rustix::process::geteuid().as_raw();
    if !found.is_file() {
        return Err(("it is no regular file".into(), REGULAR));
    }
    if found.uid() != me {
        return Err((format!("it belongs to user {} and not to {me}, who runs fleetd", found.uid()), "chown it"));
    }
    if found.mode() & 0o077 != 0 {
        return Err((format!("others can read or change it: mode {:04o}", found.mode() & 0o7777), "chmod 600 it"));
    }
    let mut text = String::new();
    // A little more than the longest token: what is longer is refused for its length.
    let read = (&mut opened).take(2 * MOST as u64).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => ("it is not UTF-8 text".into(), "write the token alone, on one line"),
        _ => failed(error),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const GOOD: &str = "0123456789abcdef0123456789ABCDEF";

    #[test]
    fn a_token_is_kept_as_its_digest_and_shown_to_nobody() {
        let token = Token::of(&format!(" {GOOD}\n")).unwrap();
        assert!(token.matches(GOOD.as_bytes()));
        for other in ["", &GOOD[1..], &GOOD.to_lowercase(), &format!("{GOOD} "), &format!("{GOOD}{GOOD}")] {
            assert!(!token.matches(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn what_is_no_token_is_told_without_repeating_it() {
        let wrong = |text: &str| Token::of(text).expect_err(text).0;
        assert_eq!(wrong(" \n"), "it is empty");
        assert_eq!(wrong("s3cret"), "it has 6 characters; a token has at least 32");
        assert_eq!(wrong(&format!("{GOOD}\n{GOOD}")), "it has more than one line");
        assert_eq!(wrong(&format!("{GOOD} x")), "it holds a space or a character that a header cannot carry");
        assert_eq!(wrong(&format!("{GOOD}ß")), "it holds a space or a character that a header cannot carry");
        assert_eq!(wrong(&"x".repeat(1_025)), "it has 1025 characters; a token has at most 1024");
    }

    #[test]
    fn only_a_private_regular_file_of_ours_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, GOOD).unwrap();
        for (mode, wrong) in [
            (0o640, Some("others can read or change it: mode 0640")),
            (0o602, Some("others can read or change it: mode 0602")),
            (0o604, Some("others can read or change it: mode 0604")),
            (0o600, None),
            (0o400, None),
        ] {
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let read = read_private(&file);
            assert_eq!(read.as_ref().err().map(|(says, _)| says.as_str()), wrong, "{mode:o}");
            assert!(read.is_err() || read.unwrap() == GOOD);
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read_private(&link).unwrap(), GOOD, "what a link leads to counts");

        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for odd in [pipe.as_path(), dir.path(), Path::new("/dev/null")] {
            assert_eq!(read_private(odd).unwrap_err().0, "it is no regular file", "{odd:?}");
        }
        let gone = read_private(&dir.path().join("gone")).unwrap_err().0;
        assert!(gone.starts_with("it cannot be read: No such file"), "{gone}");
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, [b'x'; 9_000]).unwrap();
        assert!(Token::of(&read_private(&file).unwrap()).is_err(), "a file that goes on and on is cut and refused");
        std::fs::write(&file, [0xff; 40]).unwrap();
        assert_eq!(read_private(&file).unwrap_err().0, "it is not UTF-8 text");
    }
}
