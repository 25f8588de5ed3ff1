//! How much memory the machine has left, as its kernel tells it.
//! How much is enough is not decided here.

use std::fs;

/// Returns how many bytes can be had without taking them from others; none where the machine does not tell.
pub(super) fn available() -> Option<u64> {
    in_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn in_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_word_is_read_and_nothing_else() {
        let text = "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:    2097152 kB\n";
        assert_eq!(in_meminfo(text), Some(2 << 30));
        for other in [
            "",
            "MemFree: 1 kB",
            "MemAvailable: many kB",
            "MemAvailable: 1 GB",
            "MemAvailable: 99999999999999999999 kB",
        ] {
            assert_eq!(in_meminfo(other), None, "{other}");
        }
    }
}
