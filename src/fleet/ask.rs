//! Questions: a worker asks inside its turn, a recipe asks its leader; the answer lets the same turn or step go on.
//! That a question waits in a mailbox is `mailbox`'s matter, that a run may answer first is `asked`'s; here it opens and
//! is answered once or ends with its asker.

use std::sync::Arc;

use serde_json::Value;

use super::asked::MOST_QUESTIONS;
use super::caller::Sender;
use super::ids::{Key, MessageId, QuestionId, RunId, StepPath, Ticket, TurnId, WorkerName};
use super::input::{Answer, Asked};
use super::mail::{About, Asker, Question};
use super::refusal::{Refusal, RefusalKind};
use super::state::{Cx, Fleet};
use super::time::Time;
use super::turn::TurnState;
use super::waits::Subject;

impl Fleet {
    /// A worker asks inside its own turn and waits. The same text in the same turn is the same question.
    pub(super) fn ask(
        &mut self,
        cx: &mut Cx,
        ticket: Ticket,
        name: &WorkerName,
        (turn, request): (Option<TurnId>, Option<Key>),
        text: Arc<str>,
        until: Time,
    ) {
        let question = match self.open_question(cx, name, turn, request, text) {
            Ok(question) => question,
            Err(refusal) => return cx.answer(ticket, Err(refusal)),
        };
        if question.answer.is_some() {
            return cx.answer(ticket, Ok(Answer::Answered(question)));
        }
        self.wait(ticket, Subject::Question(question.id), None, until, None);
    }

    fn open_question(
        &mut self,
        cx: &mut Cx,
        name: &WorkerName,
        turn: Option<TurnId>,
        request: Option<Key>,
        text: Arc<str>,
    ) -> Result<Arc<Question>, Refusal> {
        self.check_text("question", &text)?;
        let turn = self.turn_of_worker(name, turn)?;
        let id = turn.id;
        let of_turn = |question: &&Arc<Question>| question.asker == Asker::Turn(id);
        if let Some(known) = self.questions.values().filter(of_turn).find(|question| question.text == text).cloned() {
            if request.is_none() || known.request == request {
                return Ok(known);
            }
            // Asked again by another request: that is where a broken connection finds its question from now on.
            return Ok(self.put_question(cx, Question { request, ..(*known).clone() }));
        }
        if self.questions.values().filter(of_turn).count() >= MOST_QUESTIONS {
            let message = format!("turn {id} has asked {MOST_QUESTIONS} questions, which is the most");
            return Err(Refusal::new(RefusalKind::QueueFull, message));
        }
        let to = match turn.sender {
            Sender::Fleetd => {
                let message = format!("turn {id} is fleetd's own, and nobody is there to answer");
                return Err(Refusal::new(RefusalKind::Conflict, message).hint("answer it as well as you can"));
            }
            Sender::Run(run) => self.runs.get(&run).map_or(Sender::Operator, |run| run.owner),
            sender => sender,
        };
        // Who asks inside a turn has its text: that is a proof as good as the launcher's.
        self.seen_taken(cx, name, id, None);
        let send = self.answering_send(id);
        let question = match &send {
            Some(send) => {
                let question = self.new_question(cx, Asker::Turn(id), Sender::Run(send.run), text, request);
                self.put_question(cx, question)
            }
            None => self.put_new_question(cx, Asker::Turn(id), to, text, request),
        };
        let Some(turn) = self.turns.get(&id) else { return Ok(question) };
        let mut turn = (**turn).clone();
        turn.questions.push(question.id);
        turn.enter(TurnState::Asking, cx.now, Some(format!("question {}", question.id)));
        let sender = turn.sender;
        self.put_turn(cx, turn);
        if let Some(send) = send {
            self.bring_question(cx, &send, &question);
            return Ok(question);
        }
        self.tell_asked(cx, &Subject::Turn(id));
        if let Sender::Run(run) = sender {
            self.tell_run_asked(cx, run);
        }
        Ok(question)
    }

    /// A recipe asks its owner; the step ends with the answer.
    pub(super) fn ask_of_step(
        &mut self,
        cx: &mut Cx,
        run: RunId,
        path: &StepPath,
        text: Arc<str>,
    ) -> Option<QuestionId> {
        let to = self.runs.get(&run)?.owner;
        let question = self.put_new_question(cx, Asker::Step { run, path: path.clone() }, to, text, None);
        Some(question.id)
    }

