//! Wrong texts of fleetd.toml, each with the exact refusal: file, line, what is wrong, what would be right.
//! A refusal must never repeat a secret that somebody wrote where it does not belong.

use super::refusal;

/// Each wrong text with the exact refusal, `file:line: message | hint`.
const WRONG: &[(&str, &str)] = &[
    ("lisen = \"127.0.0.1:1\"", "/e/fleetd.toml:1: there is no setting 'lisen' | did you mean 'listen'?"),
    (
        "\n\nzzz = 1",
        "/e/fleetd.toml:3: there is no setting 'zzz' | valid here: listen, charter, pane_host, auth, token_file, \
         token_env, seat_ttl, hosts, endpoints, launch, commands, nudge, broker, on_restart, limits",
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
        "/e/fleetd.toml:1: pane_host = \"agentapi\": AgentAPI holds no panes for fleetd; it is a launcher | \
         write \"auto\", \"herdr\" or \"embedded\", and profiles with launcher = \"agentapi\"",
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
    ("on_restart = \"kill\"", "/e/fleetd.toml:1: on_restart = \"kill\" does not exist | valid: adopt, reap"),
    (
        "[limits]\nmemory_floor = \"1GB\"",
        "/e/fleetd.toml:2: '1GB' is not a size; write for example \"512MiB\", \"1GiB\", or 0",
    ),
    ("[limits]\nstart_stagger = \"2m\"", "/e/fleetd.toml:2: start_stagger = 2m00s is not between 0ms and 1m00s"),
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
