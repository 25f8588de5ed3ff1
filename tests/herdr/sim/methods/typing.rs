//! What is typed into panes: as it is, as a paste, as keys.
//! `ok` says that it is queued, nothing more.

use super::super::Server;
use super::super::house::House;
use super::super::keys;
use super::super::options::Version;
use super::super::params::{Failed, Params, failed};
use super::super::terminal::Terminal;
use super::{Answer, ok, panes};

pub fn send_text(server: &Server, p: Params<'_>) -> Answer {
    let text = p.text("text")?;
    let house = server.house();
    terminal(&house, p)?.write(text.as_bytes());
    ok()
}

/// Text in brackets where the program wants them, and the keys in the same write.
pub fn send_input(server: &Server, p: Params<'_>) -> Answer {
    let house = server.house();
    let terminal = terminal(&house, p)?;
    let text = p.maybe_text("text")?.unwrap_or_default();
    let pressed = encode(server, terminal, &p.texts("keys")?.unwrap_or_default())?;
    let mut bytes = Vec::new();
    if !text.is_empty() && terminal.wants_brackets() {
        bytes.extend_from_slice(b"\x1b[200~");
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(b"\x1b[201~");
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend(pressed);
    terminal.write(&bytes);
    ok()
}

pub fn send_keys(server: &Server, p: Params<'_>) -> Answer {
    let keys = p.texts("keys")?.ok_or_else(|| Failed::Invalid("missing field `keys`".to_owned()))?;
    let house = server.house();
    let terminal = terminal(&house, p)?;
    terminal.write(&encode(server, terminal, &keys)?);
    ok()
}

fn terminal<'a>(house: &'a House, p: Params<'_>) -> Result<&'a Terminal, Failed> {
    let (id, _) = panes::place(house, p.text("pane_id")?)?;
    Ok(&house.panes[&id].terminal)
}

/// One key that is not known, and nothing is sent.
fn encode(server: &Server, terminal: &Terminal, names: &[String]) -> Result<Vec<u8>, Failed> {
    let shift_tab = if server.options.version == Version::V082 { "\x1b[Z" } else { "\t" };
    let mut bytes = Vec::new();
    for name in names {
        match keys::bytes(name, terminal.application_cursor(), shift_tab) {
            Some(found) => bytes.extend(found),
            None => return failed("invalid_key", format!("unsupported key {name}")),
        }
    }
    Ok(bytes)
}
