//! Real connections held by real processes: each child gets the client's end as its standard input and keeps it
//! until our end is closed.

use std::collections::HashMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use super::super::{Doubt, Ends, Holder, Owner, classify};
use super::{owners, procfs::Tree, socket_table::SocketTable};
use crate::fleet::caller::Caller;
use crate::fleet::ids::WorkerName;
use crate::fleet::worker::Process;

/// An accepted connection; children see the end of their input, and end, when it is dropped.
struct Accepted {
    ends: Ends,
    _ours: TcpStream,
}

fn connect(listen: &str, through: &str) -> (Accepted, TcpStream) {
    let listener = TcpListener::bind(listen).unwrap();
    let port = listener.local_addr().unwrap().port();
    let theirs = TcpStream::connect((through, port)).unwrap();
    let (ours, peer) = listener.accept().unwrap();
    (Accepted { ends: Ends::new(ours.local_addr().unwrap(), peer), _ours: ours }, theirs)
}

fn loopback() -> (Accepted, TcpStream) {
    connect("127.0.0.1:0", "127.0.0.1")
}

fn hold(command: &mut Command, stream: TcpStream) -> Child {
    command.stdin(Stdio::from(OwnedFd::from(stream))).stdout(Stdio::null()).spawn().unwrap()
}

/// Like `hold`, but returns once the child has said that it is where it should be.
fn hold_until_ready(command: &mut Command, stream: TcpStream) -> Child {
    let mut child = command.stdin(Stdio::from(OwnedFd::from(stream))).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ready\n");
    child
}

fn owner(accepted: &Accepted) -> Option<Owner> {
    owners(&[accepted.ends]).remove(0)
}

fn our_pid() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

fn me() -> Process {
    Tree::new().holder(our_pid()).unwrap().process
}

/// This process as a worker's pane-exec, which takes orphans in as the real one does.
fn pretend_root() -> HashMap<Process, WorkerName> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    HashMap::from([(me(), "w".into())])
}

fn standing(accepted: &Accepted, roots: &HashMap<Process, WorkerName>) -> Caller {
    classify(owner(accepted).as_ref(), super::our_uid(), |p| roots.get(p), None, false)
}

fn held_by(owner: &Owner, pid: i32) -> Option<&Holder> {
    owner.holders.iter().find(|h| h.process.pid == pid)
}

const SAY: &str = "echo ready; exec cat >/dev/null";
fn worker() -> Caller {
    Caller::Worker { name: "w".into(), via_child: false }
}

#[test]
fn a_plain_child_is_found_with_us_above_it() {
    let (accepted, stream) = loopback();
    let mut child = hold(&mut Command::new("cat"), stream);
    let found = owner(&accepted).unwrap();
    assert_eq!(found.uid, super::our_uid());
    let holder = held_by(&found, pid(&child)).unwrap();
    assert!(holder.whole && !holder.marked);
    assert_eq!(holder.ancestors[0], me());
    assert_eq!(standing(&accepted, &HashMap::new()), Caller::Operator);
    assert_eq!(standing(&accepted, &pretend_root()), worker());
    drop(accepted);
    child.wait().unwrap();
}

#[test]
fn a_new_session_does_not_leave_the_tree() {
    let roots = pretend_root();
    let (accepted, stream) = loopback();
    let mut child = hold_until_ready(Command::new("setsid").args(["--fork", "--wait", "sh", "-c", SAY]), stream);
    // The waiting setsid holds the connection too; the one in the new session is its child.
    let found = owner(&accepted).unwrap();
    assert!(found.holders.iter().any(|h| { h.ancestors.contains(&held_by(&found, pid(&child)).unwrap().process) }));
    assert_eq!(standing(&accepted, &roots), worker());
    drop(accepted);
    child.wait().unwrap();
}

#[test]
fn a_double_fork_does_not_leave_the_tree() {
    let roots = pretend_root();
    let (accepted, stream) = loopback();
    let script = "exec 3<&0; (setsid cat <&3 3<&- >/dev/null 2>&1 &)";
    let mut middle = hold(Command::new("sh").args(["-c", script]), stream);
    middle.wait().unwrap();
    assert_eq!(standing(&accepted, &roots), worker(), "the orphan is taken in by the root");
}

