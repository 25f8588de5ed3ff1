//! The parameters of a request, read as the real server reads them:
//! what does not fit is an invalid request.

use serde_json::{Map, Value};

/// Why a request is not carried out.
#[derive(Debug)]
pub enum Failed {
    /// It does not parse: answered without its id.
    Invalid(String),
    /// It cannot be done.
    Code(&'static str, String),
    /// An entry of a subscription names what is not there.
    Probe(usize, &'static str, String),
}

/// Returns an error with a code.
pub fn failed<T>(code: &'static str, message: impl Into<String>) -> Result<T, Failed> {
    Err(Failed::Code(code, message.into()))
}

/// The parameters.
#[derive(Clone, Copy)]
pub struct Params<'a>(pub &'a Map<String, Value>);

impl<'a> Params<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text that must be there.
    pub fn text(self, name: &str) -> Result<&'a str, Failed> {
        let value = self.0.get(name).ok_or_else(|| Failed::Invalid(format!("missing field `{name}`")))?;
        value.as_str().ok_or_else(|| wrong(value, "a string"))
    }

    /// Returns a text.
    pub fn maybe_text(self, name: &str) -> Result<Option<&'a str>, Failed> {
        self.get(name).map(|value| value.as_str().ok_or_else(|| wrong(value, "a string"))).transpose()
    }

    /// Returns a number.
    pub fn number(self, name: &str) -> Result<Option<u64>, Failed> {
        self.get(name).map(|value| value.as_u64().ok_or_else(|| wrong(value, "u64"))).transpose()
    }

    /// Returns a fraction.
    pub fn fraction(self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    /// Tells whether a switch is on.
    pub fn is(self, name: &str) -> Result<bool, Failed> {
        let value = self.get(name);
        value.map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong(value, "a boolean")))
    }

    /// Returns an object.
    pub fn object(self, name: &str) -> Result<Option<Params<'a>>, Failed> {
        let value = self.get(name);
        value.map(|value| value.as_object().map(Params).ok_or_else(|| wrong(value, "a map"))).transpose()
    }

    /// Returns an object that must be there.
    pub fn needed_object(self, name: &str) -> Result<Params<'a>, Failed> {
        self.object(name)?.ok_or_else(|| Failed::Invalid(format!("missing field `{name}`")))
    }

    /// Returns a list that must be there.
    pub fn list(self, name: &str) -> Result<&'a [Value], Failed> {
        let value = self.0.get(name).ok_or_else(|| Failed::Invalid(format!("missing field `{name}`")))?;
        value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(value, "a sequence"))
    }

    /// Returns a list of texts.
    pub fn texts(self, name: &str) -> Result<Option<Vec<String>>, Failed> {
        if self.get(name).is_none() {
            return Ok(None);
        }
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| wrong(value, "a string"));
        self.list(name)?.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the variables of an environment, checked.
    pub fn env(self) -> Result<Vec<(String, String)>, Failed> {
        let mut found = Vec::new();
        for (name, value) in self.object("env")?.map(|env| env.0).into_iter().flatten() {
            let value = value.as_str().ok_or_else(|| wrong(value, "a string"))?;
            if name.is_empty() {
                return failed("invalid_env", "env key must not be empty");
            }
            if name.contains('=') {
                return failed("invalid_env", format!("env key {name} must not contain '='"));
            }
            if name.contains('\0') || value.contains('\0') {
                return failed("invalid_env", format!("env value for {name} must not contain NUL bytes"));
            }
            found.push((name.clone(), value.to_owned()));
        }
        Ok(found)
    }
}

fn wrong(value: &Value, expected: &str) -> Failed {
    Failed::Invalid(format!("invalid type: {value}, expected {expected}"))
}
