//! One Luau VM with the world that a charter sees, and everything the charter declared in it.
//!
//! A world is built in one go: all files are executed, which only declares, and the result is checked as a whole.
//! It belongs to one thread. No runs and no channels here.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mlua::state::{GcIncParams, GcMode};
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, MultiValue, StdLib, Table, Thread, Value as LuaValue};

use super::check;
use super::declare::{At, Mode, Registry};
use super::describe;
use super::error::{CharterError, CharterErrors};
use super::launchers;
use super::meter::{self, Allowance, Meter};
use super::native;
use super::point;
use super::shapes;
use super::shipped;
use super::shown::Shown;
use super::sources::Sources;
use super::spec::Wrong;
use crate::fleet::team::{Generation, Team};

const PRELUDE: &str = include_str!("../../lua/prelude.lua");
const CHECKS: &str = include_str!("../../lua/prelude_checks.lua");
/// How much memory one VM may use.
pub(super) const MEMORY: usize = 64 * 1024 * 1024;
/// How much of it can be held before others may find too little.
const CROWDED: usize = MEMORY / 4 * 3;

/// A VM with a whole charter loaded in it.
pub(super) struct World {
    /// The VM.
    pub lua: Lua,
    /// Its clock.
    pub meter: Rc<Meter>,
    /// What it was loaded from.
    pub sources: Arc<Sources>,
    /// What it declares, as data.
    pub team: Arc<Team>,
    /// What it declares, as code.
    pub registry: Rc<RefCell<Registry>>,
    /// Starts a recipe's function and tells how it ended.
    pub main: Function,
    /// Calls a rubric with frozen tables.
    pub route: Function,
    /// Calls a handler with a frozen event.
    pub handle: Function,
    /// Freezes a table with all that is in it.
    pub freeze: Function,
    /// Freezes a question, and makes another field than it has a mistake.
    pub question: Function,
    /// Calls a test.
    pub test: Function,
    /// Calls a scripted worker and tells how its turn ended.
    pub scripted: Function,
    /// What scripts printed, while a test plays.
    pub printed: native::Printed,
    make_instance: Function,
    /// The team as rubrics were shown it last.
    pub shown: RefCell<Shown>,
    /// A coroutine whose call has ended well: the next call takes it, since to make one costs more than most rubrics do.
    spare: RefCell<Option<Thread>>,
    relief: Cell<usize>,
    /// From here on it is crowded.
    crowd: Cell<usize>,
    /// True once memory ran out.
    starved: Cell<bool>,
}

/// How a call into Lua went wrong.
#[derive(Debug)]
pub(super) struct Failure {
    /// The error with its position.
    pub error: CharterError,
    /// True when a limit was passed or memory ran out: no script may go on after that.
    pub fatal: bool,
}

impl World {
    /// Builds a VM and loads a charter into it; `beat` counts up while its scripts run.
    pub(super) fn load(
        sources: Arc<Sources>,
        generation: Generation,
        beat: Arc<AtomicU64>,
    ) -> Result<World, CharterErrors> {
        let mut world = World::empty(Arc::clone(&sources), beat)
            .map_err(|error| CharterError::plain(format!("cannot set up the VM: {error}")))?;
        let mut errors = Vec::new();
        let mut left = Allowance::LOAD.time;
        // One environment for all files: what two of them require is executed once.
        let env = world.environment().map_err(|failure| failure.error)?;
        let own = shipped::launchers();
        for name in own.iter().map(String::as_str).chain(sources.iter().map(|(name, _)| name)) {
            let result = match name.starts_with("lib/") {
                // A module runs when it is required; here only its syntax is looked at.
                true => world.compile(name, LuaValue::Nil).map(drop),
                false => world.execute(name, env.clone(), &mut left),
            };
            if let Err(failure) = result {
                // A broken module is met by its own name and by everyone who requires it.
                if !errors.contains(&failure.error) {
                    errors.push(failure.error);
                }
                if failure.fatal {
                    break;
                }
            }
        }
        world.registry.borrow_mut().mode = Mode::Idle;
        if errors.is_empty() {
            errors = check::generation(&world.registry.borrow(), &sources);
            errors.extend(launchers::plan_all(&world));
            errors.extend(world.resolve_shapes());
        }
        if !errors.is_empty() {
            return Err(CharterErrors(errors));
        }
        let team = world.registry.borrow().team(generation);
        world.team = Arc::new(team);
        Ok(world)
    }

