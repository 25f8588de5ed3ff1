//! What stands before every path: Host and Origin must be this machine's (or a host of the settings), and a panic
//! becomes an answer.
//!
//! A browser page from elsewhere (also by DNS rebinding) ends here, before any handler and before the caller is known.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::response::{IntoResponse, Response};

use super::conn::Conn;
use super::refused::Refused;
use crate::config::{Auth, Host};
use crate::fleet::refusal::{Refusal, RefusalKind};

/// Refuses what does not come from this machine by name.
pub fn check(auth: &Auth, conn: &Conn, request: &Request) -> Result<(), Refusal> {
    let hosts = match auth {
        Auth::LoopbackTrust => &[][..],
        Auth::Token(of) => &of.hosts,
    };
    let names = Names { local: conn.local(), hosts };
    check_host(request.headers(), request.uri(), &names)?;
    check_origin(request.headers())
}

/// Returns the answer to a panic of a handler, a fault of ours; the connection and the daemon go on.
pub fn broken(path: &str, panic: &(dyn Any + Send)) -> Response {
    // Neither the path nor the text, which may hold what the caller sent; the hook told the place.
    tracing::error!("a handler panicked");
    let what = panic_text(panic);
    let refusal = Refusal::new(RefusalKind::Internal, format!("fleetd failed while answering {path}: {what}"));
    Refused::from(refusal.hint("this is a fault of fleetd; nothing that was accepted is lost")).into_response()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

/// What this daemon is called on one connection.
struct Names<'a> {
    /// Where the connection was accepted.
    local: SocketAddr,
    /// Other names, of the settings.
    hosts: &'a [Host],
}

impl Names<'_> {
    fn hold(&self, authority: &Authority) -> bool {
        let (host, port) = (authority.host(), authority.port_u16());
        let here = is_loopback(host) || address(host).is_some_and(|ip| ip == self.local.ip());
        let our_port = authority.port().is_none() || port == Some(self.local.port());
        // Without a port a scheme's own is meant; which scheme a proxy before us was asked by is not known here.
        let same_port = |wanted: u16| port.map_or(matches!(wanted, 80 | 443), |port| port == wanted);
        let named = |one: &Host| one.name.eq_ignore_ascii_case(bare(host)) && one.port.is_none_or(same_port);
        (here && our_port) || self.hosts.iter().any(named)
    }

    fn list(&self) -> String {
        let (port, ip) = (self.local.port(), self.local.ip());
        let mut valid = vec![format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
        valid.extend((!ip.is_loopback()).then(|| self.local.to_string()));
        valid.extend(self.hosts.iter().map(Host::to_string));
        valid.join(", ")
    }
}

fn check_host(headers: &HeaderMap, uri: &Uri, names: &Names<'_>) -> Result<(), Refusal> {
    let host = only(headers, header::HOST)?.ok_or_else(|| {
        Refusal::new(RefusalKind::NotAllowed, "the request has no Host header").hint(format!("valid: {}", names.list()))
    })?;
    check_authority("Host", host, names)?;
    // A request in absolute form names its host a second time.
    match uri.authority() {
        Some(authority) => check_authority("request line", authority.as_str(), names),
        None => Ok(()),
    }
}

fn check_authority(place: &str, text: &str, names: &Names<'_>) -> Result<(), Refusal> {
    let wrong = || {
        let refusal =
            Refusal::new(RefusalKind::NotAllowed, format!("the {place} names '{text}', which is not this daemon"));
        refusal.hint(format!("valid: {}", names.list()))
    };
    let authority: Authority = text.parse().map_err(|_| wrong())?;
    (!text.contains('@') && names.hold(&authority)).then_some(()).ok_or_else(wrong)
}

fn check_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = only(headers, header::ORIGIN)? else {
        return Ok(());
    };
    let local = origin
        .parse::<Uri>()
        .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(is_loopback));
    if local {
        return Ok(());
    }
    Err(Refusal::new(RefusalKind::NotAllowed, format!("a page from '{origin}' may not use this daemon"))
        .hint("only programs and pages of this machine may; they send no Origin, or a loopback one"))
}

