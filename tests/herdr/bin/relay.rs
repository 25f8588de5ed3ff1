//! A door in between: listens on one port of loopback and passes every connection on to another; with USR1 it breaks all of
//! them off. For tests of what loses its connections, and for programs whose work a test does itself.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use clap::Parser;
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;

/// Passes connections on from one port of loopback to another.
#[derive(Parser)]
struct Options {
    /// Where it listens.
    from: u16,
    /// Whom it passes them on to.
    to: u16,
}

type Open = Arc<Mutex<Vec<TcpStream>>>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    let open = Open::default();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.from))?;
    let mut signals = Signals::new([SIGUSR1])?;
    let broken = open.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            for stream in broken.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
        }
    });
    for stream in listener.incoming() {
        let Ok(near) = stream else { continue };
        // Nobody is there yet: whoever asks finds out.
        let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, options.to)) else { continue };
        let mut kept = open.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend([near.try_clone()?, far.try_clone()?]);
        drop(kept);
        let (back_near, back_far) = (near.try_clone()?, far.try_clone()?);
        thread::spawn(move || pass(near, far));
        thread::spawn(move || pass(back_far, back_near));
    }
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(read) = from.read(&mut bytes) {
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
}
