//! The hosts of the addresses in a text, as a reader that is easily fooled would take them.
//!
//! Readers differ on many addresses: what is odd is given back whole, as a host that nobody listed. Which hosts may be
//! named is not decided here.

use crate::fleet::plan::MARKER;

/// Schemes whose reader takes any slashes, or none, for the two.
const LENIENT: &[&str] = &["https", "http", "wss", "ws", "socks5h", "socks5", "socks4a", "socks4", "socks"];

/// What is no part of a host where an address stands among other words.
const AROUND: &[char] = &['\'', ',', ')', ';', '>', ']', '}', '`', '|'];

/// Returns the hosts that a text names, in lower case.
pub(super) fn addresses(text: &str) -> Vec<String> {
    // In JSON inside of a text.
    let text = text.replace("\\/", "/");
    let mut found: Vec<String> = after_schemes(&text).map(|(scheme, after)| host_in(scheme, after)).collect();
    // Read as one address, line ends in it do not count, nor does what stands around addresses end it.
    let whole: String = text.trim().chars().filter(|letter| !is_dropped(*letter)).collect();
    if let Some(after) = lenient_at(&whole) {
        found.push(host_of_whole(after));
    }
    found.extend(longer_than_marked(&text));
    found.retain(|host| !host.is_empty());
    found.sort();
    found.dedup();
    found
}

/// Returns the host of a proxy, which needs no scheme; nothing if there is none.
pub(super) fn proxy(text: &str) -> Option<String> {
    let text: String = text.trim().chars().filter(|letter| !is_dropped(*letter)).collect();
    if text.is_empty() || text.starts_with(MARKER) || text.contains("://") || lenient_at(&text).is_some() {
        return None;
    }
    Some(host_of_whole(text.trim_start_matches(['/', '\\'])))
}

/// What readers of addresses leave out, wherever it stands.
fn is_dropped(letter: char) -> bool {
    ['\t', '\r', '\n'].contains(&letter)
}

/// Returns every place of a text after a scheme, its colon and all slashes, and whether the scheme is a lenient one.
fn after_schemes(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.char_indices().filter_map(move |(n, letter)| {
        let (before, rest) = text.split_at(n);
        if let Some(after) = rest.strip_prefix("://").filter(|_| before.ends_with(|c: char| c.is_ascii_alphanumeric()))
        {
            return Some((false, after));
        }
        let is_short = letter.eq_ignore_ascii_case(&'w');
        // `news:` is no address, but `\nws:` in JSON may be one.
        let is_begin = !before.ends_with(|c: char| c.is_ascii_alphanumeric())
            || ["\\n", "\\r", "\\t"].iter().any(|end| before.ends_with(end));
        if is_short && !is_begin {
            return None;
        }
        lenient_at(rest).map(|after| (true, after))
    })
}

/// Returns what follows a lenient scheme at the begin of a text, its colon and all slashes.
fn lenient_at(text: &str) -> Option<&str> {
    LENIENT.iter().find_map(|scheme| {
        let mut rest = text;
        for wanted in scheme.chars().chain([':']) {
            rest = rest.trim_start_matches(is_dropped);
            rest = rest.strip_prefix([wanted, wanted.to_ascii_uppercase()])?;
        }
        Some(rest.trim_start_matches(|letter| ['/', '\\'].contains(&letter) || is_dropped(letter)))
    })
}

/// Returns the host of an address among other words.
fn host_in(is_lenient: bool, after: &str) -> String {
    let ends = |letter: char| letter.is_whitespace() || ['/', '?', '#', '"'].contains(&letter);
    let longest = after.split(ends).next().unwrap_or_default();
    let in_brackets = longest.starts_with('[').then(|| longest.find(']')).flatten().map_or(0, |n| n + 1);
    let end = longest[in_brackets..].find(AROUND).map_or(longest.len(), |n| in_brackets + n);
    let (authority, rest) = longest.split_at(end);
    let next = rest.trim_start_matches(AROUND);
    // A reader may take all of it for one host, or what stands before an `@` for a name.
    let goes_on = next.contains(char::is_alphanumeric) && lenient_at(next).is_none();
    if longest.contains(['@', '\\', '%']) || goes_on {
        return longest.to_ascii_lowercase();
    }
    let host = host(authority);
    // A file has none; whoever takes any slashes finds one further on.
    if host.is_empty() && is_lenient { after.chars().take(20).chain(" (no host)".chars()).collect() } else { host }
}