#[test]
fn an_emptied_environment_changes_nothing_under_a_root() {
    let roots = pretend_root();
    let (accepted, stream) = loopback();
    let mut child = hold(Command::new("env").args(["-i", "cat"]), stream);
    assert_eq!(standing(&accepted, &roots), worker());
    drop(accepted);
    child.wait().unwrap();
}

#[test]
fn a_mark_without_a_known_root_takes_the_rights_away() {
    let (accepted, stream) = loopback();
    let mut child = hold(Command::new("sh").args(["-c", "cat; exit"]).env("FLEET_WORKER", "w-gone-1"), stream);
    assert_eq!(standing(&accepted, &HashMap::new()), Caller::from(Doubt::Stray));
    drop(accepted);
    child.wait().unwrap();

    // Emptying its own environment does not help a child whose parent still carries the mark.
    let (accepted, stream) = loopback();
    let inner = "env -i sh -c 'echo ready; exec cat >/dev/null'; exit";
    let mut child = hold_until_ready(Command::new("sh").args(["-c", inner]).env("FLEET_WORKER", "w-gone-1"), stream);
    assert!(owner(&accepted).unwrap().holders.iter().all(|h| h.marked));
    assert_eq!(standing(&accepted, &HashMap::new()), Caller::from(Doubt::Stray));
    drop(accepted);
    child.wait().unwrap();
}

#[test]
fn all_holders_are_returned_and_one_worker_among_them_decides() {
    let (accepted, stream) = loopback();
    let mut first = hold(&mut Command::new("cat"), stream.try_clone().unwrap());
    let mut second = hold(&mut Command::new("cat"), stream.try_clone().unwrap());
    let found = owner(&accepted).unwrap();
    for pid in [pid(&first), pid(&second)] {
        assert!(held_by(&found, pid).is_some(), "{pid} is missing in {found:?}");
    }
    assert!(found.holders.is_sorted_by_key(|h| h.process.pid));
    let only = held_by(&found, pid(&second)).unwrap().process;
    let roots = HashMap::from([(only, "w".into())]);
    assert_eq!(standing(&accepted, &roots), worker());
    drop((accepted, stream));
    first.wait().unwrap();
    second.wait().unwrap();
}

#[test]
fn a_closed_connection_has_no_owner() {
    let (accepted, stream) = loopback();
    drop(stream);
    assert_eq!(owner(&accepted), None);
    assert_eq!(SocketTable::read().find(&accepted.ends), None);
}

#[test]
fn a_listener_on_the_peers_port_is_not_the_peer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ends = Ends::new("127.0.0.1:9".parse().unwrap(), listener.local_addr().unwrap());
    assert_eq!(owners(&[ends]), [None]);
}

#[test]
fn every_family_is_looked_up_and_both_tables_agree() {
    for (listen, through) in [
        ("127.0.0.1:0", "127.0.0.1"),
        ("127.0.0.1:0", "::ffff:127.0.0.1"),
        ("[::]:0", "127.0.0.1"),
        ("[::]:0", "::ffff:127.0.0.1"),
        ("[::1]:0", "::1"),
    ] {
        let (accepted, _stream) = connect(listen, through);
        assert!(accepted.ends.loopback(), "{listen} {through}");
        let found = owner(&accepted).unwrap_or_else(|| panic!("{listen} {through} has no owner"));
        assert!(held_by(&found, our_pid()).is_some());
        let by_query = super::sock_diag::SockDiag::open().unwrap().find(&accepted.ends).unwrap();
        assert_eq!(by_query, SocketTable::read().find(&accepted.ends), "{listen} {through}");
    }
}

#[test]
fn a_batch_keeps_its_order() {
    let (gone, stream) = loopback();
    drop(stream);
    let (here, _stream) = loopback();
    let found = owners(&[gone.ends, here.ends, gone.ends]);
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_pane_exec_that_is_not_known_yet_gives_its_children_no_rights() {
    // A shell that is called as pane-exec is: its second word is the subcommand.
    let script = "env -i sh -c 'echo ready; exec cat >/dev/null'; exit";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pane-exec"), script).unwrap();
    let (accepted, stream) = loopback();
    let mut child = hold_until_ready(Command::new("sh").arg("pane-exec").current_dir(dir.path()), stream);
    assert_eq!(standing(&accepted, &HashMap::new()), Caller::from(Doubt::Stray));
    drop(accepted);
    child.wait().unwrap();
}
