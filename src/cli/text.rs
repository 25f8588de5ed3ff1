//! Texts that a command is given: as words, as a file with `@`, or on standard input with `-`.
//! Nothing is trimmed or added: what was given is what is sent, to the last newline of a file.

use std::io::Read;

use super::exit::Failure;

/// More than any text that fleetd takes: what is longer is refused by fleetd, with its limit.
const MOST: u64 = 8 << 20;

/// Returns the words as one text; a single `-` stands for standard input.
pub fn of_words(words: &[String], what: &str) -> Result<String, Failure> {
    match words {
        [word] if word == "-" => of_stdin(what),
        words => Ok(words.join(" ")),
    }
}

/// Returns a text as given, of the file after `@`, or of standard input for `-`.
pub fn of_word(word: &str, what: &str) -> Result<String, Failure> {
    match word.strip_prefix('@') {
        Some(path) => {
            let tried = format!("cannot read the {what} from {path}");
            let file = std::fs::File::open(path).map_err(|error| Failure::io(&tried, error))?;
            read(file, what, &tried)
        }
        None if word == "-" => of_stdin(what),
        None => Ok(word.to_string()),
    }
}

fn of_stdin(what: &str) -> Result<String, Failure> {
    read(std::io::stdin().lock(), what, &format!("cannot read the {what} from standard input"))
}

fn read(from: impl Read, what: &str, tried: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(MOST).read_to_end(&mut bytes).map_err(|error| Failure::io(tried, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Usage(format!("the {what} is not UTF-8: byte {} does not belong there", at + 1))
    })
}
