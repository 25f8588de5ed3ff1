//! What the pane server and its clients say to each other: JSON lines over a Unix socket.
//!
//! The server speaks first and says which protocol it has. Then a client asks, each line with an id of its own, and
//! the server answers with that id; what it tells unasked (`seen`, `frame`) comes in between. A server outlives the
//! daemon that started it, so a newer client must speak with an older server: fields are only ever added.

mod bytes;
mod lines;
mod place;

use serde::{Deserialize, Serialize};

use crate::engine::panes::Pane;
use crate::fleet::worker::Process;

pub use self::bytes::Bytes;
pub use self::lines::{Lines, TooLong};
pub use self::place::{Dial, LOCK, LOG, Place, SOCKET, is_of_our_user};

/// The protocol of this program.
pub const PROTOCOL: u32 = 1;
/// The oldest protocol of a server with which this program can speak.
pub const OLDEST: u32 = 1;
/// The longest line, either way. A line that is longer ends the connection.
pub const MAX_LINE: usize = 8 << 20;
/// The longest text of one paste, after it was cleaned. Lines are twice as long in the worst case, and then some.
pub const MAX_TEXT: usize = 2 << 20;

/// One line from a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Which answer belongs to it.
    pub id: u64,
    /// What it is about.
    pub ask: Ask,
}

/// What a client can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Start a program in a new pane: `Done::Started`.
    Start(Start),
    /// Type a text as one paste.
    Paste {
        /// Into which pane.
        pane: Pane,
        /// The text; it is cleaned once more.
        text: String,
    },
    /// Press keys.
    Press {
        /// In which pane.
        pane: Pane,
        /// Their names.
        keys: Vec<String>,
    },
    /// Show a screen: `Done::Screen`.
    Screen {
        /// Of which pane.
        pane: Pane,
        /// Whether its rows are wanted with colours as well.
        #[serde(default)]
        colours: bool,
        /// How many of the newest rows above it are wanted.
        #[serde(default)]
        history: usize,
    },
    /// Remove a pane and end what runs in it.
    Close {
        /// Which.
        pane: Pane,
    },
    /// List the panes, dead ones included: `Done::Panes`.
    Panes,
    /// Tell what is seen from now on, on this connection.
    Subscribe,
    /// Send frames of a pane from now on, on this connection, until it ends.
    Watch {
        /// Of which pane.
        pane: Pane,
        /// The size of the watcher's view.
        size: Size,
        /// Whether the watcher only looks; then it has no say in the size either.
        read_only: bool,
    },
    /// The watcher's view has another size.
    Resize(Size),
    /// The watcher typed these bytes.
    Type(Bytes),
}

/// A size in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Its height.
    pub rows: u16,
    /// Its width.
    pub columns: u16,
}

/// What is started, where and as what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The worker's role.
    pub role: String,
    /// The worker.
    pub worker: String,
    /// The program and its arguments.
    pub argv: Vec<Bytes>,
    /// Its whole environment.
    pub env: Vec<(Bytes, Bytes)>,
    /// Its directory.
    pub cwd: Bytes,
}

/// One line from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line of a connection.
    Hello(Hello),
    /// The answer to a request.
    Answer {
        /// To which.
        id: u64,
        /// What came of it.
        came: Came,
    },
    /// Something was seen.
    Seen(Seen),
    /// What a watcher's terminal must be sent to show the pane as it is now.
    Frame(String),
    /// The pane that is watched is dead; no frame comes any more.
    Ended(Death),
}

/// Who a server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its protocol.
    pub protocol: u32,
    /// The version of its program.
    pub version: String,
    /// Its process.
    pub process: Process,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// It was done.
    Done(Done),
    /// It was not done; nothing of it was.
    Not {
        /// How so.
        how: No,
        /// Why.
        why: String,
    },
}

/// What is told of something that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    /// Nothing more.
    Well,
    /// The new pane.
    Started(Pane),
    /// The panes, in the order of their slots.
    Panes(Vec<Shown>),
    /// The screen.
    Screen(Box<View>),
}

/// How something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum No {
    /// The pane is gone, or its process is another one.
    Gone,
    /// It cannot be done as asked.
    Refused,
    /// It cannot be done now.
    Unavailable,
}

/// A pane as the server knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The pane.
    pub pane: Pane,
    /// The worker's role.
    pub role: String,
    /// The worker.
    pub worker: String,
    /// Its size now.
    pub size: Size,
    /// How many watch it.
    #[serde(default)]
    pub watchers: usize,
    /// How it died, if it did.
    #[serde(default)]
    pub died: Option<Death>,
}

/// How the root of a pane ended; neither a code nor a signal where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// Its exit code.
    #[serde(default)]
    pub code: Option<i32>,
    /// The signal that killed it.
    #[serde(default)]
    pub signal: Option<i32>,
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit {code}"),
            (None, Some(signal)) => write!(f, "killed by signal {signal}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

/// What a pane shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its rows, without trailing blanks.
    pub lines: Vec<String>,
    /// The same with colours, if they were wanted.
    #[serde(default)]
    pub coloured: Vec<String>,
    /// Rows that have left the screen at its top, oldest first, if they were wanted.
    #[serde(default)]
    pub history: Vec<String>,
    /// Its width.
    pub columns: u16,
    /// Row and column of the cursor, from 0; none where it is hidden.
    #[serde(default)]
    pub cursor: Option<(u16, u16)>,
    /// How its root died, if it did.
    #[serde(default)]
    pub died: Option<Death>,
}

/// What a server saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Something was printed in this pane.
    Changed(String),
    /// The root of this pane is dead, or it was closed.
    Gone(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_older_servers_and_newer_clients_expect() {
        let root = Process { pid: 7, start: 9 };
        let pane = Pane { id: "1-1".into(), root };
        let ask = Request { id: 3, ask: Ask::Paste { pane: pane.clone(), text: "a\nb".into() } };
        let text = r#"{"id":3,"ask":{"paste":{"pane":{"id":"1-1","root":{"pid":7,"start":9}},"text":"a\nb"}}}"#;
        assert_eq!(serde_json::to_string(&ask).expect("plain"), text);
        assert_eq!(serde_json::from_str::<Request>(text).expect("the same"), ask);

        let text = r#"{"answer":{"id":3,"came":{"not":{"how":"gone","why":"it ended","later":1}}}}"#;
        let line = Line::Answer { id: 3, came: Came::Not { how: No::Gone, why: "it ended".into() } };
        assert_eq!(serde_json::from_str::<Line>(text).expect("unknown fields are passed over"), line);

        let text = r#"{"answer":{"id":1,"came":{"done":{"screen":{"lines":["x"],"columns":80}}}}}"#;
        assert!(serde_json::from_str::<Line>(text).is_ok(), "fields may be missing");
        let text = r#"{"id":1,"ask":"panes"}"#;
        assert_eq!(serde_json::to_string(&Request { id: 1, ask: Ask::Panes }).expect("plain"), text);
    }
}
