# The one list of commands. CI runs `.ci/run`, which is `check` here.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Lists the recipes.
default:
    @just --list --unsorted

# Everything that must hold before a change lands: format, lints, all tests.
check:
    .ci/run

# All tests, or those that a nextest filter names: just test -E 'test(fleet)'
test *ARGS:
    tests/run {{ARGS}}

# The lints alone, as CI runs them.
lint:
    cargo fmt --check
    cargo clippy --workspace --locked --all-targets -- -D warnings
    e2e/lint/run

# The shipped demo on a folder: a private daemon, workers, a ranked result.
demo *ARGS:
    cargo run --release --locked -- demo {{ARGS}}

# Rewrites what is generated and committed (meta file, reference, golden outputs) from its source.
docs:
    FLEETD_BLESS=1 INSTA_UPDATE=always cargo nextest run --locked --no-tests=fail -E 'test(generated) | test(golden)'
    git status --short

# Licences, duplicate versions and sources of all dependencies.
deny:
    command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
    cargo deny check bans licenses sources

# Every bench, each figure beside its limit in the same run.
bench *ARGS:
    cargo bench --locked -- {{ARGS}}

# Line coverage of all tests, file by file, and the sum.
coverage *ARGS:
    tests/coverage {{ARGS}}

# Puts the optimised binary into cargo's bin folder.
install:
    cargo install --path . --locked
