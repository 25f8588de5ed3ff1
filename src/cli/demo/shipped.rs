//! The demo's charter with its scripts, inside the binary: an installed fleetd needs no checkout for its demo.
//! Only the texts; they are written out by `scratch`.

macro_rules! shipped {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/charters/demo/", $path)))),*]
    };
}

/// Every file of `charters/demo`: its path below the charter and its text.
pub const FILES: &[(&str, &str)] = shipped![
    "bin/common.sh"
    "bin/flaky.sh"
    "bin/judge.sh"
    "bin/notes.sh"
    "bin/size.sh"
    "bin/slips.sh"
    "bin/slow.sh"
    "bin/tests.sh"
    "recipes/inspect.lua"
    "team.lua"
    "tests/inspect.lua"
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::cli::demo::walk::{Bounds, walk};

    #[test]
    fn no_file_of_the_charter_is_forgotten() {
        let charter = Path::new(env!("CARGO_MANIFEST_DIR")).join("charters/demo");
        let walked = walk(&charter, Bounds::default(), |_| true).expect("the charter is here");
        let there: BTreeSet<&str> = walked.files.iter().filter_map(|found| found.path.to_str()).collect();
        assert_eq!(FILES.iter().map(|(path, _)| *path).collect::<BTreeSet<_>>(), there);
    }
}
