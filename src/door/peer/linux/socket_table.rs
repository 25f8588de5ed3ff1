//! The fallback for kernels without `sock_diag`: `/proc/net/tcp` and `tcp6`, read once for a batch.
//! Nothing about processes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::super::Ends;
use super::Socket;

/// The kernel's table of TCP sockets at one moment.
pub(super) struct SocketTable(HashMap<Ends, Socket>);

impl SocketTable {
    /// Reads both tables; one that cannot be read counts as empty.
    pub(super) fn read() -> Self {
        let text = ["/proc/net/tcp", "/proc/net/tcp6"].map(|f| std::fs::read_to_string(f).unwrap_or_default());
        Self(text.iter().flat_map(|t| t.lines()).filter_map(row).collect())
    }

    /// Returns the peer's socket, or `None` if no process holds one.
    pub(super) fn find(&self, ends: &Ends) -> Option<Socket> {
        self.0.get(ends).copied()
    }
}

/// One line: `sl local remote st tx:rx tr:tm retr uid timeout inode …`; header lines and closed sockets give none.
fn row(line: &str) -> Option<(Ends, Socket)> {
    let field: Vec<&str> = line.split_whitespace().collect();
    let (peer, local) = (address(field.get(1)?)?, address(field.get(2)?)?);
    let (uid, inode) = (field.get(7)?.parse().ok()?, field.get(9)?.parse().ok()?);
    // The row is the peer's socket: what is local there is the peer here.
    (inode != 0).then(|| (Ends::new(local, peer), Socket { uid, inode }))
}

/// `0100007F:1E25`: words of the address in machine order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |i: usize| Some(u32::from_str_radix(ip.get(i * 8..i * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for i in 0..4 {
                bytes[i * 4..i * 4 + 4].copy_from_slice(&word(i)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}
