//! Ids as arguments: told apart by their letter, so that one command takes several kinds.
//! Whether there is such a turn, run or question is not asked here; the daemon refuses what it does not know.

use std::str::FromStr;

use crate::fleet::ids::{QuestionId, RunId, TurnId};

/// What `cancel` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnOrRun {
    /// `t17`.
    Turn(TurnId),
    /// `r3`.
    Run(RunId),
}

impl FromStr for TurnOrRun {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let turn = text.parse().map(TurnOrRun::Turn);
        turn.or_else(|_| text.parse().map(TurnOrRun::Run)).map_err(|_| wrong(text, "a turn (t17) nor a run (r3)"))
    }
}

/// What `reply` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionOrTurn {
    /// `q5`.
    Question(QuestionId),
    /// `t17`.
    Turn(TurnId),
}

impl FromStr for QuestionOrTurn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let question = text.parse().map(QuestionOrTurn::Question);
        question
            .or_else(|_| text.parse().map(QuestionOrTurn::Turn))
            .map_err(|_| wrong(text, "a question (q5) nor a turn (t17)"))
    }
}

fn wrong(text: &str, kinds: &str) -> String {
    format!("'{text}' is the id of neither {kinds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_what_it_is_of() {
        assert_eq!("t17".parse(), Ok(TurnOrRun::Turn(TurnId(17))));
        assert_eq!("r3".parse(), Ok(TurnOrRun::Run(RunId(3))));
        assert_eq!("q5".parse(), Ok(QuestionOrTurn::Question(QuestionId(5))));
        let wrong = "m5".parse::<TurnOrRun>().expect_err("a message cannot be cancelled");
        assert_eq!(wrong, "'m5' is the id of neither a turn (t17) nor a run (r3)");
    }
}
