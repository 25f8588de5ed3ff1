//! The coroutines of a run: what each belongs to and waits for, how `run:each` and its like start and gather them, and how
//! they are given up. When one goes on is decided in `live`, when a race or a vote is, in `decided`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mlua::{Function, MultiValue, Thread, Value as LuaValue};
use serde_json::Value;

use super::decided::{is_good, outcome, vote};
use super::failed;
use super::live::LiveRun;
use crate::charter::steps::{self, Kind, Reached};
use crate::charter::world::World;
use crate::fleet::ids::StepPath;
use crate::fleet::run::{RunEnd, RunInput};

/// One coroutine.
pub(super) struct Strand {
    /// Absent once it has ended: a coroutine holds everything that its locals hold.
    pub thread: Option<Thread>,
    /// What stands before the paths of its steps.
    pub scope: String,
    pub counts: HashMap<&'static str, u32>,
    pub place: Place,
    pub used: Duration,
}

/// What a coroutine is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The recipe's function.
    Recipe,
    /// One part of a `run:each`, `run:race` or `run:vote`.
    Part { group: usize, place: usize },
    /// The function beside a send that answers what is asked in its turn.
    Answers { send: StepPath },
}

/// The coroutines of one `run:each`, `run:race` or `run:vote`.
pub(super) struct Group {
    pub parent: usize,
    pub kind: Kind,
    pub path: String,
    /// Where it is in the charter.
    pub at: String,
    pub members: Vec<usize>,
    /// What came, in the order of the items; null where nothing did.
    pub results: Vec<LuaValue>,
    /// Which parts came to an end.
    pub came: Vec<bool>,
    pub left: usize,
    /// The values that were voted for, in the order in which they first came.
    pub votes: Vec<Votes>,
}

/// Parts that agree.
pub(super) struct Votes {
    /// What they agree on, in a form in which equal values are equal texts.
    pub key: String,
    pub value: LuaValue,
    /// Their places, from 0.
    pub parts: Vec<usize>,
}

/// How a coroutine goes on.
pub(super) enum Resume {
    Start(MultiValue),
    Slice,
    Value(LuaValue),
    Error(String),
}

/// A coroutine that waits for a step.
pub(super) struct Waiting {
    pub strand: usize,
    pub verb: &'static str,
    pub hash: String,
    pub what: String,
    pub at: String,
    pub refused: bool,
}

impl Strand {
    pub fn new(thread: Thread, scope: String, place: Place) -> Strand {
        Strand { thread: Some(thread), scope, counts: HashMap::new(), place, used: Duration::ZERO }
    }
}

impl LiveRun {
    /// Adds a coroutine that goes on as soon as the others wait.
    pub(super) fn begin(
        &mut self,
        world: &World,
        function: &Function,
        args: Vec<LuaValue>,
        scope: String,
        place: Place,
    ) -> Result<usize, RunEnd> {
        let thread = match world.lua.create_thread(function.clone()) {
            Ok(thread) => thread,
            Err(error) => return Err(failed(world.failure(&error, None).error.to_string())),
        };
        let index = self.strands.len();
        self.runnable.push_back((index, Resume::Start(MultiValue::from_vec(args))));
        self.strands.push(Strand::new(thread, scope, place));
        Ok(index)
    }

    pub(super) fn parts(
        &mut self,
        world: &World,
        parent: usize,
        (kind, at): (Kind, String),
        items: Vec<LuaValue>,
        function: &Function,
    ) -> Result<(), RunEnd> {
        let path = self.path(parent, kind.verb());
        let group = self.groups.len();
        let left = items.len();
        let mut members = Vec::with_capacity(left);
        for (place, item) in items.into_iter().enumerate() {
            let args = vec![item, LuaValue::Number((place + 1) as f64)];
            let scope = format!("{path}[{}].", place + 1);
            members.push(self.begin(world, function, args, scope, Place::Part { group, place })?);
        }
        let (results, came) = (vec![LuaValue::NULL; left], vec![false; left]);
        self.groups.push(Group { parent, kind, path, at, members, results, came, left, votes: Vec::new() });
        match left {
            0 => self.gathered(world, group),
            _ => Ok(()),
        }
    }

