//! One fleet with everything around it: events, a clock, deaths and restarts. Its engine is in `engine.rs`.
//! It carries things from one to the other and judges nothing: what must hold is checked in `watch.rs`.

use std::collections::{BTreeMap, VecDeque};

use fleetd::fleet::ids::RunId;
use fleetd::fleet::input::Input;
use fleetd::fleet::record::Record;
use fleetd::fleet::time::Time;
use fleetd::fleet::{Fleet, Limits};

use super::callers::{Callers, action_of, call_of};
use super::charter::{limits, team};
use super::host::Host;
use super::journal::Journal;
use super::restored::difference;
use super::runs::Runs;
use super::schedule::{By, CharterPlan, Death, Delivery, Op, Schedule};
use super::story::Story;
use super::watch::{Broken, Watch};

/// One death of so many is looked at closely.
const LOOKED_AT: u64 = 32;

/// A fault that is built into the harness, to see that it is found.
#[derive(Clone, Copy, Debug)]
pub enum Plant {
    Nothing,
    /// The engine acts before it commits.
    EarlyRelease,
    /// The engine keeps the new fleet when a commit failed.
    NoFallBack,
    /// The engine gives no order again after a restart.
    NoResume,
    /// A launcher runs a turn again that it was handed again.
    RunsAgain,
    /// The store loses one kind of record.
    Loses(fn(&Record) -> bool),
    /// The engine answers before it commits.
    EarlyAnswer,
    /// The engine drops what was seen while the store failed.
    ForgetsSeen,
}

/// One fleet with everything around it.
pub struct World {
    pub now: Time,
    pub fleet: Fleet,
    pub journal: Journal,
    pub host: Host,
    pub runs: Runs,
    pub callers: Callers,
    pub story: Story,
    pub watch: Watch,
    pub limits: Limits,
    pub plant: Plant,
    pub prompt: [bool; 3],
    pub charter: (CharterPlan, u64),
    pub charter_given: bool,
    pub inbox: Vec<Input>,
    pub together: u8,
    pub unstored: VecDeque<(Time, Input)>,
    pub store_fails: u8,
    pub death: Option<(Death, i64, bool)>,
    /// How many steps were taken.
    pub steps: u64,
    /// What happened around the fleet, and how often.
    pub counts: BTreeMap<&'static str, u64>,
    /// Whether a sighting was lost, or the daemon said that it hands out nothing more: then only a restart helps.
    pub needs_restart: bool,
}

pub type Done = Result<(), Broken>;

impl World {
    pub fn new(schedule: &Schedule, plant: Plant, story: Story) -> World {
        World {
            now: Time(1_700_000_000_000),
            fleet: Fleet::new(limits()),
            journal: Journal::default(),
            host: Host::new(matches!(plant, Plant::RunsAgain)),
            runs: Runs::default(),
            callers: Callers::default(),
            story,
            watch: Watch::default(),
            limits: limits(),
            plant,
            prompt: [schedule.prompt_orders, schedule.prompt_sightings, schedule.prompt_runs],
            charter: (schedule.charter, 1),
            charter_given: false,
            inbox: Vec::new(),
            together: 0,
            unstored: VecDeque::new(),
            store_fails: 0,
            death: None,
            steps: 0,
            counts: BTreeMap::new(),
            needs_restart: false,
        }
    }

    /// Lets the first charter come into force.
    pub fn begin(&mut self) -> Done {
        self.give_charter()
    }

    /// Lets one event happen, and whatever follows it at once.
    pub fn happen(&mut self, op: Op) -> Done {
        self.story.op(op);
        if let Some((caller, call)) = call_of(op, &self.fleet, &self.journal, self.now) {
            let ticket = self.callers.ticket(caller.clone(), call.clone());
            self.feed(Input::Call { ticket, caller, call })?;
        }
        match op {
            Op::Act { pick, what } => {
                if let Some(action) = action_of(pick, what, &self.fleet, &self.journal) {
                    self.feed(Input::Act(action))?;
                }
            }
            Op::Leave { pick } => {
                let waits: Vec<_> = self.callers.open.keys().copied().collect();
                if let Some(ticket) = pick_of(&waits, pick) {
                    self.feed(Input::Leave(ticket))?;
                }
            }
            Op::Carry { pick } => self.carry(pick),
            Op::Exit { pick, ok, busy } => {
                if let Some(id) = pick_of(&self.host.running(), pick) {
                    self.host.exit(id, ok, busy);
                }
            }
            Op::Kill { pick } => {
                if let Some(name) = pick_of(&self.host.killable(), pick) {
                    self.story.tell(|| format!("{name} is killed from outside"));
                    self.host.kill(&name);
                }
            }
            Op::Up { pick, ok } => {
                if let Some(name) = pick_of(&self.host.starting(), pick) {
                    self.host.up(&name, ok);
                }
            }
            Op::Dialog { pick } => {
                if let Some(name) = pick_of(&self.host.sessions(), pick) {
                    self.host.dialog(&name);
                }
            }
            Op::Deliver { pick, how } => {
                self.needs_restart |= how == Delivery::Never;
                self.deliver(pick, how)?;
            }
            Op::ShutDown => {
                self.needs_restart = true;
                self.feed(Input::Drain)?;
            }
            Op::RunGo { pick } => self.run_goes(pick)?,
            Op::Advance { ms } => self.advance(ms)?,
            Op::Reload(plan) => {
                self.charter = (plan, self.charter.1 + 1);
                self.give_charter()?;
            }
            Op::Together { n } => self.together = n,
            Op::StoreFails { n } => self.store_fails = n,
            Op::Crash { when: Death::Now, jump_ms, late_charter } => self.die(jump_ms, late_charter)?,
            Op::Crash { when, jump_ms, late_charter } => self.death = Some((when, jump_ms, late_charter)),
            _ => {}
        }
        self.follow()
    }