    /// A question that nobody is shown yet: it has no message.
    fn new_question(&mut self, cx: &Cx, asker: Asker, to: Sender, text: Arc<str>, request: Option<Key>) -> Question {
        let id = QuestionId(self.fresh());
        Question { id, asker, to, text, at: cx.now, answer: None, message: MessageId(0), request }
    }

    fn put_new_question(
        &mut self,
        cx: &mut Cx,
        asker: Asker,
        to: Sender,
        text: Arc<str>,
        request: Option<Key>,
    ) -> Arc<Question> {
        let question = self.new_question(cx, asker, to, text, request);
        let id = question.id;
        self.put_question(cx, question.clone());
        self.tell_question(cx, &question, to);
        let message = self.post(cx, to, About::Question(id));
        self.put_question(cx, Question { message, ..question })
    }

    pub(super) fn answer_question(
        &mut self,
        cx: &mut Cx,
        by: Sender,
        asked: &Asked,
        text: Arc<str>,
    ) -> Result<Answer, Refusal> {
        self.check_text("answer", &text)?;
        let question = self.find_question(asked)?;
        match &question.answer {
            // A repeated answer is the same answer; another one comes too late.
            Some(given) if *given == text => return Ok(Answer::Answered(question)),
            Some(_) => {
                return Err(Refusal::new(RefusalKind::Conflict, format!("{} was answered already", question.id)));
            }
            None => {}
        }
        self.question_over(cx, &question);
        Ok(Answer::Answered(self.give_answer(cx, by, &question, text)))
    }

    pub(super) fn give_answer(
        &mut self,
        cx: &mut Cx,
        by: Sender,
        question: &Question,
        text: Arc<str>,
    ) -> Arc<Question> {
        let answered = self.put_question(cx, Question { answer: Some(text.clone()), ..question.clone() });
        self.drop_message(cx, question.to, question.message);
        for ticket in self.end_waits(&Subject::Question(question.id)) {
            cx.answer(ticket, Ok(Answer::Answered(answered.clone())));
        }
        match &question.asker {
            Asker::Turn(id) => self.resume_turn(cx, *id, question.id, by),
            Asker::Step { run, path } => {
                // It stays as long as its run is open, so that the same answer again is the same.
                self.finish_step(cx, *run, path, Value::String(text.to_string()));
            }
        }
        answered
    }

    fn resume_turn(&mut self, cx: &mut Cx, id: TurnId, question: QuestionId, by: Sender) {
        let Some(turn) = self.turns.get(&id).cloned() else { return };
        let others_open = self.questions.values().any(|q| q.answer.is_none() && q.asker == Asker::Turn(id));
        if turn.state == TurnState::Asking && !others_open {
            let mut turn = (*turn).clone();
            turn.enter(TurnState::Working, cx.now, Some(format!("{question} answered by {by}")));
            self.put_turn(cx, turn);
        }
    }

    fn find_question(&self, asked: &Asked) -> Result<Arc<Question>, Refusal> {
        let open: Vec<String> = self
            .questions
            .values()
            .filter(|question| question.answer.is_none() && !question.is_with_a_run())
            .map(|question| question.id.to_string())
            .collect();
        let open = || open.iter().map(String::as_str);
        match asked {
            Asked::Question(id) => {
                self.questions.get(id).cloned().ok_or_else(|| Refusal::unknown("question", &id.to_string(), open()))
            }
            Asked::Turn(id) => match self.open_questions(&Subject::Turn(self.newest(*id))).as_slice() {
                [only] => Ok(only.clone()),
                [] => Err(Refusal::unknown("open question in turn", &id.to_string(), open())),
                several => Err(Refusal::new(
                    RefusalKind::Conflict,
                    format!("turn {id} has {} open questions; say which", several.len()),
                )
                .hint(format!(
                    "open: {}",
                    several.iter().map(|question| question.id.to_string()).collect::<Vec<_>>().join(", ")
                ))),
            },
        }
    }

    /// Takes back a question that nobody needs answered any more.
    pub(super) fn withdraw_question(&mut self, cx: &mut Cx, id: QuestionId, why: &str) {
        for ticket in self.end_waits(&Subject::Question(id)) {
            cx.answer(ticket, Err(Refusal::new(RefusalKind::Conflict, format!("question {id} was withdrawn: {why}"))));
        }
        if let Some(question) = self.questions.get(&id).cloned() {
            self.question_over(cx, &question);
        }
        self.drop_question(cx, id);
    }
}
