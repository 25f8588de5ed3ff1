//! The parts of an endpoint's address that matter here: scheme, host, port.
//! Nothing is ever connected to or looked up.

/// Returns the port of an address that `host_of` has taken: the one in it, else that of its scheme.
pub(super) fn port_of(url: &str) -> u16 {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or(rest);
    // Behind the bracket of an IPv6 address, whose own colons are none before a port.
    let after = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
    let written = after.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    written.unwrap_or(if scheme == "https" { 443 } else { 80 })
}

/// Returns the host of an address such as `https://llm.example:8443/v1`, or what is wrong with it.
pub(super) fn host_of(url: &str) -> Result<&str, String> {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme))
        .ok_or_else(|| "it does not begin with http:// or https://".to_owned())?;
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("it holds a space or a control character".into());
    }
    if url.contains(['?', '#']) {
        return Err("it holds a query or a fragment".into());
    }
    let authority = rest.split('/').next().unwrap_or(rest);
    if authority.contains('@') {
        return Err("it holds a user name or a password; name the variable with the key in key_env".into());
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, after) = v6.split_once(']').ok_or("its [ has no ]")?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(format!("'{host}' is not an IPv6 address"));
            }
            (host, after.strip_prefix(':').or_else(|| after.is_empty().then_some("80")).ok_or("its port has no :")?)
        }
        None => authority.split_once(':').unwrap_or((authority, "80")),
    };
    if host.is_empty() {
        return Err("it names no host".into());
    }
    if !host.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c)) {
        return Err(format!("'{host}' is not a host name"));
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(host),
        _ => Err(format!("'{port}' is not a port")),
    }
}

#[cfg(test)]
mod tests {
    use super::{host_of, port_of};

    #[test]
    fn ports_are_those_written_or_those_of_the_scheme() {
        for (url, port) in [
            ("https://llm.example/anthropic", 443),
            ("http://llm.example", 80),
            ("https://llm.example:8443/v1:2", 8443),
            ("http://[::1]:8080/v1", 8080),
            ("https://[::1]", 443),
        ] {
            assert_eq!(port_of(url), port, "{url}");
        }
    }

    #[test]
    fn hosts_are_found_and_wrong_addresses_are_named() {
        for (url, host) in [
            ("https://llm.example/anthropic", "llm.example"),
            ("http://127.0.0.1:8080", "127.0.0.1"),
            ("http://[::1]:8080/v1", "::1"),
            ("http://[::1]", "::1"),
            ("https://LLM.example", "LLM.example"),
        ] {
            assert_eq!(host_of(url), Ok(host), "{url}");
        }
        for (url, why) in [
            ("llm.example", "it does not begin with http:// or https://"),
            ("https://", "it names no host"),
            ("https:///v1", "it names no host"),
            ("https://a b/", "it holds a space or a control character"),
            ("https://a?x=1", "it holds a query or a fragment"),
            ("https://a:b@c/", "it holds a user name or a password; name the variable with the key in key_env"),
            ("https://a:0", "'0' is not a port"),
            ("https://a:99999/", "'99999' is not a port"),
            ("https://[::1", "its [ has no ]"),
            ("https://[x]/", "'x' is not an IPv6 address"),
            ("https://a,b/", "'a,b' is not a host name"),
        ] {
            assert_eq!(host_of(url), Err(why.into()), "{url}");
        }
    }
}
