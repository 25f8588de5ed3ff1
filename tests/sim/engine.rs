//! The engine of a simulated fleet: step, commit, and only then act and answer.
//!
//! It copies `engine/actor.rs`: what falls back, what is kept and stepped again. Faults are planted here.

use fleetd::fleet::Fleet;
use fleetd::fleet::input::{Effect, Input, Step};
use fleetd::fleet::record::Record;
use fleetd::fleet::refusal::RefusalKind;
use fleetd::fleet::time::Time;
use fleetd::fleet::turn::TurnState;

use super::schedule::Death;
use super::watch::{Broken, released};
use super::world::{Done, Plant, World};

impl World {
    pub fn feed(&mut self, input: Input) -> Done {
        self.inbox.push(input);
        if self.together > 1 {
            self.together -= 1;
            return Ok(());
        }
        self.together = 0;
        self.flush()
    }

    /// Takes one batch: step, commit, act.
    pub fn flush(&mut self) -> Done {
        let now = self.now;
        let inputs: Vec<(Time, Input)> =
            self.unstored.drain(..).chain(self.inbox.drain(..).map(|input| (now, input))).collect();
        if inputs.is_empty() {
            return Ok(());
        }
        let before = self.fleet.clone();
        let mut steps: Vec<(Step, Fleet)> = Vec::with_capacity(inputs.len());
        let mut stores = false;
        for (at, input) in &inputs {
            self.story.input(*at, input);
            let step = self.fleet.step(*at, input.clone());
            self.story.step(&step);
            self.steps += 1;
            stores |= !step.records.is_empty();
            steps.push((step, self.fleet.clone()));
        }
        if matches!(self.plant, Plant::EarlyRelease) {
            self.act(steps.iter().flat_map(|(step, _)| step.effects.clone()).collect())?;
        }
        if matches!(self.plant, Plant::EarlyAnswer) {
            self.answer(&steps)?;
        }
        let death = if stores { self.death.take() } else { None };
        if let Some((Death::BeforeCommit, jump, late)) = death {
            self.count("death before a commit");
            self.fleet = before;
            return self.die(jump, late);
        }
        if stores && self.store_fails > 0 {
            self.store_fails -= 1;
            self.count("failed commit");
            self.story.tell(|| "the commit fails".to_string());
            return self.fall_back(before, inputs);
        }
        self.commit(&inputs, &steps)?;
        let effects: Vec<Effect> = steps.iter().flat_map(|(step, _)| step.effects.clone()).collect();
        if let Some((Death::AfterCommit(n), jump, late)) = death {
            let lost = effects.len().saturating_sub(usize::from(n));
            self.count(if lost > 0 { "death before an act" } else { "death after a commit" });
            self.act(effects.into_iter().take(usize::from(n)).collect())?;
            return self.die(jump, late);
        }
        if !matches!(self.plant, Plant::EarlyRelease) {
            self.act(effects)?;
        }
        if !matches!(self.plant, Plant::EarlyAnswer) {
            self.answer(&steps)?;
        }
        self.forget_who_left(&inputs);
        self.nobody_is_forgotten()
    }

    fn commit(&mut self, inputs: &[(Time, Input)], steps: &[(Step, Fleet)]) -> Done {
        let plant = self.plant;
        for ((at, input), (step, fleet)) in inputs.iter().zip(steps) {
            for record in &step.records {
                match record {
                    Record::KeyGone(..) => self.count("key expired"),
                    Record::QuestionGone(_) => self.count("question"),
                    Record::Draft(_, None) => self.count("own reply"),
                    Record::Seat(_) => self.count("seat"),
                    Record::StepValue(_, path, value) => match value.as_str() {
                        _ if path.as_str().ends_with(".over#1") => self.count("question over before its run answered"),
                        Some("answered") => self.count("question answered by a run"),
                        Some("passed on") => self.count("question passed on"),
                        _ if value.get("worker").is_some() => self.count("question brought to a run"),
                        _ => {}
                    },
                    Record::Parked(..) => self.count("parked"),
                    Record::Paused(Some(_)) => self.count("paused"),
                    Record::Budget(_, Some(budget)) if budget.until.is_none() => self.count("role that starts no more"),
                    Record::Worker(worker) if worker.life.note().is_some() => self.count("fresh session with a note"),
                    Record::Turn(turn)
                        if turn.state == TurnState::Collected
                            && turn.step.is_none()
                            && matches!(input, Input::Tick) =>
                    {
                        self.count("shown reply expired");
                    }
                    _ => {}
                }
            }
            let (journal, host, callers) = (&mut self.journal, &self.host, &mut self.callers);
            let keep = |record: &Record| !matches!(plant, Plant::Loses(lost) if lost(record));
            self.watch.committed(input, step, fleet, journal, host, callers, &self.limits, *at, keep)?;
        }
        Ok(())
    }

