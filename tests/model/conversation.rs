//! Which step a request gets: the next one of the last prompt with a script in it, counted for each conversation.
//! What a request looks like is a dialect's business, not this file's.

use std::collections::HashMap;

use crate::script::{self, Part, Step};

/// What a dialect has found in a request for an answer.
#[derive(Debug, Default)]
pub struct Asked {
    /// The conversation: its session, and the agent within it.
    pub conversation: String,
    /// What was said to the model and is no result of a tool, oldest first.
    pub told: Vec<String>,
    /// The text of the last tool results.
    pub result: String,
    /// An answer of its own for a request beside the conversation, such as one for a title or a summary.
    pub beside: Option<String>,
}

/// How far each conversation has come.
#[derive(Debug, Default)]
pub struct Conversations {
    /// Steps taken, by conversation, number of the prompt and its text.
    taken: HashMap<(String, usize, String), usize>,
    /// What every request gets, whatever its script says.
    forced: Option<Step>,
}

impl Conversations {
    /// Gives every request this step, until `None` gives the scripts back.
    pub fn force(&mut self, step: Option<Step>) {
        self.forced = step;
    }

    /// Returns the step for a request and counts it as taken.
    pub fn next(&mut self, asked: &Asked) -> Step {
        if let Some(step) = &self.forced {
            return step.clone();
        }
        let scripted: Vec<&String> = asked.told.iter().filter(|text| script::has_steps(text)).collect();
        let step = match (&asked.beside, scripted.last()) {
            (Some(text), _) => return say(text),
            (None, None) => return say("There is no script in the prompt."),
            (None, Some(&prompt)) => self.step_of(&asked.conversation, scripted.len(), prompt),
        };
        filled(step, &asked.result)
    }

    fn step_of(&mut self, conversation: &str, number: usize, prompt: &str) -> Step {
        match script::steps_of(prompt) {
            Ok(steps) => {
                let key = (conversation.to_owned(), number, prompt.to_owned());
                let taken = self.taken.entry(key).or_default();
                *taken += 1;
                steps.into_iter().nth(*taken - 1).unwrap_or_else(|| say("The script is over."))
            }
            // Loud, so that a mistake in a test is not taken for an answer.
            Err(why) => Step { parts: vec![Part::Error { status: 400, text: format!("scripted model: {why}") }] },
        }
    }
}

fn say(text: &str) -> Step {
    Step { parts: vec![Part::Say(text.to_owned())] }
}

fn filled(mut step: Step, result: &str) -> Step {
    for part in &mut step.parts {
        if let Part::Say(text) = part {
            *text = text.replace("{{result}}", result);
        }
    }
    step
}
