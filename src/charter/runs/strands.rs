//! The coroutines of a run: what each belongs to and waits for, how `run:each` starts and gathers them, and how they are
//! given up. When one goes on is decided in `live`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mlua::{Function, MultiValue, Thread, Value as LuaValue};

use super::failed;
use super::live::LiveRun;
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
    /// One part of a `run:each`.
    Part { group: usize, place: usize },
    /// The function beside a send that answers what is asked in its turn.
    Answers { send: StepPath },
}

/// The coroutines of one `run:each`.
pub(super) struct Group {
    pub parent: usize,
    pub members: Vec<usize>,
    pub results: Vec<LuaValue>,
    pub left: usize,
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

    pub(super) fn each(
        &mut self,
        world: &World,
        parent: usize,
        path: &str,
        items: Vec<LuaValue>,
        function: &Function,
    ) -> Result<(), RunEnd> {
        let group = self.groups.len();
        let left = items.len();
        let mut members = Vec::with_capacity(left);
        for (place, item) in items.into_iter().enumerate() {
            let args = vec![item, LuaValue::Number((place + 1) as f64)];
            let scope = format!("{path}[{}].", place + 1);
            members.push(self.begin(world, function, args, scope, Place::Part { group, place })?);
        }
        self.groups.push(Group { parent, members, results: vec![LuaValue::NULL; left], left });
        match left {
            0 => self.gathered(world, group),
            _ => Ok(()),
        }
    }

    /// Takes what one part returned.
    pub(super) fn gather(&mut self, world: &World, group: usize, place: usize, value: LuaValue) -> Result<(), RunEnd> {
        let of = &mut self.groups[group];
        if !value.is_nil() {
            of.results[place] = value;
        }
        of.left -= 1;
        match of.left {
            0 => self.gathered(world, group),
            _ => Ok(()),
        }
    }

    fn gathered(&mut self, world: &World, group: usize) -> Result<(), RunEnd> {
        let results = std::mem::take(&mut self.groups[group].results);
        match world.lua.create_sequence_from(results) {
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