/// The one value of a header; two of them are a trick.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(&name).iter();
    let wrong = |what| Refusal::new(RefusalKind::NotAllowed, format!("the {name} header {what}"));
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(wrong("was sent twice"));
    }
    let text = value.to_str().map_err(|_| wrong("is not plain text"))?;
    Ok(Some(text))
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|ip| ip.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    bare(host).parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Names<'static> {
        Names { local: "127.0.0.1:7717".parse().unwrap(), hosts: &[] }
    }

    fn host(value: &str) -> Result<(), Refusal> {
        named(value, &here())
    }

    fn named(value: &str, names: &Names<'_>) -> Result<(), Refusal> {
        let headers = HeaderMap::from_iter([(header::HOST, value.parse().unwrap())]);
        check_host(&headers, &Uri::from_static("/message"), names)
    }

    fn origin(value: &str) -> Result<(), Refusal> {
        check_origin(&HeaderMap::from_iter([(header::ORIGIN, value.parse().unwrap())]))
    }

    #[test]
    fn only_loopback_hosts_with_our_port_or_none_pass() {
        for good in [
            "localhost",
            "LOCALHOST:7717",
            "127.0.0.1:7717",
            "127.0.0.1",
            "127.9.9.9",
            "[::1]:7717",
            "[::1]",
            "[::ffff:127.0.0.1]:7717",
        ] {
            assert_eq!(host(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "evil.example:7717",
            "localhost:80",
            "127.0.0.1:7718",
            "127.0.0.1.evil.example:7717",
            "localhost.evil.example",
            "localhost:7717@evil.example",
            "evil.example@localhost:7717",
            "0.0.0.0:7717",
            "192.168.0.9:7717",
            "[::]:7717",
            "::1",
            "2130706433",
        ] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_settings_hosts_and_the_address_of_the_connection_pass_too() {
        let host = |name: &str, port| Host { name: name.into(), port };
        let hosts = [host("fleet.example", None), host("other.example", Some(443)), host("2001:db8::1", Some(8443))];
        let names = Names { local: "192.0.2.7:7717".parse().unwrap(), hosts: &hosts };
        for good in [
            "192.0.2.7:7717",
            "192.0.2.7",
            "localhost:7717",
            "fleet.example",
            "FLEET.example:9",
            "other.example",
            "other.example:443",
            "[2001:db8::1]:8443",
        ] {
            assert_eq!(named(good, &names), Ok(()), "{good}");
        }
        for bad in [
            "192.0.2.8:7717",
            "192.0.2.7:80",
            "localhost:9",
            "fleet.example.evil.example",
            "x@fleet.example",
            "other.example:7717",
            "[2001:db8::1]",
        ] {
            assert!(named(bad, &names).is_err(), "{bad}");
        }
        let said = named("evil.example", &names).unwrap_err().to_string();
        assert!(said.ends_with("192.0.2.7:7717, fleet.example, other.example:443, [2001:db8::1]:8443"), "{said}");
    }

    #[test]
    fn a_missing_second_or_absolute_host_is_seen() {
        let none = HeaderMap::new();
        assert!(check_host(&none, &Uri::from_static("/"), &here()).is_err());
        let mut two = HeaderMap::new();
        two.append(header::HOST, "localhost".parse().unwrap());
        two.append(header::HOST, "localhost".parse().unwrap());
        assert!(check_host(&two, &Uri::from_static("/"), &here()).is_err());
        let good = HeaderMap::from_iter([(header::HOST, "localhost".parse().unwrap())]);
        let absolute = Uri::from_static("http://evil.example/message");
        assert!(check_host(&good, &absolute, &here()).is_err());
    }

    #[test]
    fn only_absent_and_loopback_origins_pass() {
        assert_eq!(check_origin(&HeaderMap::new()), Ok(()));
        for good in ["http://localhost:3000", "http://127.0.0.1:7717", "https://[::1]"] {
            assert_eq!(origin(good), Ok(()), "{good}");
        }
        for bad in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "file://",
            "localhost",
            "ftp://localhost",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
