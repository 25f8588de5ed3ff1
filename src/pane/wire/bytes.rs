//! Bytes in JSON: as text where they are text, else as numbers. Words, variables and paths need not be UTF-8.
//! How long they may be is the line's matter.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

/// Bytes that are mostly text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Raw(Vec<u8>),
}

impl From<Form> for Bytes {
    fn from(form: Form) -> Bytes {
        match form {
            Form::Text(text) => Bytes(text.into_bytes()),
            Form::Raw(bytes) => Bytes(bytes),
        }
    }
}

impl From<Bytes> for Form {
    fn from(bytes: Bytes) -> Form {
        String::from_utf8(bytes.0).map_or_else(|error| Form::Raw(error.into_bytes()), Form::Text)
    }
}

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

impl From<Bytes> for OsString {
    fn from(bytes: Bytes) -> OsString {
        OsString::from_vec(bytes.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_as_they_were() {
        for (bytes, json) in [(&b"plain"[..], r#""plain""#), (b"", r#""""#), (b"\xff\x00", "[255,0]")] {
            let bytes = Bytes(bytes.to_vec());
            assert_eq!(serde_json::to_string(&bytes).expect("plain"), json);
            assert_eq!(serde_json::from_str::<Bytes>(json).expect("the same"), bytes);
        }
    }
}
