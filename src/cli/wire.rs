//! The TCP connection below the HTTP client, with one difference to the client's own: a wait for the answer ends at
//! once when Ctrl-C is pressed. `poll` is the one wait that a signal always ends, so no thread is needed for it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, time::Duration as Limit,
};

use super::interrupt;

const CONNECT: Duration = Duration::from_secs(5);

/// Opens connections whose waits Ctrl-C ends.
#[derive(Debug)]
pub struct Dial;

impl Connector for Dial {
    type Out = Wire;

    fn connect(&self, details: &ConnectionDetails, _chained: Option<()>) -> Result<Option<Wire>, Error> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in details.addrs.iter() {
            match TcpStream::connect_timeout(address, CONNECT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let config = details.config;
                    let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
                    return Ok(Some(Wire { stream, buffers }));
                }
                Err(error) => last = error,
            }
        }
        Err(Error::Io(last))
    }
}

/// One connection.
pub struct Wire {
    stream: TcpStream,
    buffers: LazyBuffers,
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _timeout: NextTimeout) -> Result<(), Error> {
        Ok(self.stream.write_all(&self.buffers.output()[..amount])?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let end = match timeout.after {
            Limit::Exact(left) => Some(Instant::now() + left),
            Limit::NotHappening => None,
        };
        if !self.readable(end)? {
            return Err(Error::Timeout(timeout.reason));
        }
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // An idle connection on which something can be read was closed by the other side.
        matches!(self.readable(Some(Instant::now())), Ok(false))
    }
}

impl Wire {
    /// Waits until something can be read; false when the time is over.
    fn readable(&self, end: Option<Instant>) -> io::Result<bool> {
        loop {
            if interrupt::pressed() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let limit = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], limit.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("peer", &self.stream.peer_addr().ok()).finish()
    }
}
