//! The command line: its help, its errors, and every command against a real daemon.
//! What all of them share stands here, the charter with its workers above all; each part has a file of its own.

mod charter;
mod doctor;
mod help;
mod init;
mod init_files;
mod talk;
mod waits;

use std::io::Write;
use std::process::{Output, Stdio};

use crate::support::House;

/// Workers that need nothing but POSIX, and recipes that use them.
pub const TEAM: &str = r#"
fleet.profile("upper", { launcher = "exec", command = { "tr", "a-z", "A-Z" }, timeout = "30s" })
fleet.profile("broken", { launcher = "exec", command = { "sh", "-c", "echo half; echo no such part >&2; exit 3" } })
fleet.profile("slow", { launcher = "exec", command = { "sh", "-c", "while ! test -e \"$HOME/go\"; do sleep 0.05; done; cat" } })
fleet.role("w-upper", { profiles = { "upper" }, max_busy = 2, max_waiting = 4, about = "shouts" })
fleet.role("w-broken", { profiles = { "broken" }, max_busy = 1, max_waiting = 4 })
fleet.role("w-slow", { profiles = { "slow" }, max_busy = 1, max_waiting = 4 })

fleet.route("loud goes to those who shout", function(task)
  if task.kind == "loud" then return { role = "w-upper", because = "the task is to be loud" } end
end)

fleet.recipe("shout", { about = "Shouts words.", input = { words = "string[]" } }, function(job, run)
  local replies = run:each(job.words, function(word) return run:send { to = "w-upper", prompt = word } end)
  local said = {}
  for n, reply in ipairs(replies) do said[n] = reply.text end
  return { said = said }
end)

fleet.recipe("ask", {}, function(job, run)
  return { answer = run:ask_leader("Red or blue?") }
end)

fleet.recipe("sink", {}, function(job, run)
  error("nothing can come of this")
end)

fleet.recipe("half", {}, function(job, run)
  return run:partial({ found = 1 }, "one part is missing")
end)
"#;

/// What a command came to.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Returns standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the output if the command ended so.
    #[track_caller]
    pub fn ends(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// Runs a command in a house, on the state of its daemon.
pub fn fleetd(house: &House, args: &[&str]) -> Said {
    fleetd_reads(house, args, "")
}

/// Runs a command that reads a text.
pub fn fleetd_reads(house: &House, args: &[&str], text: &str) -> Said {
    let mut command = house.fleetd(args);
    command.arg("--state").arg(house.state());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    // A command that reads nothing closes the pipe; that is no fault of it.
    let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
    Said::of(child.wait_with_output().expect("an end"))
}

#[test]
fn a_wrong_command_line_is_told_what_would_be_right() {
    let house = House::new(&[]);
    let told = |args: &[&str], text: &str| {
        let said = Said::of(house.fleetd(args).output().unwrap()).ends(2);
        assert!(said.err.contains(text), "{args:?}: {said:?}");
        assert_eq!(said.out, "", "{args:?}");
    };
    told(&[], "Usage: fleetd");
    told(&["sned"], "'send'");
    told(&["send", "w-upper"], "<PROMPT>");
    told(&["send", "w-upper", "x", "--deadline", "soon"], "write for example \"90s\"");
    told(&["send", "w-upper", "x", "--no-wait", "--wait"], "cannot be used with");
    told(&["cancel", "m3"], "'m3' is the id of neither a turn (t17) nor a run (r3)");
    told(&["ack"], "<MESSAGE>");
    told(&["trace", "17"], "'17' is not an id of the form t17");
    told(&["run", "start", "shout", "--job", "{"], "the job is not JSON");
    told(&["run", "start", "shout", "--state", "x", "--job", "@nowhere.json", "--oops"], "--oops");
    told(&["status", "--url", "https://127.0.0.1:1"], "speaks no TLS");
    told(&["status", "--url", "foo"], "write for example http://127.0.0.1:7717");
    told(&["run", "shout"], "hint: start a recipe: fleetd run start shout");
    told(&["serve", "--listen", "here"], "--listen here");
    told(&["serve", "--charter", "nowhere"], "nowhere");
    told(&["serve", "--token-file", "x"], "token_file of fleetd.toml");
}

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let house = House::new(&[]);
    let said = fleetd(&house, &["status"]).ends(5);
    let state = house.state();
    assert_eq!(
        said.err,
        format!(
            "error: no fleetd is running for state {}\nhint: start one: fleetd serve\nhint: another state directory: --state DIR, or --url URL\n",
            state.display()
        )
    );

    // One that was killed leaves its address behind.
    house.start().kill();
    fleetd(&house, &["list", "--json"]).ends(5);

    let said = Said::of(house.fleetd(&["list", "--url", "127.0.0.1:1"]).output().unwrap()).ends(5);
    assert!(said.err.contains("no fleetd answers at http://127.0.0.1:1"), "{said:?}");
}

#[test]
fn what_answers_and_is_no_fleetd_is_not_taken_for_one() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = std::io::Read::read(&mut stream, &mut request);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n<p>no</p>").unwrap();
    });
    let house = House::new(&[]);
    let said = Said::of(house.fleetd(&["status", "--url", &url]).output().unwrap()).ends(5);
    assert!(said.err.contains("is not this version of fleetd"), "{said:?}");
    assert!(said.err.contains("<p>no</p>"), "{said:?}");
    stranger.join().unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let house = House::new(&[]);
    let mut command = house.fleetd(&["completions", "bash"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let said = Said::of(child.wait_with_output().unwrap()).ends(0);
    assert_eq!(said.err, "");
}

#[test]
fn every_shell_gets_its_completions() {
    let house = House::new(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = Said::of(house.fleetd(&["completions", shell]).output().unwrap()).ends(0);
        assert!(said.out.contains("all-shown"), "{shell}");
        assert!(!said.out.contains("pane-exec"), "{shell}: it is no command for people");
    }
}
