//! What `fleetd init` does to files that are there: a user's own are changed by their word alone, and what is not ours in
//! them stays byte for byte. What it writes where nothing is, is in `init`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::{Value, json};

use super::Said;
use crate::support::House;
use crate::terminal::Terminal;

const SERVERS: &str =
    "{\n    \"mcpServers\": {\n        \"docs\": { \"command\": \"docs\",  \"args\": [] }\n    }\n}\n";
const SKILL: &str = ".claude/skills/reviewer/SKILL.md";

/// A project that nobody has initialised.
struct Project(House);

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let project = Project(House::new(&[]));
        std::fs::create_dir(project.path("p")).unwrap();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path("p").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("p").join(name)).unwrap()
    }

    fn init(&self, args: &[&str]) -> Said {
        let mut command = self.0.fleetd(&["init"]);
        Said::of(command.args(args).current_dir(self.path("p")).output().unwrap())
    }

    fn has(&self, name: &str) -> bool {
        std::fs::symlink_metadata(self.path("p").join(name)).is_ok()
    }

    /// Every file of the project with its text, for "nothing was touched".
    fn all(&self) -> Vec<(String, Vec<u8>)> {
        fn walk(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, found),
                    false => found.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default())),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.path("p"), &mut found);
        found.sort();
        found
    }
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect()
}

#[test]
fn a_project_gets_everything_once_and_then_nothing_is_to_do() {
    let project = Project::new(&[]);
    let said = project.init(&["--dry-run", "--json"]).ends(0).json();
    assert!(project.all().is_empty(), "a dry run writes nothing");
    let promised = said["written"].clone();
    let said = project.init(&["--json"]).ends(0).json();
    assert_eq!(said["written"], promised, "what was promised is what is written");
    for name in [".mcp.json", "CLAUDE.md", ".claude/skills/delegate/SKILL.md", SKILL, "fleetd.toml"] {
        assert!(paths(&promised).contains(&name), "{name}: {promised}");
    }
    assert!(project.read("CLAUDE.md").starts_with("<!-- fleetd: begin -->\n## The team\n"));
    let servers: Value = serde_json::from_str(&project.read(".mcp.json")).unwrap();
    let ours = json!({"mcpServers": {"fleet": {"type": "http", "url": "http://127.0.0.1:7717/mcp"}}});
    assert_eq!(servers, ours);

    let before = project.all();
    for args in [&[][..], &["--yes"], &["--dry-run"]] {
        let said = project.init(args).ends(0);
        assert!(said.out.starts_with("nothing to do: "), "{said:?}");
        assert_eq!(said.err, "");
        assert_eq!(project.all(), before);
    }
}

#[test]
fn files_of_the_user_are_kept_without_a_terminal_and_changed_by_a_flag() {
    let mine = "# Mine\r\n\r\nrules\r\nno line end";
    let project =
        Project::new(&[("CLAUDE.md", mine), (".mcp.json", SERVERS), (SKILL, "---\nname: reviewer\n---\nMine.\n")]);
    let mode = |name: &str| std::fs::metadata(project.path("p").join(name)).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(project.path("p/CLAUDE.md"), PermissionsExt::from_mode(0o600)).unwrap();

    let dry = project.init(&["--dry-run"]).ends(0);
    for part in ["left CLAUDE.md alone: it is yours", "+        \"fleet\": {", "-Mine.", "fleetd init --yes"] {
        assert!(dry.out.contains(part), "{part}: {dry:?}");
    }
    assert!(!dry.out.contains("secret"), "what is beside our server is shown to nobody: {dry:?}");
    assert_eq!(project.all().len(), 3, "a dry run writes nothing");
    let said = project.init(&[]).ends(0);
    assert!(said.out.contains("left CLAUDE.md alone: it is yours") && said.out.contains("init --yes"), "{said:?}");
    assert!(project.has("fleetd.toml") && project.has(".claude/skills/delegate/SKILL.md"), "the others are written");
    assert_eq!((project.read("CLAUDE.md").as_str(), project.read(".mcp.json").as_str()), (mine, SERVERS));
    assert!(project.read(SKILL).contains("Mine."));

    let said = project.init(&["--yes", "--json"]).ends(0).json();
    assert_eq!(paths(&said["changed"]), [".mcp.json", "CLAUDE.md", SKILL], "{said}");
    let guide = project.read("CLAUDE.md");
    assert!(guide.starts_with(&format!("{mine}\r\n\r\n<!-- fleetd: begin -->\r\n## The team\r\n")), "{guide:?}");
    assert_eq!(guide.matches('\n').count(), guide.matches("\r\n").count(), "its line ends");
    assert_eq!(mode("CLAUDE.md"), 0o600);
    assert!(project.read(".mcp.json").starts_with(SERVERS.trim_end_matches("\n    }\n}\n")), "theirs as it was");
    assert!(project.init(&[]).ends(0).out.starts_with("nothing to do"));
}

