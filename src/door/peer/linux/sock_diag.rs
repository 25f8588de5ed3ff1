//! The exact `sock_diag` query: two addresses in, the user and inode of the peer's own socket out.
//! Nothing about processes.

use std::io;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_LISTEN};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::SocketAddr as NetlinkAddr;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::super::Ends;
use super::Socket;

/// An open netlink socket for a batch of queries.
pub(super) struct SockDiag {
    socket: netlink_sys::Socket,
    sequence: u32,
}

impl SockDiag {
    /// Opens the netlink socket; fails where the kernel has no `sock_diag`.
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = netlink_sys::Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&NetlinkAddr::new(0, 0))?;
        // The kernel answers within the send; a socket that has no answer then must not hold up the thread.
        socket.set_non_blocking(true)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Returns the peer's socket, or `None` if no process holds one.
    pub(super) fn find(&mut self, ends: &Ends) -> io::Result<Option<Socket>> {
        self.sequence += 1;
        let wanted = SocketId {
            source_port: ends.peer.port(),
            destination_port: ends.local.port(),
            source_address: ends.peer.ip(),
            destination_address: ends.local.ip(),
            interface_id: 0,
            cookie: [0xff; 8],
        };
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        header.sequence_number = self.sequence;
        let request = InetRequest {
            family: if ends.peer.is_ipv4() { AF_INET } else { AF_INET6 },
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all(),
            socket_id: wanted,
        };
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answer = Vec::with_capacity(4096);
        self.socket.recv(&mut answer, 0)?;
        let answer = NetlinkMessage::<SockDiagMessage>::deserialize(&answer).map_err(io::Error::other)?;
        if answer.header.sequence_number != self.sequence {
            return Err(io::Error::other("sock_diag answered another question"));
        }
        match answer.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found)) => {
                let (found, id) = (&found.header, &found.header.socket_id);
                // Without an exact match the kernel falls back to a listener on the peer's port: that is somebody else.
                let exact = id.source_port == ends.peer.port() && id.destination_port == ends.local.port();
                // A closed connection that lingers in the kernel has no inode and user 0: nobody holds it.
                let held = found.inode != 0 && found.state != TCP_LISTEN;
                Ok((exact && held).then_some(Socket { uid: found.uid, inode: found.inode }))
            }
            NetlinkPayload::Error(error) if error.to_io().kind() == io::ErrorKind::NotFound => Ok(None),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            other => Err(io::Error::other(format!("sock_diag gave an unexpected answer: {other:?}"))),
        }
    }
}
