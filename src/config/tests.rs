//! Tables of right and wrong settings, with the exact words of each refusal.
//! All of it from texts in memory, but for the one test of the search for files.

mod wrong;

use std::path::{Path, PathBuf};

use super::*;

fn around() -> Surroundings {
    Surroundings {
        cwd: "/w".into(),
        home: Some("/h".into()),
        config_home: Some("/c".into()),
        state_home: Some("/s".into()),
    }
}

/// A machine with these directories, three files and three variables.
struct Small(&'static [&'static str]);

const TOKEN: &str = "s3cret-s3cret-s3cret-s3cret-s3cret";

impl Machine for Small {
    fn is_dir(&self, path: &Path) -> bool {
        self.0.iter().any(|dir| Path::new(dir) == path)
    }

    fn has_copy(&self, state: &Path, charter: &Path) -> bool {
        (state, charter) == (Path::new("/w/state"), Path::new("/w/mounted/later"))
    }

    fn read_private(&self, file: &Path) -> Result<String, TokenError> {
        match file.to_str() {
            Some("/e/good" | "/abs/good") => Ok(format!("{TOKEN}\n")),
            Some("/e/two") => Ok(format!("{TOKEN}\n{TOKEN}\n")),
            _ => Err(("others can read or change it: mode 0644".into(), "chmod 600 it")),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        let set = [("GOOD", TOKEN), ("EMPTY", ""), ("SHORT", "s3cret")];
        set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into())
    }
}

fn of(args: &Args, text: &str) -> Result<Config, ConfigError> {
    resolve(args, &around(), Some((Path::new("/e/fleetd.toml"), text)), &Small(&["/w/team", "/e/mine"]))
}

fn refusal(text: &str) -> String {
    let refused = of(&Args::default(), text).expect_err(text);
    let hint = refused.hint.as_deref().map_or(String::new(), |hint| format!(" | {hint}"));
    format!("{refused}{hint}")
}

#[test]
fn nothing_said_means_the_defaults() {
    let config = resolve(&Args::default(), &around(), None, &Small(&[])).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:7717");
    assert_eq!(config.state, PathBuf::from("/s/fleetd"));
    assert_eq!(config.charter, CharterSource::Embedded);
    assert_eq!((config.file, config.pane_host, config.auth), (None, PaneHost::Auto, Auth::LoopbackTrust));
    assert_eq!((config.trash_ttl, config.allow_exposed), (Span::days(14), false));
    assert!(config.endpoints.is_empty() && config.executables.is_empty() && config.commands.is_empty());
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.limits.retention, config.limits.drain), (Span::days(7), Span::seconds(10)));
    let beside = resolve(&Args::default(), &around(), None, &Small(&["/w/charters/default"])).unwrap();
    assert_eq!(beside.charter, CharterSource::Dir("/w/charters/default".into()));
    let text = "";
    assert_eq!(of(&Args::default(), text).unwrap().limits, Limits::default());
}

