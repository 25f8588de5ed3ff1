//! What the field `worktree` of a profile is taken for, and what is refused in it by name.
//! Other fields are tested with whole charters.

use serde_json::{Value, json};

use super::profile;
use crate::fleet::time::Span;
use crate::fleet::work::WorktreeSpec;

fn read(launcher: &str, worktree: Value) -> Result<Option<WorktreeSpec>, String> {
    let spec = json!({ "launcher": launcher, "command": ["agent"], "worktree": worktree });
    match profile("p", &spec) {
        Ok(declared) => Ok(declared.profile.worktree.map(|worktree| *worktree)),
        Err(wrong) => Err(wrong.message),
    }
}

#[test]
fn true_or_an_empty_table_is_a_worktree_with_nothing_said() {
    let plain = WorktreeSpec { setup_timeout: WorktreeSpec::SETUP, ..WorktreeSpec::default() };
    for said in [json!(true), json!({}), json!([])] {
        assert_eq!(read("typed", said), Ok(Some(plain.clone())));
    }
    assert_eq!(read("typed", json!(false)), Ok(None));
    assert_eq!(read("exec", json!(null)), Ok(None));
    assert_eq!(read("exec", json!(false)), Ok(None));
}

#[test]
fn all_of_it_can_be_said() {
    let said =
        json!({ "base": "main", "copy": [".env", "**/local.toml"], "setup": ["npm", "ci"], "setup_timeout": "2m" });
    let expected = WorktreeSpec {
        base: Some("main".into()),
        copy: vec![".env".into(), "**/local.toml".into()],
        setup: vec!["npm".into(), "ci".into()],
        setup_timeout: Span::minutes(2),
    };
    assert_eq!(read("typed", said), Ok(Some(expected)));
}

#[test]
fn what_is_wrong_in_it_is_said_by_name() {
    let says = |launcher: &str, said: Value, wanted: &str| {
        let error = read(launcher, said).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    };
    says("typed", json!("main"), "field 'worktree': expected true, or a table such as { base = \"main\" }, got a text");
    says("typed", json!({ "bas": "x" }), "field 'worktree': unknown field 'bas'; did you mean 'base'?");
    says("typed", json!({ "base": "--help" }), "field 'base': expected a branch, a tag or a commit");
    says("typed", json!({ "copy": ["../x"] }), "field 'copy': '../x': only what lies in the repository");
    says("typed", json!({ "copy": ["/etc/passwd"] }), "field 'copy': '/etc/passwd': only what lies in the repository");
    says("typed", json!({ "copy": [".git/config"] }), "git's own files are not brought along");
    says("typed", json!({ "setup": [""] }), "field 'setup': expected a program and its arguments");
    says("typed", json!({ "setup_timeout": "soon" }), "field 'setup_timeout': 'soon' is not a length of time");
}
