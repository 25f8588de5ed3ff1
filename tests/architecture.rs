//! The rules of the house that can be counted, held against the real tree. The rules themselves are in
//! `architecture/`, each with a sample on which it fails. Nothing is built or started here.

#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/floors.rs"]
mod floors;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/samples.rs"]
mod samples;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/tree.rs"]
mod tree;

use std::path::Path;

use tree::{Fault, Tree};

/// A rule: its name, and what finds its faults in a tree. The second argument are the folders of this machine.
struct Rule {
    name: &'static str,
    check: fn(&Tree, &[String]) -> Vec<Fault>,
}

const RULES: &[Rule] = &[
    Rule { name: "arrows", check: |tree, _| floors::arrows(tree) },
    Rule { name: "headers", check: |tree, _| rules::headers(tree) },
    Rule { name: "lengths", check: |tree, _| rules::lengths(tree) },
    Rule { name: "forgotten_files", check: |tree, _| rules::forgotten_files(tree) },
    Rule { name: "no_mod_rs", check: |tree, _| rules::no_mod_rs(tree) },
    Rule { name: "no_unwrap", check: |tree, _| rules::no_unwrap(tree) },
    Rule { name: "no_unsafe", check: |tree, _| rules::no_unsafe(tree) },
    Rule { name: "no_agent_names", check: |tree, _| rules::no_agent_names(tree) },
    Rule { name: "spawns", check: |tree, _| rules::spawns(tree) },
    Rule { name: "purity", check: |tree, _| rules::purity(tree) },
    Rule { name: "owners", check: |tree, _| rules::owners(tree) },
    Rule { name: "prints", check: |tree, _| rules::prints(tree) },
    Rule { name: "doc_examples", check: |tree, _| rules::doc_examples(tree) },
    Rule { name: "names", check: |tree, _| rules::names(tree) },
    Rule { name: "workflows", check: |tree, _| documents::workflows(tree) },
    Rule { name: "ci_steps", check: |tree, _| documents::ci_steps(tree) },
    Rule { name: "dependencies", check: |tree, _| documents::dependencies(tree) },
    Rule { name: "map", check: |tree, _| documents::map(tree) },
    Rule { name: "machine_paths", check: documents::machine_paths },
];

#[test]
fn the_house_keeps_its_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tree = Tree::read(root);
    assert!(tree.file("src/lib.rs").is_some(), "the tree was not read: {} files", tree.files.len());
    let here = [root.display().to_string()];
    let mut report = String::new();
    for rule in RULES {
        for fault in (rule.check)(&tree, &here) {
            report += &format!("{fault} ({})\n", rule.name);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}