#[test]
fn a_whole_file_is_read() {
    let text = r#"
        listen = "[::1]:9"
        charter = "mine"
        on_restart = "reap"
        pane_host = "herdr"
        auth = "loopback-trust"
        [endpoints.local-llm]
        url = "https://LLM.example/anthropic"
        key_env = "LOCAL_LLM_KEY"
        allowed_hosts = ["llm.example", "Files.example"]
        max_busy = 4
        [endpoints.bare]
        url = "http://127.0.0.1:8080"
        [launch]
        executables = ["/bin/sh"]
        trash_ttl = "3d"
        allow_exposed = true
        [commands]
        allow = ["cargo", "rg"]
        [nudge]
        on = false
        prompt = ["$ "]
        [limits]
        max_workers = 3
        max_prompt_bytes = 2048
        retention = "2d"
        drain = 5
        start_stagger = "2s"
        memory_floor = "1GiB"
    "#;
    let config = of(&Args::default(), text).unwrap();
    assert_eq!(config.listen.to_string(), "[::1]:9");
    assert_eq!(config.charter, CharterSource::Dir("/e/mine".into()), "beside the file, not where it was started");
    let endpoint = &config.endpoints[&EndpointName("local-llm".into())];
    assert_eq!(endpoint.url, "https://LLM.example/anthropic");
    assert_eq!(endpoint.key_env.as_deref(), Some("LOCAL_LLM_KEY"));
    assert_eq!(endpoint.allowed_hosts, ["llm.example", "files.example"]);
    assert_eq!(endpoint.max_busy, Some(4));
    let bare = &config.endpoints[&EndpointName("bare".into())];
    assert_eq!(
        (bare.allowed_hosts.as_slice(), &bare.key_env, bare.max_busy),
        (&["127.0.0.1".to_owned()][..], &None, None)
    );
    assert_eq!((config.trash_ttl, config.allow_exposed), (Span::days(3), true));
    assert_eq!((config.executables, config.commands), (vec!["/bin/sh".into()], vec!["cargo".into(), "rg".into()]));
    assert_eq!((config.pane_host, config.nudge.on), (PaneHost::Herdr, false));
    assert_eq!((config.nudge.screen.prompt, config.nudge.screen.dialog), (Some(vec!["$ ".into()]), None));
    assert_eq!(config.on_restart, OnRestart::Reap);
    let limits = Limits {
        max_workers: 3,
        max_prompt_bytes: 2048,
        retention: Span::days(2),
        drain: Span::seconds(5),
        start_stagger: Span::seconds(2),
        memory_floor: 1 << 30,
    };
    assert_eq!(config.limits, limits);
}

#[test]
fn a_token_opens_other_addresses_and_is_shown_nowhere() {
    let text = r#"
        listen = "0.0.0.0:7717"
        auth = "token"
        token_file = "good"
        seat_ttl = "2m"
        hosts = ["Fleet.example", "fleet.example:8443", "[2001:db8::1]:80", "[::2]"]
    "#;
    let config = of(&Args::default(), text).unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    let Auth::Token(auth) = config.auth else { panic!("{:?}", config.auth) };
    assert!(auth.token.matches(TOKEN.as_bytes()));
    assert_eq!((config.listen.to_string().as_str(), auth.seat_ttl), ("0.0.0.0:7717", Span::minutes(2)));
    let host = |name: &str, port| Host { name: name.into(), port };
    let hosts = [
        host("fleet.example", None),
        host("fleet.example", Some(8443)),
        host("2001:db8::1", Some(80)),
        host("::2", None),
    ];
    assert_eq!(auth.hosts, hosts);

    let by_variable = "auth = \"token\"\ntoken_env = \"GOOD\"";
    let args = Args { listen: Some("[::]:7717".into()), ..Args::default() };
    let config = of(&args, by_variable).unwrap();
    assert_eq!(config.listen.to_string(), "[::]:7717");
    let Auth::Token(auth) = config.auth else { panic!("{:?}", config.auth) };
    assert_eq!((auth.seat_ttl, auth.hosts), (Span::minutes(10), Vec::new()));
    let absolute = of(&Args::default(), "auth = \"token\"\ntoken_file = \"/abs/good\"").unwrap();
    assert_eq!(absolute.auth, Auth::Token(auth_of("GOOD")));
}

