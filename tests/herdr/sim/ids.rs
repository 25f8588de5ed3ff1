//! Ids as the real server writes them: bijective base 32, without letters that look alike. Old spellings are resolved
//! by position, which is why nobody should send them.

const DIGITS: &[u8; 32] = b"123456789ABCDEFGHJKMNPQRSTVWXYZ0";

/// Writes a number from 1 on.
pub fn digits(mut number: u64) -> String {
    let mut found = Vec::new();
    while number > 0 {
        number -= 1;
        found.push(DIGITS[(number % 32) as usize]);
        number /= 32;
    }
    found.iter().rev().map(|digit| char::from(*digit)).collect()
}

/// Returns the id of a workspace.
pub fn workspace(number: u64) -> String {
    format!("w{}", digits(number))
}

/// Returns the id of a tab.
pub fn tab(workspace: u64, number: u64) -> String {
    format!("w{}:t{}", digits(workspace), digits(number))
}

/// Returns the id of a pane.
pub fn pane(workspace: u64, number: u64) -> String {
    format!("w{}:p{}", digits(workspace), digits(number))
}

/// Reads an old spelling of a workspace: `1`, `w_1`.
pub fn old_workspace(id: &str) -> Option<usize> {
    id.strip_prefix("w_").unwrap_or(id).parse().ok()
}

/// Reads an old spelling of a tab: `1:1`, `t_1_1`, `w1:1`; the places of its workspace and its own.
pub fn old_tab(id: &str) -> Option<(usize, usize)> {
    let rest = id.strip_prefix("t_").map(|rest| rest.split_once('_'));
    let (workspace, tab) = rest.unwrap_or_else(|| id.strip_prefix('w').unwrap_or(id).split_once(':'))?;
    Some((workspace.parse().ok()?, tab.parse().ok()?))
}

/// Reads an old spelling of a pane: `1-1`, `w1-1`, or `p_1` for the first workspace.
pub fn old_pane(id: &str) -> Option<(usize, usize)> {
    if let Some(pane) = id.strip_prefix("p_") {
        return Some((1, pane.parse().ok()?));
    }
    let (workspace, pane) = id.strip_prefix('w').unwrap_or(id).split_once('-')?;
    Some((workspace.parse().ok()?, pane.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_are_written_as_recorded() {
        let written = [1, 9, 10, 31, 32, 33, 64, 65].map(digits);
        assert_eq!(written, ["1", "9", "A", "Z", "0", "11", "10", "21"]);
    }
}