    pub fn act(&mut self, effects: Vec<Effect>) -> Done {
        for effect in effects {
            released(&effect, &self.journal)?;
            match effect {
                Effect::Work(order) => self.host.take(order),
                Effect::Run(order) => self.runs.take(order, &self.journal),
                Effect::Event(_) => {}
            }
        }
        self.faults()
    }

    fn answer(&mut self, steps: &[(Step, Fleet)]) -> Done {
        for (ticket, answer) in steps.iter().flat_map(|(step, _)| &step.answers) {
            let word = match answer {
                Ok(_) => "answer",
                Err(refusal) => refusal_word(refusal.kind),
            };
            *self.counts.entry(word).or_default() += 1;
            let heard = self.callers.hear(*ticket, answer, &self.journal, self.now, self.limits.key_ttl);
            heard.map_err(|how| Broken { rule: "callers are told the truth", how })?;
        }
        Ok(())
    }

    /// Who went away hears nothing more.
    fn forget_who_left(&mut self, inputs: &[(Time, Input)]) {
        for (_, input) in inputs {
            if let Input::Leave(ticket) = input {
                self.callers.leave(*ticket);
            }
        }
    }

    fn fall_back(&mut self, before: Fleet, inputs: Vec<(Time, Input)>) -> Done {
        if !matches!(self.plant, Plant::NoFallBack) {
            self.fleet = before;
        }
        for (at, input) in inputs.clone() {
            match &input {
                Input::Call { ticket, .. } => {
                    let ticket = *ticket;
                    if !self.try_unstored(input)? {
                        self.callers.open.remove(&ticket);
                    }
                }
                Input::Leave(ticket) => self.fleet.leave(*ticket),
                Input::Tick | Input::Wall(_) => {}
                _ if matches!(self.plant, Plant::ForgetsSeen) => {}
                _ => self.unstored.push_back((at, input)),
            }
        }
        self.forget_who_left(&inputs);
        Ok(())
    }

    fn try_unstored(&mut self, input: Input) -> Result<bool, Broken> {
        let mut fleet = self.fleet.clone();
        let step = fleet.step(self.now, input);
        let free = step.records.is_empty();
        if free {
            self.fleet = fleet.clone();
            self.act(step.effects.clone())?;
            self.answer(&[(step, fleet)])?;
        }
        Ok(free)
    }

    /// A call is answered at once unless it waits, and no longer than it said.
    fn nobody_is_forgotten(&self) -> Done {
        let over = self.callers.open.iter().find(|(_, open)| open.until().is_none_or(|until| until < self.now));
        match over {
            // What falls back together with others is refused or waits; a batch in between tells.
            // The engine wakes at once for a timer that is overdue, which a store in trouble had put off.
            Some((ticket, open))
                if self.unstored.is_empty() && self.fleet.next_wake().is_none_or(|at| at > self.now) =>
            {
                Err(Broken { rule: "every call is answered", how: format!("{ticket}: {:?}", open.call) })
            }
            _ => Ok(()),
        }
    }

    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

fn refusal_word(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::Invalid => "refused: invalid",
        RefusalKind::Unknown => "refused: unknown",
        RefusalKind::KeyConflict => "refused: key conflict",
        RefusalKind::Conflict => "refused: conflict",
        RefusalKind::QueueFull => "refused: queue full",
        RefusalKind::Unavailable => "refused: unavailable",
        RefusalKind::PeerUnreachable => "refused: peer unreachable",
        _ => "refused: other",
    }
}
