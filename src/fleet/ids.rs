//! Names and numbers of things, each its own type so that one is never taken for another.
//!
//! Numbered ids come from one counter of the fleet and print as a letter and the number (`t17`), which is also
//! their form in JSON and in the store. Names are what humans chose. Nothing here knows what the things do.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

macro_rules! numbered {
    ($(#[doc = $doc:literal])* $name:ident, $letter:literal) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                text.strip_prefix($letter)
                    .filter(|digits| !digits.starts_with('+'))
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or_else(|| format!(concat!("'{}' is not an id of the form ", $letter, "17"), text))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": concat!($($doc),*).trim(),
                    "type": "string",
                    "pattern": concat!("^", $letter, "[0-9]{1,19}$"),
                    "examples": [concat!($letter, "17")],
                })
            }
        }
    };
}

numbered!(
    /// One message to a worker and everything until its reply is collected.
    TurnId, "t"
);
numbered!(
    /// One execution of a recipe.
    RunId, "r"
);
numbered!(
    /// One thing that waits in a mailbox.
    MessageId, "m"
);
numbered!(
    /// One question of a worker or a run.
    QuestionId, "q"
);
numbered!(
    /// A caller that waits for an answer right now; never stored.
    Ticket, "w"
);

macro_rules! named {
    ($(#[$doc:meta])* $name:ident) => {
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        $(#[$doc])*
        pub struct $name(pub Arc<str>);

        impl $name {
            /// Returns the name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

named!(
    /// A worker's name, such as `w-local-2`.
    WorkerName
);
impl WorkerName {
    /// Returns the role whose workers are called like this: `w-local` for `w-local-2`.
    pub fn role(&self) -> Option<RoleName> {
        let (role, number) = self.as_str().rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| role.into())
    }
}

named!(
    /// A role's name, such as `w-local`.
    RoleName
);
named!(
    /// A profile's name, such as `qwen`.
    ProfileName
);
named!(
    /// A recipe's name, such as `bug-hunt`.
    RecipeName
);
named!(
    /// Where a step stands in its run, such as `each#2[17].send#1`.
    StepPath
);
named!(
    /// An idempotency key, as its caller wrote it: 1 to 200 characters, kept as long as history is (7 days unless set).
    #[schemars(extend("minLength" = 1, "maxLength" = 200))]
    Key
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_prints() {
        let id = TurnId(17);
        assert_eq!(id.to_string(), "t17");
        assert_eq!("t17".parse(), Ok(id));
        assert_eq!(serde_json::from_str::<TurnId>("\"t17\"").expect("valid"), id);
    }

    #[test]
    fn another_things_id_is_refused_with_the_right_form() {
        let refused = "r17".parse::<TurnId>().expect_err("a run is not a turn");
        assert_eq!(refused, "'r17' is not an id of the form t17");
        assert!("t".parse::<TurnId>().is_err());
        assert!("t+1".parse::<TurnId>().is_err());
    }
}