    fn empty(sources: Arc<Sources>, beat: Arc<AtomicU64>) -> mlua::Result<World> {
        let libs = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::DEBUG;
        let lua = Lua::new_with(libs, LuaOptions::new())?;
        lua.set_memory_limit(MEMORY)?;
        // Garbage counts against the limit: collect it long before the heap has doubled.
        lua.gc_set_mode(GcMode::Incremental(GcIncParams::default().goal(130).step_multiplier(400)));
        let registry = Rc::new(RefCell::new(Registry::default()));
        let meter = Meter::install(&lua, beat);
        let printed = native::Printed::default();
        let natives =
            native::table(&lua, Rc::clone(&registry), Arc::clone(&sources), Rc::clone(&meter), Rc::clone(&printed))?;
        for (name, fields) in [("task_fields", describe::TASK), ("load_fields", describe::LOAD)] {
            natives.set(name, lua.create_table_from(fields.iter().map(|field| (field.name, true)))?)?;
        }
        let given = lua.create_table()?;
        for (name, what, fields) in describe::GIVEN {
            let of = lua.create_table()?;
            of.set("what", *what)?;
            of.set("fields", lua.create_table_from(fields.iter().map(|field| (field.name, true)))?)?;
            given.set(*name, of)?;
        }
        natives.set("given", given)?;
        let parts = lua.create_table()?;
        for (name, fields) in describe::PARTS_OF_REPLY {
            parts.set(*name, lua.create_table_from(fields.iter().map(|field| (*field, true)))?)?;
        }
        natives.set("parts_of_reply", parts)?;
        let events = lua.create_table()?;
        for event in describe::EVENTS {
            let names = event.fields.iter().map(|field| field.name).chain(["event"]);
            events.set(event.name, lua.create_table_from(names.map(|name| (name, true)))?)?;
        }
        natives.set("event_fields", events)?;
        let prelude: Table = lua.load(PRELUDE).set_name("=prelude").call(natives.clone())?;
        let own: Table = prelude.get("own")?;
        let checks: Table = lua.load(CHECKS).set_name("=prelude").call((natives, own))?;
        lua.sandbox(true)?;
        meter.locate_with(prelude.get("where_is")?);
        Ok(World {
            main: prelude.get("main")?,
            route: prelude.get("route")?,
            handle: prelude.get("handle")?,
            freeze: prelude.get("freeze")?,
            test: checks.get("test")?,
            scripted: checks.get("scripted")?,
            printed,
            question: checks.get("question")?,
            make_instance: prelude.get("make_instance")?,
            team: Arc::default(),
            shown: RefCell::new(Shown::nothing(&prelude.get("shows")?)?),
            spare: RefCell::default(),
            relief: Cell::new(MEMORY / 2),
            crowd: Cell::new(CROWDED),
            starved: Cell::new(false),
            lua,
            meter,
            sources,
            registry,
        })
    }

    /// Executes the file that declares a recipe in a fresh environment and returns the recipe's function.
    pub(super) fn instance(&self, recipe: &str) -> Result<Function, Failure> {
        let entry = self.registry.borrow().entry_of(recipe);
        let Some(entry) = entry else {
            return Err(Failure {
                error: CharterError::plain(format!("the charter has no recipe '{recipe}'")),
                fatal: true,
            });
        };
        self.registry.borrow_mut().mode = Mode::Instance { recipe: recipe.to_owned(), found: None };
        let mut left = Allowance::LOAD.time;
        let done = self.environment().and_then(|env| self.execute_as(&entry, env, &mut left));
        let mode = std::mem::take(&mut self.registry.borrow_mut().mode);
        done?;
        match mode {
            Mode::Instance { found: Some(function), .. } => Ok(function),
            _ => Err(Failure {
                error: CharterError::plain(format!(
                    "{entry} declared the recipe '{recipe}' when it was loaded, and does not now"
                )),
                fatal: true,
            }),
        }
    }

    /// Calls a function that may not wait, with an allowance.
    pub(super) fn call(
        &self,
        function: &Function,
        args: impl IntoLuaMulti,
        allowance: Allowance,
    ) -> Result<MultiValue, Failure> {
        self.call_within(function, args, allowance).0
    }

    fn call_within(
        &self,
        function: &Function,
        args: impl IntoLuaMulti,
        allowance: Allowance,
    ) -> (Result<MultiValue, Failure>, Duration) {
        let spare = self.spare.take();
        let made = match spare {
            Some(spare) => spare.reset(function.clone()).map(|()| spare),
            None => self.lua.create_thread(function.clone()),
        };
        let thread = match made {
            Ok(thread) => thread,
            Err(error) => return (Err(self.failure(&error, None)), Duration::ZERO),
        };
        let (result, time) = self.resume(&thread, args, allowance);
        let result = match result {
            Ok(_) if thread.is_resumable() => {
                Err(Failure { error: CharterError::plain("only a recipe may wait"), fatal: false })
            }
            Ok(values) => {
                *self.spare.borrow_mut() = Some(thread);
                Ok(values)
            }
            Err(failure) => Err(failure),
        };
        (result, time)
    }