    /// Lets what comes promptly in this schedule come.
    pub fn follow(&mut self) -> Done {
        for _ in 0..40 {
            let [orders, sightings, runs] = self.prompt;
            if orders {
                while self.carry_one(0) {}
            }
            self.faults()?;
            if sightings && !self.host.sightings.is_empty() {
                self.deliver(0, Delivery::Once)?;
            } else if runs && !self.runs.outbox.is_empty() {
                self.run_goes(0)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    pub fn faults(&mut self) -> Done {
        let fault = self.host.fault.take().map(|how| Broken { rule: "the host", how });
        let fault = fault.or_else(|| self.runs.fault.take().map(|how| Broken { rule: "the run", how }));
        fault.map_or(Ok(()), Err)
    }

    pub fn carry_one(&mut self, pick: u8) -> bool {
        let order = self.host.carry(pick);
        if let Some(order) = &order {
            self.story.order(order);
        }
        order.is_some()
    }

    fn carry(&mut self, pick: u8) {
        self.carry_one(pick);
    }

    pub fn deliver(&mut self, pick: u8, how: Delivery) -> Done {
        match self.host.deliver(pick, how) {
            Some(sighting) => self.feed(Input::Seen(sighting)),
            None => Ok(()),
        }
    }

    pub fn run_goes(&mut self, pick: u8) -> Done {
        let at = usize::from(pick) % self.runs.outbox.len().max(1);
        match self.runs.outbox.remove(at) {
            Some(input) => self.feed(Input::Run(input)),
            None => Ok(()),
        }
    }

    /// Time passes: either the engine wakes for each timer, or the machine slept and wakes once.
    pub fn advance(&mut self, ms: u64) -> Done {
        // No order and no sighting is ever as late as minutes.
        let long = ms > 300_000;
        if long {
            self.hurry()?;
        }
        let target = Time(self.now.0 + ms);
        for _ in 0..20 {
            match self.fleet.next_wake() {
                Some(at) if ms.is_multiple_of(2) && at < target => {
                    self.now = self.now.max(at);
                    self.feed(Input::Tick)?;
                    if long {
                        self.hurry()?;
                    }
                }
                _ => break,
            }
        }
        self.now = target.max(self.now);
        self.feed(Input::Tick)
    }

    fn hurry(&mut self) -> Done {
        self.together = 0;
        self.flush()?;
        while self.carry_one(0) || !self.host.sightings.is_empty() {
            self.faults()?;
            self.deliver(0, Delivery::Once)?;
        }
        Ok(())
    }

    pub fn give_charter(&mut self) -> Done {
        self.charter_given = true;
        let (plan, number) = self.charter;
        self.feed(Input::Team(team(plan, number)))
    }

    // === death ===

    /// The daemon dies and comes back.
    pub fn die(&mut self, jump_ms: i64, late_charter: bool) -> Done {
        self.compare()?;
        self.host.daemon_died();
        self.runs.daemon_died();
        self.callers.open.clear();
        self.inbox.clear();
        self.unstored.clear();
        self.needs_restart = false;
        self.count("death");
        self.together = 0;
        self.death = None;
        self.now = Time(self.now.0.saturating_add_signed(jump_ms));
        self.watch.daemon_died(self.now);
        self.story.tell(|| format!("the daemon dies and comes back, {jump_ms} ms off"));
        let back = Fleet::restore(self.journal.saved(), self.limits.clone());
        let went = std::mem::replace(&mut self.fleet, back);
        self.compare()?;
        // Reading two fleets as texts takes a while: one death of so many shows what is forgotten.
        if self.steps.is_multiple_of(LOOKED_AT)
            && let Some(how) = difference(&went, &self.fleet)
        {
            return Err(Broken { rule: "what comes back is what went", how });
        }
        if !matches!(self.plant, Plant::NoResume) {
            let orders = self.fleet.resume(self.now);
            self.act(orders)?;
        }
        self.host.look_around(self.fleet.workers());
        self.charter_given = false;
        if late_charter { Ok(()) } else { self.give_charter() }
    }

    /// What would be read back is what the fleet holds.
    pub fn compare(&self) -> Done {
        let (held, stored) = (self.fleet.saved(), self.journal.saved());
        macro_rules! same {
            ($($field:ident)*) => {$(
                if held.$field != stored.$field {
                    let how = format!("{}: held {:?}, stored {:?}", stringify!($field), held.$field, stored.$field);
                    return Err(Broken { rule: "the store holds what the fleet holds", how });
                }
            )*};
        }
        same!(next turns workers messages questions runs steps keys notes parked budgets paused seat drafts);
        Ok(())
    }

    /// The store works again, nobody dies any more, and whoever was slow is not.
    pub fn calm_down(&mut self) -> Done {
        self.store_fails = 0;
        self.death = None;
        self.together = 0;
        self.host.tame = true;
        self.prompt = [true; 3];
        self.flush()?;
        if self.fleet.paused().is_some() {
            self.happen(Op::Pause { by: By::Operator, on: false })?;
        }
        if self.charter_given { Ok(()) } else { self.give_charter() }
    }

    /// Returns the runs that have not ended.
    pub fn open_runs(&self) -> Vec<RunId> {
        self.fleet.runs().filter(|run| run.outcome.is_none()).map(|run| run.id).collect()
    }
}

fn pick_of<T: Clone>(items: &[T], pick: u8) -> Option<T> {
    items.get(usize::from(pick).checked_rem(items.len())?).cloned()
}
