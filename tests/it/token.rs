//! `auth = "token"` from outside, on a real daemon: what it refuses to start with, whom the token lets in from where,
//! that workers never need it, and how the command line gives it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::{Said, fleetd};
use crate::support::{Daemon, House, PATIENCE};

const TOKEN: &str = "0123456789abcdef-0123456789abcdef";
const OTHER: &str = "fedcba9876543210-fedcba9876543210";

/// A house whose daemon wants a token, and workers that try to look around, with the token and without.
fn house() -> House {
    let house = House::new(&[]);
    let look = |token: &str| {
        let (program, state) = (env!("CARGO_BIN_EXE_fleetd"), house.state());
        format!("cat >/dev/null; {token} '{program}' status --state '{}' 2>&1; true", state.display())
    };
    let profile = |name: &str, token: &str| {
        let command = look(token);
        format!("fleet.profile('{name}', {{ launcher = 'exec', command = {{ 'sh', '-c', [[{command}]] }} }})")
    };
    let (bare, thief) = (profile("bare", ""), profile("thief", &format!("FLEETD_TOKEN={TOKEN}")));
    let roles = "fleet.role('w-bare', { profiles = { 'bare' } })\nfleet.role('w-thief', { profiles = { 'thief' } })";
    house.write("team.lua", &format!("{bare}\n{thief}\n{roles}\n"));
    private(&house, "token", &format!("{TOKEN}\n"));
    configure(house, "token_file = \"token\"\nhosts = [\"fleet.example\"]")
}

fn configure(house: House, settings: &str) -> House {
    std::fs::write(house.path().join("fleetd.toml"), format!("auth = \"token\"\n{settings}\n")).unwrap();
    house
}