fn auth_of(variable: &str) -> TokenAuth {
    match of(&Args::default(), &format!("auth = \"token\"\ntoken_env = \"{variable}\"")).unwrap().auth {
        Auth::Token(auth) => auth,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_go_before_the_file() {
    let args = Args {
        config: None,
        charter: Some("team".into()),
        state: Some("state".into()),
        listen: Some("localhost:0".into()),
    };
    let config = of(&args, "listen = \"0.0.0.0:1\"\ncharter = \"gone\"").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:0");
    assert_eq!(config.charter, CharterSource::Dir("/w/team".into()));
    assert_eq!(config.state, PathBuf::from("/w/state"));
}

#[test]
fn a_charter_that_is_not_there_yet_will_do_where_a_copy_of_it_is() {
    let (charter, state) = (Some("mounted/later".into()), Some("state".into()));
    let config = of(&Args { charter: charter.clone(), state, ..Args::default() }, "").unwrap();
    assert_eq!(config.charter, CharterSource::Dir("/w/mounted/later".into()));
    of(&Args { charter, ..Args::default() }, "").unwrap_err();
}

#[test]
fn wrong_arguments_are_named() {
    let wrong = |args: Args| {
        let refused = of(&args, "").unwrap_err();
        assert_eq!((&refused.file, refused.line), (&None, None));
        format!("{refused} | {}", refused.hint.as_deref().unwrap())
    };
    assert_eq!(
        wrong(Args { charter: Some("nope".into()), ..Args::default() }),
        "there is no charter directory /w/nope | name a directory that exists, or make one with fleetd init"
    );
    assert_eq!(
        wrong(Args { listen: Some("7717".into()), ..Args::default() }),
        "--listen 7717: '7717' is not an address to listen on | \
         write an address and a port, such as \"127.0.0.1:7717\" or \"[::1]:7717\""
    );
    assert_eq!(
        wrong(Args { listen: Some("[::]:7717".into()), ..Args::default() }),
        "--listen [::]:7717: '[::]:7717' is not a loopback address: other machines could reach it, and \
         auth is \"loopback-trust\" | listen on \"127.0.0.1:7717\", or set auth = \"token\" in fleetd.toml"
    );
}

#[test]
fn the_places_of_files_follow_the_variables() {
    let files = |around: &Surroundings| around.config_files();
    let file = |path: &str| PathBuf::from(path);
    assert_eq!(files(&around()), [file("/w/fleetd.toml"), file("/c/fleetd/fleetd.toml")]);
    let bare = Surroundings { config_home: Some("relative".into()), state_home: None, ..around() };
    assert_eq!(files(&bare), [file("/w/fleetd.toml"), file("/h/.config/fleetd/fleetd.toml")]);
    assert_eq!(bare.state_dir(None).unwrap(), file("/h/.local/state/fleetd"));
    let homeless = Surroundings { home: None, ..bare };
    assert_eq!(files(&homeless), [file("/w/fleetd.toml")]);
    let refused = homeless.state_dir(None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there is no place for the state: neither XDG_STATE_HOME nor HOME is an absolute path"
    );
    assert_eq!(refused.hint.as_deref(), Some("name a directory with --state DIR"));
    assert_eq!(homeless.state_dir(Some(Path::new("/x"))).unwrap(), file("/x"));
}

#[test]
fn a_file_is_found_where_it_lies_and_a_named_one_must_exist() {
    let dir = tempfile::tempdir().unwrap();
    let around = Surroundings { cwd: dir.path().join("w"), config_home: Some(dir.path().join("c")), ..around() };
    for made in ["w", "c/fleetd"] {
        std::fs::create_dir_all(dir.path().join(made)).unwrap();
    }
    assert_eq!(load(&Args::default(), &around).unwrap().file, None);
    std::fs::write(dir.path().join("c/fleetd/fleetd.toml"), "listen = \"127.0.0.1:2\"").unwrap();
    assert_eq!(load(&Args::default(), &around).unwrap().listen.port(), 2);
    std::fs::write(dir.path().join("w/fleetd.toml"), "listen = \"127.0.0.1:3\"").unwrap();
    assert_eq!(load(&Args::default(), &around).unwrap().listen.port(), 3);
    std::fs::write(dir.path().join("w/other.toml"), "listen = \"127.0.0.1:4\"").unwrap();
    let named = |name: &str| Args { config: Some(name.into()), ..Args::default() };
    assert_eq!(load(&named("other.toml"), &around).unwrap().listen.port(), 4);

    let missing = around.cwd.join("gone.toml");
    let refused = load(&named("gone.toml"), &around).unwrap_err();
    assert_eq!(refused.to_string(), format!("there is no config file {}", missing.display()));
    std::fs::write(&missing, [0xff, 0xfe]).unwrap();
    let refused = load(&named("gone.toml"), &around).unwrap_err();
    let says = format!("the config file {} cannot be read: it is not UTF-8 text", missing.display());
    assert_eq!(refused.to_string(), says);
}
