//! `context_cap`: a worker whose session is full is asked for a hand-over note, in a turn of fleetd's own, and is given a
//! fresh session under the same name. The note goes before the first text of that one. Without a note it starts anew
//! without one.
//!
//! A session that people type into is never ended over their draft: all of it happens only while the worker is idle.

use std::sync::Arc;

use super::caller::Sender;
use super::caps::next_profile;
use super::envelope::{Finish, Usage};
use super::ids::{TurnId, WorkerName};
use super::input::{Effect, WorkEffect};
use super::life::{Life, Renewal};
use super::record::Record;
use super::state::{Cx, Fleet};
use super::team::{Address, Team};
use super::time::{Span, Time};
use super::turn::{Outcome, Priority, Turn, TurnState};
use super::worker::{Worker, WorkerState};

/// How long the note may take, once it is asked for.
pub(super) const NOTE: Span = Span::minutes(2);

/// What the worker is asked.
const PROMPT: &str = "\
Your session is nearly full. It ends after your answer, and a fresh one takes its place under your name, which knows \
nothing of this one but what you write now. Write it a hand-over note: what you were asked to do and what is done; what \
is under way, and where (files, branches, commands); what was decided, and why; what must not be tried again; what \
comes next. At most 400 words. Answer with the note alone, and do nothing else.";

impl Fleet {
    /// Returns whether the session of a worker is as full as it may become.
    pub(super) fn is_full(&self, worker: &Worker) -> bool {
        let newest = self.team.as_ref().and_then(|team| team.profiles.get(&worker.profile.name));
        let cap = newest.unwrap_or(&*worker.profile).context_cap;
        worker.profile.has_session() && !worker.life.is_ending() && cap.is_some_and(|cap| cap.is_reached(&worker.life))
    }

    /// Goes on with every worker that is on its way to a fresh session and is idle.
    pub(super) fn renew_due(&mut self, cx: &mut Cx, team: &Team) {
        for name in self.ending.iter().cloned().collect::<Vec<_>>() {
            let Some(worker) = self.workers.get(&name).filter(|worker| worker.is_idle()).cloned() else { continue };
            if self.is_surplus(&worker) {
                // It stays as it is for what waits for it alone.
                self.set_renewal(cx, &name, None);
                self.retire(cx, &name, "no longer in the charter's plan");
                continue;
            }
            match worker.life.renewal {
                Some(Renewal::Due) if self.may_be_busy(team, &worker, cx.now) => {
                    let id = self.ask_for_note(cx, &worker);
                    self.hand(cx, team, id, &name);
                }
                Some(Renewal::Asked(id)) if self.may_be_busy(team, &worker, cx.now) => {
                    let waits = self.turns.get(&id).is_some_and(|turn| turn.state == TurnState::Queued);
                    if waits {
                        self.hand(cx, team, id, &name);
                    }
                }
                Some(Renewal::Ending(_)) => self.end_session(cx, &worker),
                _ => {}
            }
        }
    }

    fn may_be_busy(&self, team: &Team, worker: &Worker, now: Time) -> bool {
        let held = team.roles.get(&worker.role).is_none_or(|role| self.is_held(role, now));
        !held && self.full_endpoints().has_place(next_profile(team, worker))
    }

    fn ask_for_note(&mut self, cx: &mut Cx, worker: &Worker) -> TurnId {
        let id = TurnId(self.fresh());
        cx.record(Record::Prompt(id, PROMPT.into()));
        let why = format!("its session is full: {} turns, {} tokens", worker.life.turns, worker.life.tokens);
        self.worker_event(cx, &worker.name, format!("asked for a hand-over note; {why}"));
        self.set_renewal(cx, &worker.name, Some(Renewal::Asked(id)));
        // Its deadline begins when the worker has taken it: a draft or a pause in its way costs no note.
        let turn = Turn {
            because: Some(why),
            priority: Priority::Now,
            prompt_bytes: PROMPT.len() as u64,
            ..Turn::accepted(id, Sender::Fleetd, Address::Worker(worker.name.clone()), cx.now, self.generation())
        };
        self.accept(cx, turn).id
    }

