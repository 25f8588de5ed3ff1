//! Sizes as people write them: `"512MiB"`, `"1GiB"`, or a number of bytes.
//! Which sizes are sensible is checked in `check`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub u64);

impl Size {
    fn parse(text: &str) -> Result<Size, String> {
        let wrong = || format!("'{text}' is not a size; write for example \"512MiB\", \"1GiB\", or 0");
        let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(split);
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let scale = match unit {
            "KiB" => 1_u64 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(wrong()),
        };
        // A thousand GiB bound every size, so that it fits whatever its unit.
        let bytes = number * scale as f64;
        ((0.0..=1_099_511_627_776.0).contains(&bytes)).then_some(Size(bytes as u64)).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"512MiB\" or \"1GiB\", or a number of bytes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                Size::parse(text.trim()).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Size, E> {
                u64::try_from(n).map(Size).map_err(|_| E::custom(format!("{n} is not a size; write 0 or more bytes")))
            }
        }

        d.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_what_people_write() {
        for (text, bytes) in [("512MiB", 512 << 20), ("1GiB", 1 << 30), ("1.5 GiB", 3 << 29), ("64KiB", 64 << 10)] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "12", "1GB", "-1MiB", "many MiB", "1e30GiB", "MiB"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }
}
