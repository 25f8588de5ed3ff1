//! What the operator allows of a launch plan: which programs, which addresses. A plan from a charter has no rights of
//! its own; what it asks for beyond these is refused by the name of the field.

mod addresses;

use std::collections::BTreeMap;

use serde_json::Value;

use self::addresses::{addresses, proxy};
use super::fill::Fill;
use super::plan::PlanError;
use crate::config::{Endpoint, EndpointName};
use crate::fleet::plan::{Drive, Plan};
use crate::fleet::team::Profile;

/// What fleetd.toml says of programs and addresses.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Programs that may be started; empty = whatever a profile names.
    pub executables: Vec<String>,
    /// The model addresses that a profile may name.
    pub endpoints: BTreeMap<EndpointName, Endpoint>,
    /// Whether programs may be started that other machines can reach without any proof.
    pub allow_exposed: bool,
}

impl Policy {
    /// Returns the endpoint that a profile names.
    pub(super) fn endpoint(&self, profile: &Profile) -> Result<Option<&Endpoint>, PlanError> {
        let Some(name) = &profile.endpoint else { return Ok(None) };
        match self.endpoints.iter().find(|(known, _)| *known.0 == **name) {
            Some((_, endpoint)) => Ok(Some(endpoint)),
            None => {
                let valid: Vec<&str> = self.endpoints.keys().map(|name| &*name.0).collect();
                let valid = if valid.is_empty() { "none is listed".into() } else { valid.join(", ") };
                Err(PlanError::NoEndpoint { profile: profile.name.to_string(), name: name.clone(), valid })
            }
        }
    }

    /// Returns the fill with the address of an endpoint, and with its key as a secret.
    ///
    /// # Errors
    ///
    /// Fails when the variable that should hold the key is not set.
    pub(super) fn fill(
        &self,
        fill: Fill,
        profile: &Profile,
        key: impl Fn(&str) -> Option<String>,
    ) -> Result<Fill, PlanError> {
        let Some(endpoint) = self.endpoint(profile)? else { return Ok(fill) };
        let fill = fill.with("endpoint.url", &endpoint.url);
        let Some(variable) = &endpoint.key_env else { return Ok(fill.with_secret("endpoint.key", "none")) };
        let missing =
            || PlanError::NoKey { name: profile.endpoint.clone().unwrap_or_default(), variable: variable.clone() };
        Ok(fill.with_secret("endpoint.key", key(variable).filter(|key| !key.is_empty()).ok_or_else(missing)?))
    }

    /// Refuses what names an address that is not the endpoint's. Markers are no addresses: what they stand for was
    /// listed by the operator.
    pub(super) fn check(&self, profile: &Profile) -> Result<(), PlanError> {
        let hosts = self.endpoint(profile)?.map(|endpoint| endpoint.allowed_hosts.as_slice()).unwrap_or_default();
        let check =
            |field: String, text: &str| match hosts_of(&field, text).into_iter().find(|host| !hosts.contains(host)) {
                Some(host) => Err(PlanError::Address { profile: profile.name.to_string(), field, host }),
                None => Ok(()),
            };
        for (name, value) in &profile.env {
            check(format!("env.{name}"), value)?;
        }
        let Some(plan) = profile.plan.as_deref() else { return Ok(()) };
        if plan.api.as_ref().is_some_and(|api| api.exposed) && !self.allow_exposed {
            return Err(PlanError::Exposed(profile.name.to_string()));
        }
        for (name, value) in &plan.env {
            check(format!("env.{name}"), value)?;
        }
        // The command of a turn is the user's own and meets no model of ours.
        if plan.drive == Drive::Turn {
            return Ok(());
        }
        for (n, word) in plan.argv.iter().enumerate() {
            check(format!("argv[{}]", n + 1), word)?;
        }
        self.check_files(plan, &check)
    }

    fn check_files(
        &self,
        plan: &Plan,
        check: &impl Fn(String, &str) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        fn walk(
            field: &str,
            value: &Value,
            check: &impl Fn(String, &str) -> Result<(), PlanError>,
        ) -> Result<(), PlanError> {
            match value {
                Value::String(text) => check(field.to_owned(), text),
                Value::Array(items) => items.iter().try_for_each(|item| walk(field, item, check)),
                Value::Object(map) => {
                    map.iter().try_for_each(|(name, value)| walk(&format!("{field}.{name}"), value, check))
                }
                _ => Ok(()),
            }
        }
        plan.files.iter().try_for_each(|(path, content)| walk(&format!("files[{path}]"), content, check))
    }
}