/// Returns the host of a text that is one address.
fn host_of_whole(after: &str) -> String {
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    // No address has a blank: its words are looked at one by one.
    if authority.contains([' ', '"']) {
        return String::new();
    }
    if authority.contains(['@', '\\', '%']) { authority.to_ascii_lowercase() } else { host(authority) }
}

fn host(authority: &str) -> String {
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => authority.split(':').next().unwrap_or(authority),
    };
    host.to_ascii_lowercase()
}

/// Returns the addresses that a marker stands for and that are made longer, which may make them another host's.
fn longer_than_marked(text: &str) -> impl Iterator<Item = String> {
    text.match_indices(MARKER).filter_map(|(n, _)| {
        let (marker, after) = text[n..].split_once('}')?;
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || is_dropped(c) || "-_.@:%\\".contains(c));
        let is_address = marker.ends_with(".url");
        (is_address && goes_on).then(|| format!("{marker}}}{}", after.split('/').next().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_however_they_are_written() {
        assert_eq!(addresses("see http://A.example:80/x and wss://[::1]:9"), ["::1", "a.example"]);
        let none: [&str; 9] = [
            "@{fleet.url}/hook",
            "@{fleet.endpoint.url}",
            "file:///etc/passwd, ://x",
            "evil:80",
            "news: none",
            "https",
            "{\"type\": \"http\"}",
            "ABC=1:2",
            "",
        ];
        for text in none {
            assert_eq!(addresses(text), [] as [String; 0], "{text}");
        }
        for text in [
            "https://a.b",
            "\"https://a.b\"",
            "(see https://a.b).",
            "https://a.b, http://a.b/c",
            "x https://a.b\ny",
            "{'u':'http://a.b'}",
        ] {
            let found = addresses(text);
            assert!(!found.is_empty() && found.iter().all(|host| host == "a.b"), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_readers_take_for_another_host_is_no_listed_one() {
        let tricks = [
            "https:///evil.example",
            "https:evil.example",
            "https:\\\\evil.example",
            "https:\n//evil.example",
            "http\t://evil.example",
            "http:\\/\\/evil.example",
            "HTTPS:/evil.example",
            "h\nttp://evil.example",
            "wss:evil.example",
            "socks5h:evil.example",
            "socks:\\evil.example",
            "x\\nws:evil.example",
            "https://ok.example@evil.example/",
            "https://ok.example\\@evil.example",
            "https://ok.example,x@evil.example/",
            "https://ok.example\n.evil.example",
            "https://ok.example'.evil.example",
            "https:////",
            "https:",
            "http://",
            "a https://ok.example'.evil.example",
            "a https://ok.example,x.evil.example",
            "http:\\u002f\\u002fevil.example",
            "x://evil.example",
            "git+https:evil.example",
            "@{fleet.endpoint.url}.evil.example",
            "@{fleet.url}@evil.example",
            "https:@{fleet.cwd}",
            "https://%65vil.example",
            "{\"u\":\"http:\\/\\/evil.example\"}",
        ];
        for text in tricks {
            let found = addresses(text);
            assert!(found.iter().any(|host| host != "ok.example"), "{text:?}: {found:?}");
        }
    }

    #[test]
    fn a_proxy_needs_no_scheme() {
        assert_eq!(proxy("Evil.example:3128").as_deref(), Some("evil.example"));
        assert_eq!(proxy("//evil.example").as_deref(), Some("evil.example"));
        assert_eq!(proxy("u:p@evil.example:1").as_deref(), Some("u:p@evil.example:1"));
        for text in ["", " ", "@{fleet.endpoint.url}", "http://evil.example", "socks5:evil.example"] {
            assert_eq!(proxy(text), None, "{text}: it is none, or found as an address");
        }
    }
}
