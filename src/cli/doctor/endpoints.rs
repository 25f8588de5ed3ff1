//! The model addresses of fleetd.toml: whether the variable with the key is set, and whether anybody listens. The
//! connection is opened and closed, nothing is sent, and no key is read for more than whether it is there.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::finding::{Check, Finding, Level};
use crate::config::{Endpoint, EndpointName};

/// How long a name server may take.
const LOOK_UP: Duration = Duration::from_secs(2);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(1);

/// What was found of one address.
struct Facts {
    /// As `host:port`.
    address: String,
    is_loopback: bool,
    reached: Result<SocketAddr, String>,
    /// The variable with the key, and whether something is in it.
    key: Option<(String, bool)>,
}

/// Tries all of them, side by side. A daemon that runs has an environment of its own, which is not looked at.
pub async fn look(endpoints: &BTreeMap<EndpointName, Endpoint>, runs: bool) -> Vec<Finding> {
    let facts = futures_util::future::join_all(endpoints.values().map(facts)).await;
    let names = endpoints.keys().map(|name| &*name.0);
    names.zip(facts).flat_map(|(name, facts)| judge(name, &facts, runs)).collect()
}

async fn facts(endpoint: &Endpoint) -> Facts {
    let (host, port) = endpoint.host_and_port();
    let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let key = endpoint.key_env.clone();
    let key = key.map(|name| (name.clone(), std::env::var_os(name).is_some_and(|value| !value.is_empty())));
    let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    Facts { address, is_loopback, reached: reach(&host, port).await, key }
}

async fn reach(host: &str, port: u16) -> Result<SocketAddr, String> {
    let found = timeout(LOOK_UP, lookup_host((host, port))).await;
    let found: Vec<SocketAddr> = match found {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(error)) => return Err(format!("its name leads nowhere: {error}")),
        Err(_) => return Err(format!("its name was not found within {} s", LOOK_UP.as_secs())),
    };
    let mut last = "its name has no address".to_owned();
    let tried = timeout(CONNECT, async {
        for address in found {
            match TcpStream::connect(address).await {
                Ok(_) => return Ok(address),
                Err(error) => last = error.to_string(),
            }
        }
        Err(last)
    });
    tried.await.unwrap_or_else(|_| Err(format!("no connection came about within {} s", CONNECT.as_secs())))
}

fn judge(name: &str, facts: &Facts, runs: bool) -> Vec<Finding> {
    let address = &facts.address;
    let listens = match &facts.reached {
        Ok(_) => Finding::ok(Check::Endpoint, format!("{name}: somebody listens at {address}")),
        Err(why) => {
            let fix = match facts.is_loopback {
                true => format!("start the model server, or correct url in [endpoints.{name}] of fleetd.toml"),
                false => format!("look at the network, or correct url in [endpoints.{name}] of fleetd.toml"),
            };
            Finding::problem(Check::Endpoint, format!("{name}: {address} cannot be reached: {why}")).fix(fix)
        }
    };
    let key = facts.key.as_ref().map(|(variable, is_set)| match is_set {
        true => Finding::ok(Check::Endpoint, format!("{name}: {variable}, which holds its key, is set")),
        false => {
            let (level, but) = match runs {
                true => (Level::Warning, " (the daemon that runs may have it)"),
                false => (Level::Problem, ""),
            };
            let what = format!("{name}: {variable}, which should hold its key, is not set in this environment{but}");
            Finding::new(Check::Endpoint, level, what).fix(format!("set {variable} where fleetd serve is started"))
        }
    });
    [listens].into_iter().chain(key).map(|finding| finding.about(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(reached: Result<&str, &str>, key: Option<bool>) -> Vec<Finding> {
        let facts = Facts {
            address: "127.0.0.1:4000".into(),
            is_loopback: true,
            reached: reached.map(|address| address.parse().expect("an address")).map_err(str::to_owned),
            key: key.map(|is_set| ("LLM_KEY".into(), is_set)),
        };
        judge("local", &facts, false)
    }

    #[test]
    fn an_address_and_its_key_are_two_findings() {
        let good = judged(Ok("127.0.0.1:4000"), Some(true));
        assert!(good.len() == 2 && good.iter().all(|finding| finding.level == Level::Ok), "{good:?}");
        let bad = judged(Err("connection refused"), Some(false));
        assert!(bad.iter().all(|finding| finding.level == Level::Problem && finding.fix.is_some()), "{bad:?}");
        assert_eq!(bad[0].what, "local: 127.0.0.1:4000 cannot be reached: connection refused");
        assert_eq!(bad[1].subject.as_deref(), Some("local"));
        assert_eq!(judged(Ok("127.0.0.1:4000"), None).len(), 1, "an endpoint without a key needs none");
    }

    #[test]
    fn only_who_listens_is_reached() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        assert!(runtime.block_on(reach("127.0.0.1", port)).is_ok());
        // A port that is taken, so that nobody else listens there, and at which we do not either.
        let mute = tokio::net::TcpSocket::new_v4().expect("a socket");
        mute.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let port = mute.local_addr().expect("it has one").port();
        assert!(runtime.block_on(reach("127.0.0.1", port)).is_err());
    }
}
