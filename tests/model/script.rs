//! What a scripted model is told to do: steps, one a line, found anywhere in the text of a prompt. A step is the answer
//! to one request; the next request of the same turn gets the next step. Knows nothing of any dialect or connection.

use std::time::Duration;

use serde_json::{Map, Value};

/// The grammar as a person reads it.
pub const GRAMMAR: &str = r#"A line of a prompt that begins with one of these words is a step. Each request of that turn takes the next step; a
step has one or more parts, joined by " && ". Retries are requests, too.

  SAY:TEXT             text; \n is a newline, {{result}} the last tool result
  THINK:TEXT           thinking, before what is said
  TOOL:NAME:{JSON}     a call of a tool; several of them in one step are parallel calls
  ERR:STATUS[:TEXT]    an error: 400, 401, 403, 404, 429, 500, 529, …; after some text: an error within the stream
  AFTER:SECONDS        the error says `retry-after`
  STOP:REASON          the reason at the end, if not end_turn or tool_use: max_tokens, refusal, …
  USAGE:in=N,out=N,cache_read=N,cache_write=N
                       the tokens that are reported, what is left out is 0; without it in=100,out=5
  MODEL:NAME           the model that the answer names, if not the one that was asked for
  EMPTY                an answer without any content
  SLEEP:SECONDS        waits here; before all else: before the first byte
  PACE:SECONDS         from here on, waits between words
  HANG                 takes the request and says nothing, ever
  STALL                begins the answer and says no more
  CUT                  begins the answer and breaks the connection off
  TIMES:N              this step is taken N times"#;

/// Words that begin a part; those with a colon want something after it.
const WORDS: [&str; 15] = [
    "SAY:", "THINK:", "TOOL:", "ERR:", "AFTER:", "STOP:", "USAGE:", "MODEL:", "SLEEP:", "PACE:", "TIMES:", "EMPTY",
    "HANG", "STALL", "CUT",
];

/// The answer to one request, in the order in which it is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Never empty.
    pub parts: Vec<Part>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Say(String),
    Think(String),
    Tool { name: String, input: Map<String, Value> },
    Error { status: u16, text: String },
    RetryAfter(u64),
    Stop(String),
    Usage(Usage),
    Model(String),
    Empty,
    Sleep(Duration),
    Pace(Duration),
    Hang,
    Stall,
    Cut,
}

/// The tokens that an answer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input: 100, output: 5, cache_read: 0, cache_write: 0 }
    }
}

/// Returns the steps of a text, those with `TIMES` as often as they say; a line that cannot be read is an error that
/// names it. A text without a step has none.
pub fn steps_of(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| begins_a_part(line)) {
        let (step, times) = step(line).map_err(|why| format!("'{line}' is no step: {why}"))?;
        steps.extend(std::iter::repeat_n(step, times));
    }
    Ok(steps)
}

/// Tells whether a text has a step in it.
pub fn has_steps(text: &str) -> bool {
    text.lines().any(|line| begins_a_part(line.trim()))
}

fn begins_a_part(text: &str) -> bool {
    WORDS.iter().any(|word| {
        let rest = text.strip_prefix(word);
        rest.is_some_and(|rest| word.ends_with(':') || rest.is_empty() || rest.starts_with(" && "))
    })
}

fn step(line: &str) -> Result<(Step, usize), String> {
    let (mut parts, mut times) = (Vec::new(), 1);
    for piece in pieces(line) {
        let (word, rest) = piece.split_once(':').unwrap_or((piece, ""));
        match word {
            "TIMES" => times = number(rest)?,
            _ => parts.push(part(word, rest)?),
        }
    }
    if parts.is_empty() { Err("there is nothing to do in it".to_owned()) } else { Ok((Step { parts }, times)) }
}

/// Cuts a line where ` && ` stands before a word, so that a text or a shell command may have ` && ` in it.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut begin, mut from) = (0, 0);
    while let Some(at) = line[from..].find(" && ").map(|at| from + at) {
        from = at + " && ".len();
        if begins_a_part(&line[from..]) {
            pieces.push(&line[begin..at]);
            begin = from;
        }
    }
    pieces.push(&line[begin..]);
    pieces
}

fn part(word: &str, rest: &str) -> Result<Part, String> {
    Ok(match word {
        "SAY" => Part::Say(rest.replace("\\n", "\n")),
        "THINK" => Part::Think(rest.replace("\\n", "\n")),
        "TOOL" => {
            let (name, input) = rest.split_once(':').ok_or("write TOOL:NAME:{JSON}")?;
            let input = serde_json::from_str(input).map_err(|error| error.to_string())?;
            Part::Tool { name: name.to_owned(), input }
        }
        "ERR" => {
            let (status, text) = rest.split_once(':').unwrap_or((rest, "scripted"));
            let status: u16 = number(status)?;
            if !(400..600).contains(&status) {
                return Err(format!("{status} is no error; write a status from 400 to 599"));
            }
            Part::Error { status, text: text.to_owned() }
        }
        "AFTER" => Part::RetryAfter(number(rest)?),
        "STOP" => Part::Stop(rest.to_owned()),
        "USAGE" => Part::Usage(usage(rest)?),
        "MODEL" => Part::Model(rest.to_owned()),
        "SLEEP" => Part::Sleep(seconds(rest)?),
        "PACE" => Part::Pace(seconds(rest)?),
        "EMPTY" => Part::Empty,
        "HANG" => Part::Hang,
        "STALL" => Part::Stall,
        "CUT" => Part::Cut,
        _ => return Err(format!("'{word}' is none of {}", WORDS.join(" "))),
    })
}

fn usage(text: &str) -> Result<Usage, String> {
    let mut usage = Usage { input: 0, output: 0, cache_read: 0, cache_write: 0 };
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or("write USAGE:in=N,out=N")?;
        *(match name.trim() {
            "in" => &mut usage.input,
            "out" => &mut usage.output,
            "cache_read" => &mut usage.cache_read,
            "cache_write" => &mut usage.cache_write,
            other => return Err(format!("'{other}' is none of in, out, cache_read, cache_write")),
        }) = number(value)?;
    }
    Ok(usage)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("'{text}' is no number here"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number(text)?).map_err(|error| error.to_string())
}
