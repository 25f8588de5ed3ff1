//! How the panes of a tab divide its area: a tree of splits.
//! Sizes are told, no terminal is resized.

use serde_json::{Value, json};

/// A tab's area or a part of it.
#[derive(Clone, Debug)]
pub enum Node {
    /// One pane, by its id.
    Pane(String),
    /// Two parts side by side (`right`) or one above the other (`down`).
    Split { direction: String, ratio: f64, parts: Box<(Node, Node)> },
}

/// A rectangle in cells.
#[derive(Clone, Copy)]
pub struct Rect {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Rect {
    fn json(self) -> Value {
        json!({"x": self.x, "y": self.y, "width": self.width, "height": self.height})
    }

    fn split(self, direction: &str, ratio: f64) -> (Self, Self) {
        let part = |whole: u16| (f64::from(whole) * ratio).round() as u16;
        if direction == "down" {
            let first = part(self.height);
            let below = Self { y: self.y + first, height: self.height - first, ..self };
            (Self { height: first, ..self }, below)
        } else {
            let first = part(self.width);
            (Self { width: first, ..self }, Self { x: self.x + first, width: self.width - first, ..self })
        }
    }
}

impl Node {
    /// Returns its panes from left to right and top to bottom.
    pub fn panes(&self) -> Vec<&String> {
        match self {
            Self::Pane(id) => vec![id],
            Self::Split { parts, .. } => parts.0.panes().into_iter().chain(parts.1.panes()).collect(),
        }
    }

    /// Puts a pane beside another one.
    pub fn insert(&mut self, beside: &str, direction: &str, ratio: f64, new: &str) {
        match self {
            Self::Pane(id) if id == beside => {
                let parts = Box::new((Self::Pane(id.clone()), Self::Pane(new.to_owned())));
                *self = Self::Split { direction: direction.to_owned(), ratio, parts };
            }
            Self::Pane(_) => {}
            Self::Split { parts, .. } => {
                parts.0.insert(beside, direction, ratio, new);
                parts.1.insert(beside, direction, ratio, new);
            }
        }
    }

    /// Returns it without a pane; nothing if that was all.
    pub fn without(self, gone: &str) -> Option<Self> {
        match self {
            Self::Pane(id) if id == gone => None,
            Self::Pane(id) => Some(Self::Pane(id)),
            Self::Split { direction, ratio, parts } => match (parts.0.without(gone), parts.1.without(gone)) {
                (Some(first), Some(second)) => Some(Self::Split { direction, ratio, parts: Box::new((first, second)) }),
                (one, other) => one.or(other),
            },
        }
    }

    /// Returns the rectangles of panes and the splits, as JSON.
    pub fn areas(&self, area: Rect, focused: &str) -> (Vec<Value>, Vec<Value>) {
        let (mut panes, mut splits) = (Vec::new(), Vec::new());
        self.measure(area, focused, "root", &mut panes, &mut splits);
        (panes, splits)
    }

    fn measure(&self, area: Rect, focused: &str, path: &str, panes: &mut Vec<Value>, splits: &mut Vec<Value>) {
        match self {
            Self::Pane(id) => panes.push(json!({"pane_id": id, "focused": id == focused, "rect": area.json()})),
            Self::Split { direction, ratio, parts } => {
                let id = format!("split_{}_{path}", splits.len());
                splits.push(json!({"id": id, "direction": direction, "ratio": ratio, "rect": area.json()}));
                let (first, second) = area.split(direction, *ratio);
                parts.0.measure(first, focused, &format!("{path}_0"), panes, splits);
                parts.1.measure(second, focused, &format!("{path}_1"), panes, splits);
            }
        }
    }
}