/// Returns a variable of fleetd's own environment, for the key of an endpoint.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the hosts that a field names: those of its addresses, and of a proxy that is written without a scheme.
fn hosts_of(field: &str, text: &str) -> Vec<String> {
    let name = field.rsplit('.').next().unwrap_or(field).to_ascii_lowercase();
    // `no_proxy` lists what goes through none.
    let is_proxy = name.ends_with("_proxy") && name != "no_proxy";
    addresses(text).into_iter().chain(is_proxy.then(|| proxy(text)).flatten()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::fleet::plan::Api;
    use crate::launch::plan::tests::profile;

    fn policy() -> Policy {
        let endpoint = Endpoint {
            url: "https://llm.example/anthropic".into(),
            key_env: Some("LLM_KEY".into()),
            allowed_hosts: vec!["llm.example".into()],
            max_busy: None,
        };
        Policy { endpoints: [(EndpointName("local".into()), endpoint)].into(), ..Policy::default() }
    }

    fn on_endpoint(name: &str, plan: Plan) -> Profile {
        Profile { endpoint: Some(name.into()), plan: Some(Arc::new(plan)), env: BTreeMap::new(), ..profile(&["x"]) }
    }

    #[test]
    fn an_address_of_a_charter_is_refused_by_the_field_that_names_it() {
        let said = |profile: &Profile| policy().check(profile).map_err(|error| error.to_string());
        let plan = Plan { drive: Drive::Typed, argv: vec!["x".into()], ..Plan::default() };
        assert_eq!(said(&on_endpoint("local", plan.clone())), Ok(()));
        let env = |value: &str| Plan { env: [("URL".to_owned(), value.to_owned())].into(), ..plan.clone() };
        assert_eq!(said(&on_endpoint("local", env("@{fleet.endpoint.url}"))), Ok(()));
        assert_eq!(said(&on_endpoint("local", env("https://llm.example/other"))), Ok(()), "a host that is listed");
        let refused = said(&on_endpoint("local", env("https://llm.example@evil.example/"))).expect_err("another host");
        assert!(refused.starts_with("profile upper: env.URL names the host llm.example@evil.example"), "{refused}");
        let argv = Plan { argv: vec!["x".into(), "--url=http://10.0.0.1".into()], ..plan.clone() };
        assert!(said(&on_endpoint("local", argv)).is_err_and(|said| said.contains("argv[2] names the host 10.0.0.1")));
        let by_name = |name: &str, value: &str| {
            said(&on_endpoint("local", Plan { env: [(name.to_owned(), value.to_owned())].into(), ..plan.clone() }))
        };
        assert!(
            by_name("https_Proxy", "evil.example:3128").is_err_and(|said| said.contains("names the host evil.example"))
        );
        assert_eq!(by_name("HTTP_PROXY", "LLM.example:3128"), Ok(()));
        for (name, value) in [("NO_PROXY", "evil.example"), ("PEER", "evil.example:3128"), ("HTTPS_PROXY", "")] {
            assert_eq!(by_name(name, value), Ok(()), "{name}");
        }
        let files = [("a.json".to_owned(), json!({"env": {"http_proxy": "evil.example"}}))].into();
        let refused = said(&on_endpoint("local", Plan { files, ..plan.clone() })).expect_err("a proxy in a file");
        assert!(refused.contains("files[a.json].env.http_proxy names the host evil.example"), "{refused}");
        let files = [("a.json".to_owned(), json!({"env": {"BASE": "http://evil.example"}}))].into();
        let refused = said(&on_endpoint("local", Plan { files, ..plan })).expect_err("in a file");
        assert!(refused.contains("files[a.json].env.BASE names the host evil.example"), "{refused}");
    }

    #[test]
    fn what_other_machines_can_reach_is_started_only_where_the_operator_allows_it() {
        let api = Api { exposed: true, ..Api::default() };
        let plan = Plan { drive: Drive::Api, argv: vec!["x".into()], api: Some(Box::new(api)), ..Plan::default() };
        let profile = on_endpoint("local", plan);
        let refused = policy().check(&profile).expect_err("nobody allowed it").to_string();
        assert!(refused.contains("allow_exposed = true"), "{refused}");
        assert_eq!(Policy { allow_exposed: true, ..policy() }.check(&profile), Ok(()));
    }

    #[test]
    fn an_endpoint_and_its_key_must_be_there() {
        let plan = Plan { drive: Drive::Typed, argv: vec!["x".into()], ..Plan::default() };
        let unknown = policy().endpoint(&on_endpoint("lokal", plan.clone())).map(|_| ()).expect_err("not listed");
        assert!(unknown.to_string().contains("there is no endpoint 'lokal' in fleetd.toml; valid: local"), "{unknown}");
        let profile = on_endpoint("local", plan);
        let filled = policy().fill(Fill::default(), &profile, |name| (name == "LLM_KEY").then(|| "k".into()));
        let filled = filled.expect("the key is there");
        assert_eq!(filled.text("@{fleet.endpoint.url}").as_deref(), Ok("https://llm.example/anthropic"));
        assert_eq!(filled.variable("@{fleet.endpoint.key}").as_deref(), Ok("k"));
        let missing = policy().fill(Fill::default(), &profile, |_| None).map(|_| ()).expect_err("not set");
        assert!(missing.to_string().contains("LLM_KEY"), "{missing}");
    }
}
