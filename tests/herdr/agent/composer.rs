//! The text that somebody is writing, with the pastes in it that are shown by a placeholder.
//! Nothing is drawn here.

/// A text under a person's hands. Its end is where one writes.
#[derive(Default)]
pub struct Composer {
    pieces: Vec<Piece>,
    collapse: Option<usize>,
    collapsed: usize,
}

enum Piece {
    Text(String),
    Pasted { number: usize, text: String },
}

impl Composer {
    /// Returns an empty one that collapses pastes of more characters than this.
    pub fn new(collapse: Option<usize>) -> Self {
        Self { pieces: Vec::new(), collapse, collapsed: 0 }
    }

    /// Adds what was typed.
    pub fn add(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds what was pasted. Line ends are as they come in a paste: CR LF, CR or LF.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if self.collapse.is_some_and(|limit| text.chars().count() > limit) {
            self.collapsed += 1;
            self.pieces.push(Piece::Pasted { number: self.collapsed, text });
        } else {
            self.add(&text);
        }
    }

    /// Takes the last character away, or a whole placeholder.
    pub fn backspace(&mut self) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => {
                text.pop();
                if text.is_empty() {
                    self.pieces.pop();
                }
            }
            Some(Piece::Pasted { .. }) => {
                self.pieces.pop();
            }
            None => {}
        }
    }

    /// Empties it. Placeholders are counted on.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Tells whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns what it shows.
    pub fn shown(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Pasted { number, text } => format!("[Pasted text #{number} +{} lines]", text.matches('\n').count()),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Pasted { text, .. } => text.clone(),
        };
        self.pieces.iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Composer;

    #[test]
    fn what_is_typed_pasted_and_taken_away_is_one_text() {
        let mut composer = Composer::new(None);
        composer.add("häß");
        composer.paste("a\r\nb\rc\n👩\u{200d}💻");
        composer.backspace();
        assert_eq!(composer.text(), "häßa\nb\nc\n👩\u{200d}");
        assert_eq!(composer.shown(), composer.text());
        composer.clear();
        composer.backspace();
        assert!(composer.is_empty());
    }

    #[test]
    fn a_long_paste_is_a_placeholder_and_is_taken_away_as_one() {
        let mut composer = Composer::new(Some(3));
        composer.paste("abc");
        composer.paste("abcd\ne\n");
        composer.paste("wxyz");
        composer.add("!");
        assert_eq!(composer.shown(), "abc[Pasted text #1 +2 lines][Pasted text #2 +0 lines]!");
        assert_eq!(composer.text(), "abcabcd\ne\nwxyz!");
        composer.backspace();
        composer.backspace();
        assert_eq!(composer.shown(), "abc[Pasted text #1 +2 lines]");
    }
}