    /// A turn of fleetd's own has ended: it lies in nobody's mailbox, and is the note if there is one.
    pub(super) fn settle_own(&mut self, cx: &mut Cx, mut turn: Turn, finish: Finish) {
        let is_note = finish.outcome == Outcome::Replied && !finish.text.trim().is_empty();
        let envelope = Arc::new(self.envelope(&turn, finish, cx));
        turn.enter(TurnState::Collected, cx.now, Some("by fleetd".into()));
        cx.record(Record::Envelope(envelope.clone()));
        let turn = self.put_turn(cx, turn);
        self.tell_settled(cx, &turn, &envelope);
        self.turns.remove(&turn.id);
        let Address::Worker(name) = &turn.to else { return };
        if self.workers.get(name).is_some_and(|worker| worker.life.renewal == Some(Renewal::Asked(turn.id))) {
            self.set_renewal(cx, name, Some(Renewal::Ending(is_note.then_some(turn.id))));
        }
    }

    /// Ends the session of a worker that gets a fresh one.
    pub(super) fn end_session(&mut self, cx: &mut Cx, worker: &Worker) {
        let worker = Worker { state: WorkerState::Draining, since: cx.now, ..worker.clone() };
        let worker = self.put_worker(cx, worker);
        cx.effect(Effect::Work(WorkEffect::Stop(worker)));
    }

    /// The session of a worker that was to get a fresh one is gone: it gets it, as the newest charter has it. Returns
    /// whether it does.
    pub(super) fn renewed(&mut self, cx: &mut Cx, name: &WorkerName) -> bool {
        let Some(worker) = self.workers.get(name).filter(|worker| worker.life.is_ending()).cloned() else {
            return false;
        };
        if self.is_surplus(&worker) && !self.is_awaited(&worker) {
            if worker.hands_tree_on() {
                // Nobody takes it over: it is put away after all.
                let mut worker = (*worker).clone();
                worker.life.renewal = None;
                cx.effect(Effect::Work(WorkEffect::Stop(Arc::new(worker))));
            }
            return false;
        }
        let note = match worker.life.renewal {
            Some(Renewal::Ending(note)) => note,
            _ => None,
        };
        self.worker_event(
            cx,
            name,
            format!("gets a fresh session, {}", if note.is_some() { "with a note" } else { "without a note" }),
        );
        self.begin_anew(cx, &worker, note);
        true
    }

    /// A fresh session did not come up: the worker keeps its name and what waits for it, and is tried again when its role
    /// may.
    pub(super) fn begin_anew(&mut self, cx: &mut Cx, worker: &Worker, note: Option<TurnId>) {
        let newest = self.team.as_ref().and_then(|team| team.profiles.get(&worker.profile.name));
        let newest = newest.filter(|profile| profile.has_session()).cloned();
        let profile = newest.map_or_else(|| worker.profile.clone(), Arc::new);
        let generation = self.generation().max(worker.generation);
        // What is under way in its worktree goes on there.
        let tree = worker.profile.worktree.as_ref().map(|_| worker.life.tree.unwrap_or(worker.session));
        let life = Life { renewal: Some(Renewal::Fresh(note)), tree, ..Life::default() };
        let session = self.fresh();
        let (state, since) = (WorkerState::Starting, cx.now);
        let anew =
            Worker { profile, generation, state, since, turn: None, process: None, session, life, ..worker.clone() };
        self.put_worker(cx, anew);
    }

    /// Notes how full the session is by what its last turn took.
    pub(super) fn note_usage(&mut self, cx: &mut Cx, name: &WorkerName, usage: Option<&Usage>) {
        let (Some(worker), Some(usage)) = (self.workers.get(name), usage) else { return };
        // The figures of a turn of several messages count its context several times.
        let all = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let tokens = usage.context.unwrap_or(all);
        if worker.profile.has_session() && worker.life.tokens != tokens {
            let mut worker = (**worker).clone();
            worker.life.tokens = tokens;
            self.put_worker(cx, worker);
        }
    }

    /// The worker has taken a text, and with it the note that went before.
    pub(super) fn note_used(&mut self, cx: &mut Cx, name: &WorkerName) {
        if self.workers.get(name).is_some_and(|worker| worker.life.is_fresh()) {
            self.set_renewal(cx, name, None);
        }
    }

    fn set_renewal(&mut self, cx: &mut Cx, name: &WorkerName, renewal: Option<Renewal>) {
        let Some(worker) = self.workers.get(name).cloned() else { return };
        let mut worker = (*worker).clone();
        worker.life.renewal = renewal;
        self.put_worker(cx, worker);
    }
}
