//! Where a worker's tab stands among the others, and when a label is restored.
//! Rules only; herdr is not asked here.

use super::told::Tab;

/// What tabs are sorted by: the words of the worker's name, and the number at its end.
type Rank<'a> = (&'a str, u64);

fn rank(label: &str) -> Option<Rank<'_>> {
    let (role, number) = label.rsplit_once('-')?;
    Some((role, number.parse().ok()?))
}

/// Returns where the last tab of a workspace belongs: before the first tab that comes after it by role, then number.
/// None where it may stay. Tabs that people made or named otherwise are passed over, and no other tab is moved, so an
/// order that people gave stays theirs.
pub fn place_of_last(tabs: &[&Tab], label: &str) -> Option<usize> {
    let mine = rank(label)?;
    let others = tabs.len().checked_sub(1)?;
    tabs[..others].iter().position(|tab| rank(&tab.label).is_some_and(|other| other > mine))
}

/// Tells whether a tab has no label of its own: it is called by its place in its workspace, counted from one.
pub fn is_unlabelled(tabs: &[Tab], tab: &Tab) -> bool {
    let of_workspace = tabs.iter().filter(|other| other.workspace_id == tab.workspace_id);
    let place = of_workspace.take_while(|other| other.tab_id != tab.tab_id).count() + 1;
    tab.label.is_empty() || tab.label == place.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tabs(labels: &[&str]) -> Vec<Tab> {
        let tab = |(n, label): (usize, &&str)| Tab {
            tab_id: format!("w1:t{n}"),
            workspace_id: "w1".to_owned(),
            label: (*label).to_owned(),
            pane_count: 1,
        };
        labels.iter().enumerate().map(tab).collect()
    }

    fn place(others: &[&str], label: &str) -> Option<usize> {
        let labels: Vec<&str> = others.iter().copied().chain([label]).collect();
        let tabs = tabs(&labels);
        place_of_last(&tabs.iter().collect::<Vec<_>>(), label)
    }

    #[test]
    fn a_tab_stands_by_role_and_then_by_number() {
        assert_eq!(place(&["coder-1", "coder-10", "scout-1"], "coder-2"), Some(1));
        assert_eq!(place(&["coder-1", "scout-1"], "scout-2"), None);
        assert_eq!(place(&["coder-1"], "big-coder-1"), Some(0));
        assert_eq!(place(&[], "coder-1"), None);
    }

    #[test]
    fn tabs_of_people_are_passed_over() {
        assert_eq!(place(&["notes", "coder-3", "my shell"], "coder-2"), Some(1));
        assert_eq!(place(&["notes", "1"], "coder-2"), None);
    }

    #[test]
    fn a_label_that_is_a_place_is_none() {
        let tabs = tabs(&["1", "coder-1", "3", "7", ""]);
        let unlabelled: Vec<bool> = tabs.iter().map(|tab| is_unlabelled(&tabs, tab)).collect();
        assert_eq!(unlabelled, [true, false, true, false, true]);
    }
}
