//! The smallest HTTP client that serves: one request at a time on one kept connection, so that the client costs little.
//! It understands what fleetd answers and no more, and panics at the first surprise.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// One kept connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    /// The session that the last answer named.
    pub session: Option<String>,
}

impl Connection {
    /// Connects to `http://host:port`.
    pub fn open(url: &str) -> Connection {
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_string();
        let stream = TcpStream::connect(&host).expect("the daemon listens");
        stream.set_nodelay(true).expect("a socket option");
        Connection { stream: BufReader::new(stream), host, session: None }
    }

    /// Posts JSON and returns status and body.
    pub fn post(&mut self, path: &str, body: &str) -> (u16, String) {
        self.send_post(path, body);
        self.receive()
    }

    /// Gets a path.
    pub fn get(&mut self, path: &str) -> (u16, String) {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
        self.stream.get_mut().write_all(head.as_bytes()).expect("the daemon reads");
        self.receive()
    }

    /// Posts JSON without waiting for the answer.
    pub fn send_post(&mut self, path: &str, body: &str) {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("the daemon reads");
    }

    /// Posts a message of MCP without waiting for the answer.
    pub fn send_mcp(&mut self, session: Option<&str>, body: &str) {
        let named = session.map(|id| format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n"));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{}content-length: {}\r\n\r\n{body}",
            self.host,
            named.unwrap_or_default(),
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("the daemon reads");
    }

    /// Reads one answer.
    pub fn receive(&mut self) -> (u16, String) {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("an answer");
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status line");
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("headers");
            let header = line.trim().to_ascii_lowercase();
            chunked |= header == "transfer-encoding: chunked";
            if let Some(value) = header.strip_prefix("mcp-session-id:") {
                self.session = Some(value.trim().into());
            }
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        while chunked {
            line.clear();
            self.stream.read_line(&mut line).expect("a chunk's length");
            let size = usize::from_str_radix(line.trim(), 16).expect("a length");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).expect("a chunk");
            body.extend(&chunk[..size]);
            chunked = size > 0;
        }
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}