#[test]
fn an_old_section_is_renewed_and_what_is_around_it_stays() {
    let old = "before\n<!-- fleetd: begin -->\nold\n<!-- fleetd: end -->\nafter";
    let project = Project::new(&[(".claude/CLAUDE.md", old)]);
    project.init(&["--yes"]).ends(0);
    let new = project.read(".claude/CLAUDE.md");
    assert!(new.starts_with("before\n<!-- fleetd: begin -->\n## The team\n"), "{new}");
    assert!(new.ends_with("\n<!-- fleetd: end -->\nafter"), "{new}");
    assert!(!project.has("CLAUDE.md"), "the user moved it; it is not written a second time");
}

#[test]
fn what_is_broken_stops_it_before_anything_is_written() {
    for (name, text, says) in [
        (".mcp.json", "{\n  \"mcpServers\": {\n  },\n}\n", "error: .mcp.json:4: not JSON: "),
        (".mcp.json", "{\n  \"mcpServers\": 7\n}\n", "error: .mcp.json:2: mcpServers: invalid type"),
        ("CLAUDE.md", "a\n<!-- fleetd: begin -->\nb\n", "error: CLAUDE.md:2: '<!-- fleetd: begin -->' has no"),
        ("fleetd.toml", "listen = 7717\n", "fleetd.toml:1: "),
        (".claude", "", "cannot look at .claude/CLAUDE.md: Not a directory"),
    ] {
        let project = Project::new(&[(name, text)]);
        let said = project.init(&["--yes"]).ends(1);
        assert!(said.err.contains(says), "{name}: {said:?}");
        assert_eq!(project.all().len(), 1, "{name}: {said:?}");
        assert_eq!(project.read(name), text);
    }
    let project = Project::new(&[("CLAUDE.md/file", "")]);
    let said = project.init(&[]).ends(1);
    assert!(said.err.contains("cannot write CLAUDE.md: it is a directory"), "{said:?}");
    assert_eq!(project.all().len(), 1);
}

#[test]
fn links_are_followed_and_what_lies_outside_wants_the_users_word() {
    let project = Project::new(&[("AGENTS.md", "mine\n")]);
    symlink("AGENTS.md", project.path("p/CLAUDE.md")).unwrap();
    symlink("nowhere", project.path("p/.mcp.json")).unwrap();
    std::fs::create_dir(project.path("dotfiles")).unwrap();
    symlink(project.path("dotfiles"), project.path("p/.claude")).unwrap();

    let said = project.init(&[]).ends(0);
    assert!(said.out.contains("left .mcp.json alone: it is a link to nothing"), "{said:?}");
    assert!(said.out.contains(&format!("left {SKILL} alone: a link leads out of this project")), "{said:?}");
    assert_eq!(std::fs::read_dir(project.path("dotfiles")).unwrap().count(), 0);
    let said = project.init(&["--yes"]).ends(0);
    assert!(said.out.contains("changed CLAUDE.md"), "{said:?}");
    assert!(project.read("AGENTS.md").starts_with("mine\n\n<!-- fleetd: begin -->"), "through the link");
    assert!(std::fs::symlink_metadata(project.path("p/CLAUDE.md")).unwrap().is_symlink());
    assert!(project.path("dotfiles/skills/reviewer/SKILL.md").is_file());
    assert!(!project.path("p/nowhere").exists(), "a link to nothing stays one");
}

