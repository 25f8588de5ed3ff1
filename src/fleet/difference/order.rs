//! Rubrics by their order: the first answer wins, so where one is asked is part of what it means.
//! What moved is told of as few rubrics as explain it; what keeps its place among the others has not moved.

use super::How;

/// Returns every rubric that is new, gone or asked in another place, with the words for it.
pub(super) fn rubrics(old: &[String], new: &[String]) -> Vec<(String, How, String)> {
    let mut said = Vec::new();
    for name in old.iter().filter(|name| !new.contains(name)) {
        said.push((name.clone(), How::Removed, format!("rubric '{name}' is removed")));
    }
    let stays: Vec<&String> = old.iter().filter(|name| new.contains(name)).collect();
    let kept = in_order(&stays, new);
    for (n, name) in new.iter().enumerate() {
        let place = n + 1;
        if !old.contains(name) {
            said.push((name.clone(), How::New, format!("rubric '{name}' is new: it is asked as number {place}")));
        } else if !kept.contains(&name) {
            let was = old.iter().position(|other| other == name).map_or(0, |was| was + 1);
            said.push((
                name.clone(),
                How::Changed,
                format!("rubric '{name}' is asked as number {place} instead of {was}"),
            ));
        }
    }
    said
}

/// Returns a longest list of names that come in the same order in both.
fn in_order<'a>(old: &[&'a String], new: &'a [String]) -> Vec<&'a String> {
    // lengths[i][j]: how many of old[i..] and new[j..] can be kept.
    let mut lengths = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = match *old[i] == new[j] {
                true => lengths[i + 1][j + 1] + 1,
                false => lengths[i + 1][j].max(lengths[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut kept) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if *old[i] == new[j] {
            kept.push(&new[j]);
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(old: &str, new: &str) -> Vec<String> {
        let list = |names: &str| names.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        rubrics(&list(old), &list(new)).into_iter().map(|(_, _, words)| words).collect()
    }

    #[test]
    fn only_what_moved_is_told() {
        assert!(said("a b c", "a b c").is_empty());
        assert_eq!(said("a b c", "c a b"), ["rubric 'c' is asked as number 1 instead of 3"]);
        assert_eq!(said("a b c d", "b c d a"), ["rubric 'a' is asked as number 4 instead of 1"]);
    }

    #[test]
    fn what_is_new_or_gone_moves_nothing() {
        assert_eq!(said("a b c", "x a c"), ["rubric 'b' is removed", "rubric 'x' is new: it is asked as number 1"]);
        assert_eq!(said("", "a"), ["rubric 'a' is new: it is asked as number 1"]);
    }
}
