//! A herdr server of its own for a test, as a process in a private home:
//! the simulator, or the real one.

use std::io::{BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use fleetd::engine::panes::{PaneHost, PaneSeen};
use fleetd::pane::herdr::{Herdr, Options};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::panes::contract::{Rig, until};
use crate::support::PATIENCE;

/// Which server it is.
pub trait Which {
    /// Returns its program, where it is on this machine.
    fn program() -> Option<PathBuf>;
}

/// `herdr-sim`, which is built with the tests.
pub struct Sim;

impl Which for Sim {
    fn program() -> Option<PathBuf> {
        let program = Path::new(env!("CARGO_BIN_EXE_fleetd")).with_file_name("herdr-sim");
        assert!(program.exists(), "{} is not built: run `cargo nextest run` without `-p`", program.display());
        Some(program)
    }
}

/// The real one, by `HERDR_BIN`.
pub struct Real;

impl Which for Real {
    fn program() -> Option<PathBuf> {
        std::env::var_os("HERDR_BIN").map(PathBuf::from)
    }
}

/// A server and a client of it.
pub struct HerdrRig<W> {
    home: TempDir,
    program: PathBuf,
    variables: Vec<(String, String)>,
    server: Option<Child>,
    host: Herdr,
    task: JoinHandle<()>,
    which: PhantomData<W>,
}

impl<W: Which> Rig for HerdrRig<W> {
    const ADDS: &'static [&'static str] = &[];

    async fn start() -> Option<Self> {
        let rig = Self::with(&[], |_| {}).await?;
        Some(rig)
    }

    fn host(&self) -> Arc<dyn PaneHost> {
        Arc::new(self.host.clone())
    }

    async fn renew(&mut self) {
        self.task.abort();
        let (host, task) = Herdr::new(Options::new(self.socket()));
        (self.host, self.task) = (host, tokio::spawn(task));
    }

    async fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    async fn restart(&mut self) {
        self.launch().await;
    }
}

impl<W: Which> HerdrRig<W> {
    /// As `start`, with variables for the server and other options for the client.
    pub async fn with(variables: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Option<Self> {
        let mut rig = Self::without_server(variables, change)?;
        rig.launch().await;
        Some(rig)
    }

    /// A client of a server that does not run.
    pub fn without_server(variables: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Option<Self> {
        let program = W::program()?;
        let home = TempDir::new().unwrap();
        let config = home.path().join(".config/herdr");
        std::fs::create_dir_all(&config).unwrap();
        let quiet = "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n";
        std::fs::write(config.join("config.toml"), quiet).unwrap();
        let mut options = Options::new(config.join("herdr.sock"));
        change(&mut options);
        let (host, task) = Herdr::new(options);
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let task = tokio::spawn(task);
        Some(Self { home, program, variables, server: None, host, task, which: PhantomData })
    }

    /// Returns the client as what it is.
    pub fn client(&self) -> &Herdr {
        &self.host
    }

    pub fn socket(&self) -> PathBuf {
        self.home.path().join(".config/herdr/herdr.sock")
    }

    /// Starts the server and waits until it listens. What is in its environment must not reach a worker.
    pub async fn launch(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("server").env_clear().env("HOME", self.home.path()).env("SHELL", "/bin/sh");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("OF_THE_SERVER", "a secret of somebody else");
        command.envs(self.variables.iter().cloned()).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(command.spawn().unwrap());
        let socket = self.socket();
        until("the server listens", async || UnixStream::connect(&socket).ok()).await;
    }

    /// Asks the server, as any other client of it can.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        writeln!(stream, "{}", json!({"id": "t", "method": method, "params": params})).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Returns where the simulator saves what outlives it.
    pub fn session_file(&self) -> PathBuf {
        self.home.path().join(".config/herdr/session.json")
    }

    /// Returns how many requests the simulator gets in a time, that of the question included.
    pub async fn requests_in(&self, time: Duration) -> u64 {
        let count = || self.ask("sim.count", json!({}))["requests"].as_u64().unwrap();
        let before = count();
        tokio::time::sleep(time).await;
        count() - before
    }

    /// Orders a fault of the simulator.
    pub fn fault(&self, what: Value) {
        self.ask("sim.fault", what);
    }

    /// Returns the labels of the fleet's tabs, in their order.
    pub fn labels(&self) -> Vec<String> {
        let tabs = self.ask("tab.list", json!({}))["tabs"].clone();
        tabs.as_array().unwrap().iter().map(|tab| tab["label"].as_str().unwrap().to_owned()).collect()
    }
}

impl<W> Drop for HerdrRig<W> {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(mut server) = self.server.take() {
            let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).unwrap();
            // In good order, so that it ends its shells.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = server.wait();
        }
    }
}

/// Waits for a sighting.
pub async fn sees(seen: &mut broadcast::Receiver<PaneSeen>, what: &str, fits: impl Fn(&PaneSeen) -> bool) -> PaneSeen {
    let waits = async {
        loop {
            match seen.recv().await {
                Ok(sighting) if fits(&sighting) => return sighting,
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(error) => panic!("{what}: {error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, waits).await.unwrap_or_else(|_| panic!("not seen: {what}"))
}

/// As long as something must not happen.
pub const A_WHILE: Duration = Duration::from_millis(400);