#[test]
fn a_directory_that_may_not_be_written_is_told_before_anything_is_written() {
    let project = Project::new(&[(".claude/mine", "")]);
    std::fs::set_permissions(project.path("p/.claude"), PermissionsExt::from_mode(0o555)).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        // Root may write anywhere; whoever is not, needs a program and a project that are theirs.
        let program = project.path("fleetd");
        std::fs::copy(env!("CARGO_BIN_EXE_fleetd"), &program).unwrap();
        for (path, mode) in [("", 0o755), ("p", 0o777), ("fleetd", 0o755)] {
            std::fs::set_permissions(project.path(path), PermissionsExt::from_mode(mode)).unwrap();
        }
        let mut command = std::process::Command::new(program);
        command.arg("init").env_clear().uid(65_534);
        command
    } else {
        project.0.fleetd(&["init"])
    };
    let said = Said::of(command.current_dir(project.path("p")).output().unwrap()).ends(1);
    assert!(said.err.contains(".claude/skills/delegate/SKILL.md: .claude: Permission denied"), "{said:?}");
    assert_eq!(project.all().len(), 1, "{said:?}");
}

#[test]
fn the_address_is_that_of_the_projects_own_daemon_and_headers_of_the_user_stay() {
    let project = Project::new(&[("fleetd.toml", "listen = \"localhost:9001\"\n")]);
    project.init(&[]).ends(0);
    assert!(project.read(".mcp.json").contains("\"http://127.0.0.1:9001/mcp\""));
    let mine = project.read(".mcp.json").replace("9001/mcp\"", "9001/mcp\", \"headers\": {\"Authorization\": \"x\"}");
    project.write(".mcp.json", &mine);
    assert!(project.init(&[]).ends(0).out.starts_with("nothing to do"));
    project.write("fleetd.toml", "listen = \"0.0.0.0:9002\"\n");
    project.init(&["--yes"]).ends(0);
    let servers: Value = serde_json::from_str(&project.read(".mcp.json")).unwrap();
    let ours = json!({"type": "http", "url": "http://127.0.0.1:9002/mcp", "headers": {"Authorization": "x"}});
    assert_eq!(servers["mcpServers"]["fleet"], ours);
    // Without a known port there is nothing to write, and what is there stays.
    project.write("fleetd.toml", "listen = \"127.0.0.1:0\"\n");
    assert!(project.init(&["--yes"]).ends(0).out.starts_with("nothing to do"));
    std::fs::remove_file(project.path("p/.mcp.json")).unwrap();
    let said = project.init(&["--yes"]).ends(0);
    assert!(said.out.contains("left .mcp.json alone: nobody knows the address"), "{said:?}");
    assert!(!project.has(".mcp.json"));
}

#[test]
fn at_a_terminal_each_file_is_asked_for_and_only_a_yes_changes_it() {
    let project = Project::new(&[("CLAUDE.md", "mine\n"), (".mcp.json", SERVERS)]);
    let mut command = project.0.fleetd(&["init"]);
    let mut terminal = Terminal::start(command.current_dir(project.path("p")));
    terminal.shows("change .mcp.json? [y/N]");
    assert!(!project.has("fleetd.toml"), "nothing is written before all is asked");
    terminal.types("\n");
    terminal.shows("+## The team");
    terminal.shows("change CLAUDE.md? [y/N]");
    terminal.types("y\n");
    terminal.shows("changed CLAUDE.md");
    assert!(terminal.ends_well());
    terminal.shows("left .mcp.json alone: you said no");
    assert_eq!(project.read(".mcp.json"), SERVERS);
    assert!(project.read("CLAUDE.md").starts_with("mine\n\n<!-- fleetd: begin -->"));
}