    /// Takes what one part returned.
    pub(super) fn gather(
        &mut self,
        world: &World,
        group: usize,
        place: usize,
        value: LuaValue,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        let value = if value.is_nil() { LuaValue::NULL } else { value };
        let of = &mut self.groups[group];
        of.results[place] = value.clone();
        of.came[place] = true;
        of.left -= 1;
        let decided = match of.kind {
            Kind::Each => None,
            Kind::Race => is_good(&value).then(|| (format!("part {} won", place + 1), Value::from(place + 1))),
            Kind::Vote { quorum } => match vote(&world.lua, of, quorum, place, value) {
                Ok(decided) => decided,
                Err(why) => {
                    let why = format!("{}: run:vote: part {} cannot be counted: {why}", of.at, place + 1);
                    return self.broke(group, place, why, out);
                }
            },
        };
        match (decided, self.groups[group].left) {
            (Some((what, decided)), 1..) => {
                self.give_up(group, steps::give_up(self.groups[group].kind, what, &decided), out)?;
                self.gathered(world, group)
            }
            (_, 0) => self.gathered(world, group),
            (None, _) => Ok(()),
        }
    }

    /// One part had an error: the whole has it, and the other parts are given up.
    pub(super) fn broke(
        &mut self,
        group: usize,
        place: usize,
        why: String,
        out: &mut dyn FnMut(RunInput),
    ) -> Result<(), RunEnd> {
        self.give_up(group, steps::broke(self.groups[group].kind, place + 1), out)?;
        let parent = self.groups[group].parent;
        self.runnable.push_back((parent, Resume::Error(why)));
        Ok(())
    }

    /// Gives up the parts that go on. First the fleet is told, so that it asks nobody what they would have passed on.
    fn give_up(&mut self, group: usize, step: Reached, out: &mut dyn FnMut(RunInput)) -> Result<(), RunEnd> {
        let of = &self.groups[group];
        let (path, at) = (StepPath::from(of.path.as_str()), of.at.clone());
        let members = of.members.clone();
        self.submit(path.clone(), step, at, out)?;
        self.unheard.insert(path);
        self.abandon(members, out)
    }

    fn gathered(&mut self, world: &World, group: usize) -> Result<(), RunEnd> {
        match outcome(&world.lua, &mut self.groups[group]) {
            Ok(table) => {
                let parent = self.groups[group].parent;
                self.runnable.push_back((parent, Resume::Value(LuaValue::Table(table))));
                Ok(())
            }
            Err(error) => Err(failed(world.failure(&error, None).error.to_string())),
        }
    }

    /// Gives up coroutines with all below them; what they wait for may still come and is ignored. Questions that they
    /// were to answer are passed on.
    pub(super) fn abandon(&mut self, mut open: Vec<usize>, out: &mut dyn FnMut(RunInput)) -> Result<(), RunEnd> {
        let mut dead = HashSet::new();
        while let Some(strand) = open.pop() {
            if !dead.insert(strand) {
                continue;
            }
            self.strands[strand].thread = None;
            for group in self.groups.iter().filter(|group| group.parent == strand) {
                open.extend(&group.members);
            }
            open.extend(self.answerers_of(strand));
        }
        let gone: Vec<StepPath> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| dead.contains(&waiting.strand))
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            self.waiting.remove(&path);
            self.unheard.insert(path);
        }
        self.pass_on_all(&dead, out)
    }

    pub(super) fn path(&mut self, strand: usize, verb: &'static str) -> String {
        let strand = &mut self.strands[strand];
        let count = strand.counts.entry(verb).or_default();
        *count += 1;
        format!("{}{verb}#{count}", strand.scope)
    }
}
