//! The help of every command is a committed file, so that a change of it is seen. `FLEETD_BLESS=1` writes it anew.
//! No daemon and no process: the help is taken from the parser itself, at a width that does not depend on a terminal.

use std::path::Path;

#[test]
fn the_help_is_what_is_committed() {
    let mut text = String::new();
    write_help(&mut fleetd::cli::command().term_width(100), "fleetd", &mut text);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/help.txt");
    if std::env::var_os("FLEETD_BLESS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(committed == text, "the help has changed: look at it, then FLEETD_BLESS=1 cargo nextest run help\n{text}");
}

#[test]
fn every_command_says_what_it_does() {
    fn check(command: &clap::Command, path: &str) {
        assert!(command.get_about().is_some(), "{path} has no line about it");
        for argument in command.get_arguments().filter(|a| !matches!(a.get_id().as_str(), "help" | "version")) {
            assert!(argument.get_help().is_some(), "{path}: {} has no help", argument.get_id());
        }
        for sub in command.get_subcommands() {
            check(sub, &format!("{path} {}", sub.get_name()));
        }
    }
    check(&fleetd::cli::command(), "fleetd");
}

fn write_help(command: &mut clap::Command, path: &str, text: &mut String) {
    text.push_str(&format!("===== {path}\n{}\n", command.render_help()));
    let names: Vec<String> =
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_string()).collect();
    for name in names {
        let path = format!("{path} {name}");
        let sub = command.find_subcommand_mut(&name).expect("just listed");
        *sub = sub.clone().term_width(100).bin_name(path.clone());
        write_help(sub, &path, text);
    }
}
