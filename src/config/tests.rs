//! Tables of right and wrong settings, with the exact words of each refusal.
//! All of it from texts in memory, but for the one test of the search for files.

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
    assert_eq!((config.executables, config.commands), (vec!["/bin/sh".into()], vec!["cargo".into(), "rg".into()]));
    assert_eq!((config.pane_host, config.nudge.on), (PaneHost::Herdr, false));
    assert_eq!((config.nudge.screen.prompt, config.nudge.screen.dialog), (vec!["$ ".into()], vec!["1. Yes".into()]));
    let limits = Limits { max_workers: 3, max_prompt_bytes: 2048, retention: Span::days(2), drain: Span::seconds(5) };
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

/// Each wrong text with the exact refusal, `file:line: message | hint`.
const WRONG: &[(&str, &str)] = &[
    ("lisen = \"127.0.0.1:1\"", "/e/fleetd.toml:1: there is no setting 'lisen' | did you mean 'listen'?"),
    (
        "\n\nzzz = 1",
        "/e/fleetd.toml:3: there is no setting 'zzz' | valid here: listen, charter, pane_host, auth, token_file, \
         token_env, seat_ttl, hosts, endpoints, launch, commands, nudge, broker, limits",
    ),
    ("[limits]\nmax_worker = 1", "/e/fleetd.toml:2: there is no setting 'max_worker' | did you mean 'max_workers'?"),
    (
        "[endpoints.a]\nurl = \"https://a\"\nkey = \"s3cret\"",
        "/e/fleetd.toml:3: there is no setting 'key' | did you mean 'key_env'?",
    ),
    (
        "listen = 7717",
        "/e/fleetd.toml:1: listen: invalid type: integer '7717', expected a string | \
         write an address and a port in quotes, such as \"127.0.0.1:7717\"",
    ),
    ("[limits]\nmax_workers = \"7\"", "/e/fleetd.toml:2: max_workers: invalid type: string \"7\", expected i64"),
    ("[endpoints.a]\nkey_env = \"A\"", "/e/fleetd.toml:1: missing field 'url'"),
    ("\nlisten = \"a", "/e/fleetd.toml:2: invalid basic string, expected '\"'"),
    ("auth = \"token\"\nauth = \"token\"", "/e/fleetd.toml:2: duplicate key"),
    (
        "listen = \"somewhere\"",
        "/e/fleetd.toml:1: listen: 'somewhere' is not an address to listen on | \
         write an address and a port, such as \"127.0.0.1:7717\" or \"[::1]:7717\"",
    ),
    (
        "#\nlisten = \"0.0.0.0:80\"",
        "/e/fleetd.toml:2: listen: '0.0.0.0:80' is not a loopback address: other machines could reach it, and \
         auth is \"loopback-trust\" | listen on \"127.0.0.1:80\", or set auth = \"token\" in fleetd.toml",
    ),
    (
        "charter = \"gone\"",
        "/e/fleetd.toml:1: there is no charter directory /e/gone | \
         name a directory that exists, or make one with fleetd init",
    ),
    (
        "pane_host = \"agentapi\"",
        "/e/fleetd.toml:1: pane_host = \"agentapi\" is not in this version | write \"auto\", \"herdr\" or \"embedded\"",
    ),
    (
        "pane_host = \"embeded\"",
        "/e/fleetd.toml:1: pane_host = \"embeded\" does not exist | did you mean \"embedded\"?",
    ),
    (
        "pane_host = \"x\"",
        "/e/fleetd.toml:1: pane_host = \"x\" does not exist | valid: auto, herdr, embedded, agentapi",
    ),
    ("[nudge]\nbusy = [\" \"]", "/e/fleetd.toml:2: nudge.busy: an empty text is on every screen"),
    ("auth = \"none\"", "/e/fleetd.toml:1: auth = \"none\" does not exist | valid: loopback-trust, token"),
    (
        "token_file = \"t\"",
        "/e/fleetd.toml:1: token_file is set, and auth is \"loopback-trust\", which uses no token | \
         leave token_file out, or write auth = \"token\"",
    ),
    (
        "auth = \"loopback-trust\"\nhosts = [\"a\"]",
        "/e/fleetd.toml:2: hosts is set, and auth is \"loopback-trust\", which uses no token | \
         leave hosts out, or write auth = \"token\"",
    ),
    (
        "seat_ttl = \"5m\"",
        "/e/fleetd.toml:1: seat_ttl is set, and auth is \"loopback-trust\", which uses no token | \
         leave seat_ttl out, or write auth = \"token\"",
    ),
    (
        "\nauth = \"token\"",
        "/e/fleetd.toml:2: auth = \"token\" is set, and no token | name a private file with token_file = \"token\", \
         or a variable with token_env = \"FLEETD_TOKEN\"",
    ),
    (
        "auth = \"token\"\ntoken_file = \"good\"\ntoken_env = \"GOOD\"",
        "/e/fleetd.toml:3: token_file and token_env are both set | leave one of them out",
    ),
    (
        "auth = \"token\"\ntoken_file = \"open\"",
        "/e/fleetd.toml:2: token_file /e/open: others can read or change it: mode 0644 | chmod 600 it",
    ),
    (
        "auth = \"token\"\ntoken_file = \"two\"",
        "/e/fleetd.toml:2: token_file /e/two: it has more than one line | write the token alone, on one line",
    ),
    (
        "auth = \"token\"\ntoken_env = \"NONE\"",
        "/e/fleetd.toml:2: token_env NONE: the variable is not set where fleetd is started | \
         set it there, or name a private file with token_file",
    ),
    (
        "auth = \"token\"\ntoken_env = \"EMPTY\"",
        "/e/fleetd.toml:2: token_env EMPTY: it is empty | \
         make one: (umask 077 && head -c 32 /dev/urandom | base64 > FILE)",
    ),
    (
        "auth = \"token\"\ntoken_env = \"SHORT\"",
        "/e/fleetd.toml:2: token_env SHORT: it has 6 characters; a token has at least 32 | \
         make one: (umask 077 && head -c 32 /dev/urandom | base64 > FILE)",
    ),
    (
        "auth = \"token\"\ntoken_env = \"s3cret-s3cret\"",
        "/e/fleetd.toml:2: token_env is not the name of a variable | \
         write the name of the variable that holds the token, such as FLEETD_TOKEN, never the token itself",
    ),
    (
        "auth = \"token\"\ntoken_env = \"GOOD\"\nseat_ttl = \"8d\"",
        "/e/fleetd.toml:3: seat_ttl = 8d is not between 1s and 7d",
    ),
    (
        "auth = \"token\"\ntoken_env = \"GOOD\"\nhosts = [\n\"a\",\n\"https://b\"]",
        "/e/fleetd.toml:5: 'https://b' in hosts is no host: it is more than a host and a port | \
         write what clients call fleetd by, such as \"fleet.example\" or \"fleet.example:8443\"",
    ),
    (
        "auth = \"token\"\ntoken_env = \"GOOD\"\nhosts = [\"b c\"]",
        "/e/fleetd.toml:3: 'b c' in hosts is no host: it holds a space or a control character | \
         write what clients call fleetd by, such as \"fleet.example\" or \"fleet.example:8443\"",
    ),
    (
        "[broker]\nurl = \"amqp://127.0.0.1\"",
        "/e/fleetd.toml:2: a broker is not in this version | \
         leave [broker] out; what waits for the leader is kept in the state directory",
    ),
    (
        "[endpoints.\"a b\"]\nurl = \"https://a\"",
        "/e/fleetd.toml:1: 'a b' is not a name for an endpoint | use letters, digits, '-', '_' and '.'",
    ),
    (
        "[endpoints.a]\nurl = \"https://me:s3cret@a\"",
        "/e/fleetd.toml:2: the url of endpoint 'a' is not usable: it holds a user name or a password; \
         name the variable with the key in key_env | write for example url = \"https://llm.example/v1\"",
    ),
    (
        "[endpoints.a]\nurl = \"https://a\"\nkey_env = \"sk-s3cret\"",
        "/e/fleetd.toml:3: key_env of endpoint 'a' is not the name of a variable | \
         write the name of the variable that holds the key, such as LOCAL_LLM_KEY, never the key itself",
    ),
    (
        "[endpoints.a]\nurl = \"https://a.example\"\nallowed_hosts = [\"b.example\"]",
        "/e/fleetd.toml:3: allowed_hosts of endpoint 'a' lacks its own host 'a.example' | \
         add \"a.example\", or leave allowed_hosts out",
    ),
    ("[endpoints.a]\nurl = \"https://a\"\nmax_busy = 0", "/e/fleetd.toml:3: max_busy = 0 is not between 1 and 10000"),
    (
        "[launch]\nexecutables = [\n\"sh\",\n\"\"]",
        "/e/fleetd.toml:4: '' in launch.executables is not a program | \
         write a name that is found in PATH, such as \"rg\", or an absolute path",
    ),
    (
        "[commands]\nallow = [\"./x\"]",
        "/e/fleetd.toml:2: './x' in commands.allow is a relative path | \
         write a name that is found in PATH, such as \"rg\", or an absolute path",
    ),
    ("[limits]\nmax_workers = -1", "/e/fleetd.toml:2: max_workers = -1 is not between 1 and 10000"),
    ("[limits]\nmax_prompt_bytes = 1", "/e/fleetd.toml:2: max_prompt_bytes = 1 is not between 1024 and 67108864"),
    ("[limits]\nretention = \"5m\"", "/e/fleetd.toml:2: retention = 5m00s is not between 1h00m and 3650d"),
    ("[limits]\ndrain = \"2h\"", "/e/fleetd.toml:2: drain = 2h00m is not between 0ms and 1h00m"),
    (
        "[limits]\ndrain = \"soon\"",
        "/e/fleetd.toml:2: 'soon' is not a length of time; write for example \"90s\", \"8m\", \"2h\", \"250ms\"",
    ),
];

#[test]
fn wrong_files_are_refused_with_file_line_and_what_would_be_right() {
    for (text, refused) in WRONG {
        assert_eq!(&refusal(text), refused, "{text}");
    }
}

#[test]
fn a_refusal_never_repeats_a_secret() {
    for (text, _) in WRONG.iter().filter(|(text, _)| text.contains("s3cret")) {
        assert!(!refusal(text).contains("s3cret"), "{text}");
    }
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
