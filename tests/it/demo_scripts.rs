//! The workers of the demo as they are: shell scripts, given a batch on stdin, over a tree with everything in it
//! that file systems allow. No daemon takes part.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fleetd::cli::demo::batch;
use fleetd::cli::demo::walk::{Bounds, Walked, walk};
use tempfile::TempDir;

const INSPECTORS: [&str; 4] = ["notes", "size", "slips", "tests"];

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("charters/demo/bin/{name}.sh"))
}

fn run_with(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh starts");
    // A worker need not read to the end.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("it ends")
}

fn run(name: &str, input: &[u8]) -> Output {
    run_with(Command::new("sh").arg(script(name)), input)
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Returns the batch of all that a walk finds.
fn batch_of(dir: &Path) -> (Walked, String) {
    let walked = walk(dir, Bounds::default(), |_| true).expect("walked");
    let root = batch::encode(walked.root.as_os_str());
    let list = format!("{root}\n{}", batch::list(&walked.files));
    (walked, list)
}

fn write(dir: &TempDir, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) -> bool {
    let path = dir.path().join(name.as_ref());
    fs::create_dir_all(path.parent().expect("inside")).expect("made");
    fs::write(path, content).is_ok()
}

/// Returns a function of so many lines.
fn function(head: &str, line: &str, lines: usize, end: &str) -> String {
    format!("{head}\n{}{end}\n", line.repeat(lines - 2))
}

/// A tree with one of everything that the inspectors look for.
fn planted() -> TempDir {
    let dir = tempfile::tempdir().expect("a place");
    let long_rust = function("    pub fn endless(x: u8) {", "        x();\n", 170, "    }");
    write(&dir, "src/long.rs", format!("impl X {{\n{long_rust}}}\n"));
    let long_python = function("def slow(a,\n         b):", "    a()\n", 90, "    b()");
    write(&dir, "tool/long.py", long_python);
    write(&dir, "web/short.js", "function f() {\n}\n// FIXME: not yet\ndebugger;\n");
    write(&dir, "README.md", "Words about TODO lists.\n\nTODO: write more\n");
    write(&dir, "tested.go", function("func F() {", "\tx()\n", 70, "}"));
    write(&dir, "tested_test.go", "package x\n");
    write(&dir, "merge.txt", "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n");
    write(&dir, "id", format!("-----BEGIN {}PRIVATE KEY-----\n", "RSA "));
    write(&dir, "wide.c", format!("int x;\n/* {} */\n", "y".repeat(300)));
    dir
}

fn lines(output: &str) -> Vec<&str> {
    output.lines().filter(|line| !line.starts_with("sum\t")).collect()
}

#[test]
fn each_inspector_finds_what_was_planted_with_its_line() {
    let dir = planted();
    let (_, list) = batch_of(dir.path());
    let found = |name| text(&run(name, list.as_bytes()));

    assert_eq!(
        lines(&found("notes")),
        ["medium\tweb/short.js\t3\tnote: FIXME: not yet", "low\tREADME.md\t3\tnote: TODO: write more",]
    );
    assert_eq!(
        lines(&found("size")),
        [
            "high\tsrc/long.rs\t2\tlong function: endless has 170 lines",
            "medium\ttool/long.py\t1\tlong function: slow has 91 lines",
            "low\twide.c\t2\tlong lines: 1 over 200 bytes, this one has 306",
        ]
    );
    assert_eq!(
        lines(&found("slips")),
        [
            "high\tid\t1\tsecret: a private key lies in the tree",
            "high\tmerge.txt\t2\tconflict: merge markers up to line 6",
            "medium\tweb/short.js\t4\tleft over: debugger",
        ]
    );
    assert_eq!(
        lines(&found("tests")),
        [
            "low\tsrc/long.rs\t1\tno test: 172 lines of code, no test in it or near it",
            "low\ttool/long.py\t1\tno test: 91 lines of code, no test in it or near it",
        ]
    );
}

#[test]
fn every_byte_that_a_name_can_hold_comes_through() {
    let dir = tempfile::tempdir().expect("a place");
    let mut made = 0;
    for byte in (1..=255u8).filter(|byte| *byte != b'/') {
        let name = [b"@-", &[byte][..], b" x=1.rs"].concat();
        made += usize::from(write(&dir, OsStr::from_bytes(&name), "// XXX here\n"));
    }
    write(&dir, "%41.rs", "// XXX here\n");
    write(&dir, "@list.rs", "// XXX here\n");
    write(&dir, "trailing\n", "XXX: here\n");
    let (walked, list) = batch_of(dir.path());
    assert_eq!(walked.files.len(), made + 3);
    let sum = format!("sum\tnotes\t{0}\t{0}\t40\t0", made + 3);
    let output = text(&run("notes", list.as_bytes()));
    assert_eq!(output.lines().last(), Some(&*sum));
    for line in lines(&output) {
        let name = line.split('\t').nth(1).expect("a file");
        let path = walked.root.join(OsStr::from_bytes(&batch::decode(name)));
        assert!(path.exists(), "{line}");
    }
}

#[test]
fn links_are_not_followed_and_pipes_not_opened() {
    let dir = tempfile::tempdir().expect("a place");
    write(&dir, "real.rs", "// TODO once\n");
    symlink("real.rs", dir.path().join("link.rs")).expect("made");
    symlink("loop.rs", dir.path().join("loop.rs")).expect("made");
    symlink(".", dir.path().join("folder")).expect("made");
    let pipe = Command::new("mkfifo").arg(dir.path().join("pipe.rs")).status();
    assert!(pipe.expect("mkfifo is POSIX").success());
    let root = batch::encode(dir.path().as_os_str());
    let list = format!("{root}\nreal.rs\nlink.rs\nloop.rs\nfolder\npipe.rs\ngone.rs\n");
    for name in INSPECTORS {
        let output = text(&run(name, list.as_bytes()));
        assert!(output.contains(&format!("sum\t{name}\t1\t")), "{output}");
    }
}

#[test]
fn unreadable_and_binary_files_are_no_obstacle() {
    let dir = tempfile::tempdir().expect("a place");
    write(&dir, "closed.rs", "// TODO hidden\n");
    let closed = dir.path().join("closed.rs");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("closed");
    let unread = usize::from(fs::read(&closed).is_err()); // root reads everything
    write(&dir, "blob.rs", b"\x7fELF\0\0// TODO no\n\0\xff\xfe".repeat(5000));
    write(&dir, "one-line.rs", "x".repeat(900_000));
    write(&dir, "latin.rs", b"// TODO caf\xe9 \x1b[31m\tnow\r\n");
    write(&dir, "empty.rs", "");
    let (_, list) = batch_of(dir.path());
    for name in INSPECTORS {
        let output = run(name, list.as_bytes());
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let sum = output.lines().last().expect("a sum");
        assert_eq!(sum.rsplit('\t').next(), Some(&*unread.to_string()), "{name}: {sum}");
        assert!(!output.contains("blob.rs"), "{output}");
        assert!(!output.contains('\u{1b}'), "{output}");
    }
}

#[test]
fn many_files_give_an_answer_of_a_few_lines() {
    let dir = tempfile::tempdir().expect("a place");
    for folder in 0..20 {
        fs::create_dir(dir.path().join(folder.to_string())).expect("made");
        for file in 0..120 {
            let path = dir.path().join(format!("{folder}/{file}.rs"));
            fs::write(path, "// TODO more\n").expect("written");
        }
    }
    let (walked, _) = batch_of(dir.path());
    let parts = batch::parts(&walked.files);
    assert_eq!(parts.len(), 24);
    let lists = tempfile::tempdir().expect("a place");
    let root = batch::encode(walked.root.as_os_str());
    let mut files = 0;
    for (number, part) in parts.into_iter().enumerate() {
        let path = lists.path().join(format!("{number}.list"));
        fs::write(&path, batch::list(&walked.files[part])).expect("written");
        let prompt = format!("{root}\n@{}\n", batch::encode(path.as_os_str()));
        let output = text(&run("notes", prompt.as_bytes()));
        assert!(output.len() < 7000, "{} bytes", output.len());
        let sum: Vec<&str> = output.lines().last().expect("a sum").split('\t').collect();
        assert_eq!(sum[4], "40");
        files += sum[2].parse::<usize>().expect("a number");
    }
    assert_eq!(files, 2_400);
}

#[test]
fn an_empty_batch_is_a_sum_of_nothing() {
    let dir = tempfile::tempdir().expect("a place");
    let (_, list) = batch_of(dir.path());
    for name in INSPECTORS {
        let output = text(&run(name, list.as_bytes()));
        assert_eq!(output, format!("sum\t{name}\t0\t0\t0\t0\n"));
    }
}

#[test]
fn a_batch_without_a_directory_is_refused_with_the_reason() {
    for (input, reason) in [
        ("", "the first line of a batch is an absolute directory, not ''"),
        ("a.rs\nb.rs\n", "not 'a.rs'"),
        ("/no/such/place\nb.rs\n", "no directory /no/such/place"),
        ("/\n@/no/such/list\n", "the list /no/such/list cannot be read"),
    ] {
        let output = run("notes", input.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn one_worker_fails_on_purpose_and_keeps_what_it_wrote() {
    let dir = planted();
    let (_, list) = batch_of(dir.path());
    let output = run("flaky", list.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3);
    assert!(String::from_utf8_lossy(&output.stderr).contains("on purpose"));
}

#[test]
fn one_worker_sleeps_on_purpose() {
    let mut child = Command::new("sh")
        .arg(script("slow"))
        .process_group(0)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh starts");
    let mut said = [0; 8];
    let mut stderr = child.stderr.take().expect("piped");
    std::io::Read::read_exact(&mut stderr, &mut said).expect("it says what it does");
    assert_eq!(&said, b"slow.sh:");
    assert!(child.try_wait().expect("asked").is_none());
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-9", "--", &group]).status();
    assert!(killed.expect("kill is POSIX").success());
    child.wait().expect("it ended");
}

#[test]
fn the_judge_drops_doubles_ranks_and_cuts() {
    let quoted = "top 4\n\
        [a quotation begins]\n\
        > high\ta.rs\t1\tlong function: f has 100 lines\n\
        > high\ta.rs\t9\tlong function: g has 300 lines\n\
        > high\tb.rs\t5\tlong function: h has 200 lines\n\
        high\tc.txt\t2\tconflict: merge markers up to line 6\n\
        high\tc.txt\t2\tconflict: merge markers up to line 6\n\
        low\ta.rs\t3\tnote: TODO x\n\
        high but not a finding\n\
        sum\tsize\t10\t3\t3\t0\n\
        | sum\tsize\t5\t1\t1\t2\n";
    let output = text(&run("judge", quoted.as_bytes()));
    assert_eq!(
        output,
        "high\ta.rs\t9\tlong function: g has 300 lines\n\
         high\tc.txt\t2\tconflict: merge markers up to line 6\n\
         high\tb.rs\t5\tlong function: h has 200 lines\n\
         high\ta.rs\t1\tlong function: f has 100 lines\n\
         sum\tsize\t15\t4\t2\n"
    );
    assert_eq!(text(&run("judge", b"")), "");
}

/// awk is not one program; whichever are here must agree to the byte.
#[test]
fn every_awk_gives_the_same_answer() {
    let dir = planted();
    write(&dir, "odd\nname\x01.rs", "// HACK odd\n");
    let (_, list) = batch_of(dir.path());
    let path = std::env::var_os("PATH").expect("a PATH");
    for name in INSPECTORS {
        let expected = text(&run(name, list.as_bytes()));
        for awk in ["gawk", "mawk", "original-awk", "busybox"] {
            let Some(program) =
                std::env::split_paths(&path).map(|folder| folder.join(awk)).find(|program| program.is_file())
            else {
                continue;
            };
            let bin = tempfile::tempdir().expect("a place");
            symlink(program, bin.path().join("awk")).expect("made");
            let mut first = bin.path().as_os_str().to_owned();
            first.push(":");
            first.push(&path);
            let output = run_with(Command::new("sh").arg(script(name)).env("PATH", first), list.as_bytes());
            assert_eq!(text(&output), expected, "{awk} disagrees on {name}");
        }
    }
}
