//! The command line, one file a subcommand. What a command does lives below; here it is parsed, asked for and shown.
//! Commands that need a daemon reach it by its HTTP API alone; only `serve` builds one in this process. Those that show
//! a pane ask the pane server.

mod ack;
mod ask;
mod attach;
mod cancel;
mod charter;
mod client;
pub mod demo;
mod doctor;
pub mod exit;
mod find;
mod hook;
mod id;
mod init;
mod interrupt;
mod look;
mod panes;
mod pause;
mod poll;
mod reply;
mod rules;
mod run;
mod screen;
mod seat;
mod send;
mod serve;
mod status;
mod terminal;
mod text;
mod token;
mod trace;
mod wait;
mod window;
mod wire;
mod worker;
mod worktrees;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use self::exit::{EXIT_CODES, Exit, Failure};
use self::look::Look;
use self::terminal::Terminal;

const DEMO_EXAMPLES: &str = "\
Examples:
  fleetd demo
  fleetd demo src --top 5
  fleetd demo --json > report.json";

/// One leading agent, a team of worker agents, and the policy between them in Lua.
#[derive(Parser, Debug)]
#[command(name = "fleetd", version, about, after_help = EXIT_CODES, max_term_width = 100, subcommand_required = true)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print what was asked for as JSON, exactly as the daemon's API gives it
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// Where the daemon is, such as http://127.0.0.1:7717; else it is found by its state directory
    #[arg(long, global = true, value_name = "URL", help_heading = "Everywhere")]
    url: Option<String>,
    /// The daemon's state directory [default: $XDG_STATE_HOME/fleetd]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    state: Option<PathBuf>,
    /// A file with the token, for a daemon that wants one [default: the variable FLEETD_TOKEN]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    token_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the daemon, in the foreground
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::ServeArgs),
    /// Inspect a directory with a fleet of its own, and print what it found; needs no model and no network
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(demo::Demo),
    /// Write a first configuration and charter into a project, and what a session needs to lead there
    #[command(after_help = init::EXAMPLES)]
    Init(init::InitArgs),
    /// Look whether all is there that a fleet needs here, each finding with its fix; changes nothing, shows no key
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Show what runs, what waits and what is degraded
    Status,
    /// List roles and workers
    List,
    /// Send a message to a worker, a role or the rubrics, and print the reply
    #[command(after_help = send::EXAMPLES)]
    Send(send::SendArgs),
    /// Show what waits for you: replies, questions, ended runs
    #[command(after_help = poll::EXAMPLES)]
    Poll(poll::PollArgs),
    /// Collect messages, so that they do not wait any more
    #[command(after_help = ack::EXAMPLES)]
    Ack(ack::AckArgs),
    /// Answer a question of a worker or a run
    #[command(after_help = reply::EXAMPLES)]
    Reply(reply::ReplyArgs),
    /// Inside a worker: ask whoever sent the turn, and wait for the answer
    #[command(after_help = ask::EXAMPLES)]
    Ask(ask::AskArgs),
    /// Inside a worker: what a hook of its agent runs; the report comes on standard input
    Hook,
    /// Withdraw or interrupt a turn, or end a run
    #[command(after_help = cancel::EXAMPLES)]
    Cancel(cancel::CancelArgs),
    /// Start, list, show and cancel runs of recipes
    #[command(after_help = run::EXAMPLES, arg_required_else_help = true)]
    Run {
        #[command(subcommand)]
        command: run::RunCommand,
    },
    /// List the recipes of the charter in force
    Recipes,
    /// Show what happened to a turn, and when
    #[command(after_help = trace::EXAMPLES)]
    Trace(trace::TraceArgs),
    /// Start a worker
    #[command(after_help = worker::SPAWN_EXAMPLES)]
    Spawn(worker::SpawnArgs),
    /// Stop a worker
    #[command(after_help = worker::STOP_EXAMPLES)]
    Stop(worker::StopArgs),
    /// Show the worktrees of workers, why one is kept, or remove one
    #[command(after_help = worktrees::EXAMPLES)]
    Worktrees {
        #[command(subcommand)]
        command: Option<worktrees::WorktreesCommand>,
    },
    /// Watch a worker's pane in this terminal, and type into it
    #[command(after_help = attach::EXAMPLES)]
    Attach(attach::AttachArgs),
    /// Print what a worker's pane shows
    #[command(after_help = screen::EXAMPLES)]
    Screen(screen::ScreenArgs),
    /// Check, test and reload the charter; ask where a task would go
    #[command(after_help = charter::EXAMPLES, arg_required_else_help = true)]
    Charter {
        #[command(subcommand)]
        command: charter::CharterCommand,
    },
    /// Show who is the leader, or free the leader's seat
    #[command(after_help = seat::EXAMPLES, arg_required_else_help = true)]
    Seat {
        #[command(subcommand)]
        command: seat::SeatCommand,
    },
    /// Hand nothing to any worker from now on; what runs goes on
    #[command(after_help = pause::PAUSE_HELP)]
    Pause,
    /// Hand out again what waits, also for roles that the charter has parked
    Resume,
    /// Run the pane server of a state directory; the daemon starts one by itself
    #[command(hide = true)]
    Panes(panes::PanesArgs),
    /// Print who may do what, through which door
    Rules,
    /// Print the version of this program, and of the daemon that runs
    Version,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Parses the words of a command line (`pane-exec` never comes here: it is no command for people), carries it out and returns how it ended.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    let words = wait::join(words.into_iter().collect());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            // Fails only when nobody reads it any more.
            let _ = error.print();
            if let Some(recipe) = run::meant_recipe(&error, &words) {
                let _ = writeln!(std::io::stderr(), "\nhint: start a recipe: fleetd run start {}", look::safe(&recipe));
            }
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok };
        }
    };
    let terminal = Terminal {
        url: cli.url,
        state: cli.state,
        token_file: cli.token_file,
        json: cli.json,
        out: Look::of_stdout(),
        err: Look::of_stderr(),
    };
    carry_out(&terminal, cli.command).unwrap_or_else(|failure| tell(&terminal, &failure))
}