fn private(house: &House, name: &str, text: &str) -> PathBuf {
    let file = house.path().join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// Sends a request as it is and returns its status and JSON.
fn raw(daemon: &Daemon, path: &str, headers: &[&str]) -> (u16, Value) {
    let mut local: SocketAddr = daemon.url.strip_prefix("http://").unwrap().parse().unwrap();
    if local.ip().is_unspecified() {
        local.set_ip([127, 0, 0, 1].into());
    }
    let mut stream = TcpStream::connect(local).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let host = match headers.iter().any(|header| header.starts_with("Host:")) {
        true => String::new(),
        false => format!("Host: localhost:{}\r\n", local.port()),
    };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (answer[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or_else(|_| json!(body)))
}

#[test]
fn a_token_that_is_none_or_that_others_can_read_is_no_start() {
    let refused = |house: &House| {
        let refused = house.try_start().map(|daemon| daemon.banner.clone()).unwrap_err();
        assert!(!refused.stderr.contains(TOKEN) && !refused.stderr.contains("s3cret"), "{refused:?}");
        refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let house = house();
    let file = house.path().join("token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = refused(&house);
    assert!(said.contains("fleetd.toml:2: token_file") && said.contains("mode 0644"), "{said}");
    assert!(said.contains("hint: chmod 600"), "{said}");
    private(&house, "token", "s3cret\n");
    let said = refused(&house);
    assert!(said.contains("it has 6 characters; a token has at least 32"), "{said}");
    std::fs::remove_file(&file).unwrap();
    let said = refused(&house);
    assert!(said.contains("token_file") && said.contains("No such file"), "{said}");

    let house = configure(house, "token_env = \"NOT_SET_HERE\"");
    let said = refused(&house);
    assert!(said.contains("token_env NOT_SET_HERE: the variable is not set"), "{said}");
    let house = configure(house, "").arg("--listen").arg("0.0.0.0:0");
    assert!(refused(&house).contains("auth = \"token\" is set, and no token"));
    std::fs::write(house.path().join("fleetd.toml"), "").unwrap();
    assert!(refused(&house).contains("'0.0.0.0:0' is not a loopback address"));
}

#[test]
fn the_right_token_is_the_operator_wherever_it_comes_from_and_all_else_is_nobody() {
    let house = house();
    let daemon = house.start();
    let (right, wrong) = (format!("Authorization: Bearer {TOKEN}"), format!("Authorization: Bearer {OTHER}"));
    let proxy = "X-Forwarded-For: 192.0.2.7";
    for headers in [&[right.as_str()][..], &[&right, proxy], &[&right, "Host: fleet.example"]] {
        let (status, me) = raw(&daemon, "/v1/whoami", headers);
        assert_eq!((status, &me["caller"]), (200, &json!("operator")), "{headers:?}");
        assert_eq!(raw(&daemon, "/v1/list", headers).0, 200, "{headers:?}");
    }
    for (headers, why) in [
        (&[][..], "the request has none"),
        (&[proxy][..], "the request has none"),
        (&["Host: fleet.example"][..], "the request has none"),
        (&[wrong.as_str()][..], "the request has a wrong one"),
        (&["Authorization: Basic eDp5"][..], "the request has a wrong one"),
        (&[right.as_str(), right.as_str()][..], "the request has a wrong one"),
    ] {
        let (status, me) = raw(&daemon, "/v1/whoami", headers);
        assert_eq!((status, &me["caller"]), (200, &json!("anonymous")), "{headers:?}");
        assert!(me["why"].as_str().unwrap().ends_with(why), "{headers:?} {me}");
        let (status, refused) = raw(&daemon, "/v1/list", headers);
        assert_eq!((status, &refused["kind"]), (403, &json!("not_allowed")), "{headers:?}");
        let hints = refused["hints"].to_string();
        assert!(hints.contains("Authorization: Bearer") && hints.contains("--token-file"), "{hints}");
    }
    let (status, refused) = raw(&daemon, "/v1/list", &[&right, "Host: evil.example"]);
    assert_eq!(status, 403, "a page that brings the token comes from elsewhere all the same: {refused}");
    assert!(refused["hints"].to_string().contains("fleet.example"), "{refused}");
    assert_eq!(raw(&daemon, "/healthz", &[]).0, 200);
    assert_eq!(raw(&daemon, "/metrics", &[]).0, 200);
    let (status, refused) = raw(&daemon, "/metrics", &[proxy]);
    assert_eq!((status, &refused["kind"]), (403, &json!("not_allowed")), "open on this machine only: {refused}");
    assert_eq!(raw(&daemon, "/metrics", &[proxy, &right]).0, 200);
}

#[test]
fn where_no_token_is_wanted_an_authorization_header_says_nothing() {
    let house = House::new(&[]);
    let daemon = house.start();
    for header in ["Authorization: Bearer x", "Authorization: Basic eDp5"] {
        assert_eq!(raw(&daemon, "/v1/whoami", &[header]).1["caller"], "operator");
        let proxied = raw(&daemon, "/v1/whoami", &[header, "Via: 1.1 x"]).1;
        assert_eq!(proxied["caller"], "anonymous");
    }
}

#[test]
fn another_user_of_this_machine_needs_the_token_and_no_more() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let house = house();
    let daemon = house.start();
    // A copy, since another user may not reach where this was built.
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = open.path().join("fleetd");
    std::fs::copy(env!("CARGO_BIN_EXE_fleetd"), &program).unwrap();
    let list = |token: &str| {
        let mut command = std::process::Command::new(&program);
        command.args(["list", "--url", &daemon.url]).env_clear().env("FLEETD_TOKEN", token).uid(65_534);
        Said::of(command.current_dir("/").output().unwrap())
    };
    assert!(list("").ends(4).err.contains("the request has none"));
    assert!(list(TOKEN).ends(0).out.contains("w-bare"));
}

#[test]
fn a_worker_is_a_worker_with_the_token_and_without() {
    let house = house();
    let daemon = house.start();
    let token = house.path().join("token");
    for role in ["w-bare", "w-thief"] {
        let said = fleetd(&house, &["send", role, "look", "--token-file", token.to_str().unwrap()]).ends(0);
        assert!(said.out.contains(&format!("worker {role}-1 may not status")), "{said:?}");
    }
    drop(daemon);
}

#[test]
fn the_command_line_gives_the_token_by_file_or_variable_and_says_so_when_one_is_wanted() {
    let house = house().arg("--listen").arg("0.0.0.0:0");
    let daemon = house.start();
    assert!(daemon.url.starts_with("http://0.0.0.0:"), "{}", daemon.url);
    assert_eq!(raw(&daemon, "/v1/list", &[&format!("Authorization: Bearer {TOKEN}")]).0, 200);
    let said = fleetd(&house, &["status"]).ends(4);
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("wants a token, and the request has none"), "{text}");
    assert!(text.contains("--token-file FILE") && text.contains("FLEETD_TOKEN"), "{text}");
    let status = |token: &str| {
        let mut command = house.fleetd(&["status", "--state"]);
        Said::of(command.arg(house.state()).env("FLEETD_TOKEN", token).output().unwrap())
    };
    assert!(status(TOKEN).ends(0).out.contains("fleetd is ready"));
    assert!(status(OTHER).ends(4).err.contains("a wrong one"));
    let said = status("two words").ends(2);
    assert!(said.err.contains("FLEETD_TOKEN holds no token") && !said.err.contains("two words"), "{said:?}");
    let file = private(&house, "mine", &format!("{TOKEN}\n"));
    fleetd(&house, &["list", "--token-file", file.to_str().unwrap()]).ends(0);
    let said = fleetd(&house, &["list", "--token-file", "nowhere"]).ends(1);
    assert!(said.err.contains("cannot read --token-file nowhere"), "{said:?}");
}
