//! Names that stand twice in one object of a body, at any depth: which of the two counts is every reader's own choice,
//! so a body that has one is refused instead of read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Returns the first name that stands twice in one object. What is no JSON is for its reader to refuse.
pub(in crate::door) fn twice(body: &[u8]) -> Option<String> {
    let mut found = None;
    let mut json = serde_json::Deserializer::from_slice(body);
    // The error only ends the search.
    let _ = Look(&mut found).deserialize(&mut json);
    found
}

/// A value that is looked through, and where what was found is noted.
struct Look<'a>(&'a mut Option<String>);

#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Look(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        // Most objects are small: looking at a few names is less work than one hash.
        const FEW: usize = 12;
        let (mut few, mut many) = (Vec::new(), HashSet::new());
        while let Some(name) = fields.next_key::<Name<'de>>()? {
            if few.contains(&name) || many.contains(&name) {
                *self.0 = Some(name.0.into_owned());
                return Err(A::Error::custom("a name twice"));
            }
            match few.len() < FEW {
                true => few.push(name),
                false => drop(many.insert(name)),
            }
            fields.next_value_seed(Look(&mut *self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_twice_wherever_it_stands_and_however_it_is_written() {
        for (body, found) in [
            (r#"{"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 2}]}"#, None),
            (r#"{"a": 1, "a": 1}"#, Some("a")),
            (r#"{"a": 1, "\u0061": 2}"#, Some("a")),
            (r#"{"x": [null, true, -1, 1.5, "s", {"y": {"z": 1, "z": 2}}]}"#, Some("z")),
            (r#"{"a": 1, "a""#, Some("a")),
            (r#"{"a": 1, "A": 2}"#, None),
            ("[1, 2", None),
            ("", None),
        ] {
            assert_eq!(twice(body.as_bytes()).as_deref(), found, "{body}");
        }
        let many: Vec<String> = (0..5_000).chain([4_321]).map(|n| format!("\"f{n}\": {n}")).collect();
        assert_eq!(twice(format!("{{{}}}", many.join(",")).as_bytes()).as_deref(), Some("f4321"));
        assert_eq!(twice(format!("{{{}}}", many[..5_000].join(",")).as_bytes()), None);
        assert_eq!(twice("[".repeat(100_000).as_bytes()), None, "what is too deep is refused by who reads it");
    }
}