/// Returns the whole command line, for its completions and for the tests of its help.
pub fn command() -> clap::Command {
    Cli::command()
}

fn carry_out(terminal: &Terminal, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::run(terminal, args),
        Command::Demo(demo) => demo.run(terminal.json),
        Command::Init(args) => init::run(terminal, args),
        Command::Doctor(args) => doctor::run(terminal, &args),
        Command::Status => status::run(terminal),
        Command::List => status::list(terminal),
        Command::Send(args) => send::run(terminal, args),
        Command::Poll(args) => poll::run(terminal, args),
        Command::Ack(args) => ack::run(terminal, args),
        Command::Reply(args) => reply::run(terminal, args),
        Command::Ask(args) => ask::run(terminal, args),
        Command::Hook => hook::run(terminal),
        Command::Cancel(args) => cancel::run(terminal, args),
        Command::Run { command } => run::run(terminal, command),
        Command::Recipes => run::recipes(terminal),
        Command::Pause => pause::pause(terminal),
        Command::Resume => pause::resume(terminal),
        Command::Trace(args) => trace::run(terminal, args),
        Command::Spawn(args) => worker::spawn(terminal, args),
        Command::Stop(args) => worker::stop(terminal, args),
        Command::Worktrees { command } => worktrees::run(terminal, command),
        Command::Attach(args) => attach::run(terminal, args),
        Command::Screen(args) => screen::run(terminal, args),
        Command::Charter { command } => charter::run(terminal, command),
        Command::Seat { command } => seat::run(terminal, command),
        Command::Panes(args) => panes::run(terminal, args),
        Command::Rules => rules::run(terminal),
        Command::Version => status::version(terminal),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "fleetd", &mut script);
            terminal.print(&String::from_utf8_lossy(&script))?;
            Ok(Exit::Ok)
        }
    }
}

/// Tells a failure to the person, and to the program if it reads JSON.
fn tell(terminal: &Terminal, failure: &Failure) -> Exit {
    if let (true, Failure::Refused { json, .. }) = (terminal.json, failure) {
        // The reader may be gone already; the exit code tells the rest.
        let _ = terminal.print(json);
    }
    if !matches!(failure, Failure::Closed) {
        terminal.talk(&look::failure::draw(failure, &terminal.err));
    }
    failure.exit()
}
