//! What launchers of sessions share, whether a session is typed to, reads lines or is called: its directory, the place in which it
//! works, how it comes up, who keeps it and how that is told things, what its own program reports, the first line of its
//! texts. How a text gets into it is theirs alone.

pub(super) mod all;
pub(super) mod begin;
pub(super) mod common;
pub(super) mod dir;
pub(super) mod front;
pub(super) mod given;
pub(super) mod gone;
pub(super) mod handed;
pub(super) mod hear;
pub(super) mod pane;
pub(super) mod place;
pub(super) mod roster;
pub(super) mod sweep;
pub(super) mod text;
pub(super) mod tree;

/// Says why a turn failed: the class of the failure, and what the agent showed of it.
pub(super) fn why_of(class: Option<&str>, text: &str) -> String {
    let short = |text: &str| text.lines().next().unwrap_or_default().chars().take(300).collect::<String>();
    let shown = short(text);
    match (class.map(short), shown.as_str()) {
        (Some(class), "") => class,
        (Some(class), shown) => format!("{class}: {shown}"),
        (None, "") => "its agent failed and did not say why".to_owned(),
        (None, shown) => shown.to_owned(),
    }
}
