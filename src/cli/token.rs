//! The token that a command sends to a daemon that wants one: from `--token-file` or from FLEETD_TOKEN, and never from
//! an argument, which everybody on the machine can read. Whether it is the right one is the daemon's matter.

use std::path::Path;

use super::exit::Failure;

/// The variable that holds it.
const VARIABLE: &str = "FLEETD_TOKEN";

/// The value of an Authorization header. It has no way to be shown.
pub struct Bearer(String);

impl Bearer {
    /// Finds the token: the named file goes before the variable.
    pub fn find(file: Option<&Path>) -> Result<Option<Bearer>, Failure> {
        if let Some(file) = file {
            let text = std::fs::read_to_string(file);
            let text =
                text.map_err(|error| Failure::io(format!("cannot read --token-file {}", file.display()), error))?;
            return Bearer::of(&text, &format!("--token-file {}", file.display())).map(Some);
        }
        match std::env::var(VARIABLE) {
            Ok(text) if !text.trim().is_empty() => Bearer::of(&text, VARIABLE).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns what stands in the header.
    pub fn header(&self) -> &str {
        &self.0
    }

    fn of(text: &str, from: &str) -> Result<Bearer, Failure> {
        let token = text.trim();
        if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Failure::Usage(format!("{from} holds no token: it is one line without spaces")));
        }
        Ok(Bearer(format!("Bearer {token}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_and_a_wrong_one_is_not_repeated() {
        let of = |text: &str| Bearer::of(text, "FLEETD_TOKEN").map(|bearer| bearer.header().to_string());
        assert_eq!(of(" abc\n").expect("a token"), "Bearer abc");
        for wrong in ["", " \n", "s3cret two", "s3cret\ntwo", "s3cret\u{7f}"] {
            let said = of(wrong).expect_err(wrong).to_string();
            assert_eq!(said, "FLEETD_TOKEN holds no token: it is one line without spaces", "{wrong}");
        }
    }
}
