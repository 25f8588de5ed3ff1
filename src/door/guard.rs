//! One layer over every path: Host and Origin must be this machine's, and a panic becomes an answer.
//!
//! A browser page from elsewhere (also by DNS rebinding) ends here, before any handler and before the caller is known.

use std::any::Any;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::{ConnectInfo, Request};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::conn::Conn;
use super::refused::Refused;
use crate::fleet::refusal::{Refusal, RefusalKind};

/// Refuses what does not come from this machine by name, then lets the request in.
pub async fn guard(ConnectInfo(conn): ConnectInfo<Conn>, request: Request, next: Next) -> Response {
    let checked =
        check_host(request.headers(), request.uri(), conn.port()).and_then(|()| check_origin(request.headers()));
    match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => Refused::from(refusal).into_response(),
    }
}

/// Answers a panic of a handler as a fault of ours; the connection and the daemon go on.
pub async fn unwind(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut run = pin!(next.run(request));
    let polled = std::future::poll_fn(move |cx| match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(response)) => Poll::Ready(Ok(response)),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    polled.await.unwrap_or_else(|panic| {
        let what = panic_text(panic.as_ref());
        tracing::error!(%path, what, "a handler panicked");
        let refusal = Refusal::new(RefusalKind::Internal, format!("fleetd failed while answering {path}: {what}"));
        Refused::from(refusal.hint("this is a fault of fleetd; nothing that was accepted is lost")).into_response()
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}

fn check_host(headers: &HeaderMap, uri: &Uri, port: u16) -> Result<(), Refusal> {
    let host = only(headers, header::HOST)?.ok_or_else(|| {
        Refusal::new(RefusalKind::NotAllowed, "the request has no Host header")
            .hint(format!("valid: localhost:{port}, 127.0.0.1:{port}"))
    })?;
    check_authority("Host", host, port)?;
    // A request in absolute form names its host a second time.
    match uri.authority() {
        Some(authority) => check_authority("request line", authority.as_str(), port),
        None => Ok(()),
    }
}

fn check_authority(place: &str, text: &str, port: u16) -> Result<(), Refusal> {
    let wrong = || {
        Refusal::new(RefusalKind::NotAllowed, format!("the {place} names '{text}', which is not this daemon"))
            .hint(format!("valid: localhost:{port}, 127.0.0.1:{port}, [::1]:{port}"))
    };
    let authority: Authority = text.parse().map_err(|_| wrong())?;
    let plain = !text.contains('@');
    let ours = authority.port().is_none() || authority.port_u16() == Some(port);
    (plain && ours && is_loopback(authority.host())).then_some(()).ok_or_else(wrong)
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
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let address = bare.unwrap_or(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(value: &str) -> Result<(), Refusal> {
        let headers = HeaderMap::from_iter([(header::HOST, value.parse().unwrap())]);
        check_host(&headers, &Uri::from_static("/message"), 7717)
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
    fn a_missing_second_or_absolute_host_is_seen() {
        let none = HeaderMap::new();
        assert!(check_host(&none, &Uri::from_static("/"), 7717).is_err());
        let mut two = HeaderMap::new();
        two.append(header::HOST, "localhost".parse().unwrap());
        two.append(header::HOST, "localhost".parse().unwrap());
        assert!(check_host(&two, &Uri::from_static("/"), 7717).is_err());
        let good = HeaderMap::from_iter([(header::HOST, "localhost".parse().unwrap())]);
        let absolute = Uri::from_static("http://evil.example/message");
        assert!(check_host(&good, &absolute, 7717).is_err());
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