    /// Lets a coroutine run on until it waits or ends, with an allowance; returns also how long it ran.
    pub(super) fn resume(
        &self,
        thread: &Thread,
        args: impl IntoLuaMulti,
        allowance: Allowance,
    ) -> (Result<MultiValue, Failure>, Duration) {
        self.meter.begin(thread, allowance);
        let result = thread.resume::<MultiValue>(args);
        let used = self.meter.end();
        let result = match result {
            Err(error) => Err(self.failure(&error, used.blown)),
            Ok(_) if used.blown.is_some() => Err(self.failure(&mlua::Error::StackError, used.blown)),
            Ok(values) => Ok(values),
        };
        (result, used.time)
    }

    /// Does the next piece of the collector's work, now that nobody waits for an answer. One of its pieces cannot be
    /// divided, and takes longer than a rubric may.
    pub(super) fn tidy(&self) {
        let _ = self.lua.gc_step();
    }

    /// Collects garbage when much of the memory is in use, so that a script only runs out of it when it holds it.
    pub(super) fn relieve(&self) {
        if self.lua.used_memory() > self.relief.get() {
            let _ = self.lua.gc_collect();
            // What is held stays; the next full collection is worth it when a quarter of it has been added.
            self.relief.set((self.lua.used_memory() / 4 * 5).max(MEMORY / 2));
        }
    }

    /// Turns an error of Lua into one of a charter; collects all garbage if memory ran out.
    pub(super) fn failure(&self, error: &mlua::Error, blown: Option<String>) -> Failure {
        let blown = blown.or_else(|| native::is_memory(error).then(|| self.meter.out_of_memory_at_the_end()));
        if let Some(text) = blown {
            if text.ends_with(meter::MEMORY) {
                self.starved.set(true);
                self.collect();
            }
            return Failure { error: CharterError::read(&self.sources, &text), fatal: true };
        }
        let mut failure = Failure { error: native::read_error(&self.sources, error), fatal: false };
        if let Some(line) = &failure.error.source_line {
            failure.error.hint = point::advice(&failure.error.message, line).map(str::to_owned);
        }
        failure
    }

    /// Returns whether memory ran out since this was asked last, and what is held after all garbage was collected is
    /// so much that it will again.
    pub(super) fn is_exhausted(&self) -> bool {
        self.starved.take() && {
            self.collect();
            self.lua.used_memory() > CROWDED
        }
    }

    /// Returns whether so much of the memory is held that there may be too little for the next who needs some.
    pub(super) fn is_crowded(&self) -> bool {
        let crowded = |world: &World| world.lua.used_memory() > world.crowd.get();
        if !crowded(self) {
            return false;
        }
        self.collect();
        crowded(self)
    }

    /// Accepts what is held as it is; a quarter of what is left makes it crowded again.
    pub(super) fn bear_crowd(&self) {
        let used = self.lua.used_memory();
        self.crowd.set(used + MEMORY.saturating_sub(used) / 4);
    }

    /// Collects all garbage: twice, since a finalised object is only freed by the next collection.
    fn collect(&self) {
        self.meter.forget();
        self.spare.take();
        let _ = self.lua.gc_collect();
        let _ = self.lua.gc_collect();
    }

    /// Returns a mistake in what was declared at a place, at the line of the field that is to blame.
    pub(super) fn blame(&self, at: &At, wrong: Wrong) -> CharterError {
        let mut error = CharterError::at(&self.sources, &at.file, at.line, wrong.message);
        if let Some(field) = wrong.field {
            point::at_field(&mut error, &self.sources, &field);
        }
        error
    }

    /// Turns the shapes into schemas, now that all are known; returns what is wrong with them.
    fn resolve_shapes(&self) -> Vec<CharterError> {
        let (shapes, wrong) = shapes::resolve_all(&self.registry.borrow().shapes.0);
        self.registry.borrow_mut().shapes.1 = shapes;
        wrong.into_iter().map(|(at, wrong)| self.blame(&at, wrong)).collect()
    }

    fn environment(&self) -> Result<LuaValue, Failure> {
        self.make_instance.call(()).map_err(|error| self.failure(&error, None))
    }

    fn execute(&self, name: &str, env: LuaValue, left: &mut Duration) -> Result<(), Failure> {
        self.registry.borrow_mut().mode = Mode::Load { entry: name.to_owned() };
        self.registry.borrow_mut().wrong_field = None;
        self.execute_as(name, env, left).map_err(|mut failure| {
            let field = self.registry.borrow_mut().wrong_field.take();
            if let Some(field) = field {
                point::at_field(&mut failure.error, &self.sources, &field);
            }
            failure
        })
    }

    fn execute_as(&self, name: &str, env: LuaValue, left: &mut Duration) -> Result<(), Failure> {
        let function = self.compile(name, env)?;
        let allowance = Allowance { time: *left, ..Allowance::LOAD };
        let (result, used) = self.call_within(&function, (), allowance);
        *left = left.saturating_sub(used);
        result.map(drop)
    }

    fn compile(&self, name: &str, env: LuaValue) -> Result<Function, Failure> {
        native::compile(&self.lua, &self.sources, name, env).map_err(|error| self.failure(&error, None))
    }
}

#[cfg(test)]
mod tests;
