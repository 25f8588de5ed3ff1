//! What the files of a charter declared: as data for the fleet, and as functions that stay in the VM.
//! The functions belong to one VM and never leave its thread; only the data, as a `Team`, goes to the fleet.

use std::rc::Rc;

use mlua::{Function, Value as LuaValue};
use serde_json::Value;

use super::describe;
use super::json;
use super::launchers::{self, Launcher};
use super::shapes::{self, Written};
use super::shipped;
use super::spec::{self, Declared};
use crate::fleet::refusal::nearest;
use crate::fleet::shape::Shapes;
use crate::fleet::team::{Generation, RecipeSpec, Role, Team};

/// Where something was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A function with its name and place: a rubric, a handler or a test.
#[derive(Clone)]
pub(super) struct Named {
    /// The rubric's reason, the event or the test's name.
    pub name: String,
    /// Where it stands.
    pub at: At,
    /// The code.
    pub function: Function,
}

/// What a call of a verb means just now.
#[derive(Default)]
pub(super) enum Mode {
    /// Nothing is being loaded: a declaration is a mistake.
    #[default]
    Idle,
    /// A generation is being loaded; this file is executed.
    Load {
        /// The file.
        entry: String,
    },
    /// A file is executed anew for one run; only its recipe matters.
    Instance {
        /// The recipe.
        recipe: String,
        /// Its function, once it was declared.
        found: Option<Function>,
    },
}

/// Everything that was declared.
#[derive(Default)]
pub(super) struct Registry {
    /// What a call of a verb means just now.
    pub mode: Mode,
    /// The field that the last refusal was about.
    pub wrong_field: Option<String>,
    /// Profiles; each has its plan once its launcher was asked.
    pub profiles: Vec<(Declared, At)>,
    /// Launchers, fleetd's own first.
    pub launchers: Vec<Launcher>,
    /// Roles.
    pub roles: Vec<(Role, At)>,
    /// Recipes, each with the file whose execution declares it.
    pub recipes: Vec<(RecipeSpec, At, String)>,
    /// Shapes, as they were written, and as schemas once all files are read.
    pub shapes: (Vec<Written>, Shapes),
    /// Rubrics, in the order in which they are asked; whoever asks them holds them meanwhile.
    pub rubrics: Rc<Vec<Named>>,
    /// Handlers of events.
    pub handlers: Vec<Named>,
    /// Tests.
    pub tests: Vec<Named>,
}

impl Registry {
    /// Takes one declaration; the error is what the author is told.
    pub(super) fn declare(
        &mut self,
        verb: &str,
        name: &LuaValue,
        spec: &LuaValue,
        function: Option<Function>,
        file: &str,
        line: u32,
    ) -> Result<(), String> {
        let entry = match &mut self.mode {
            Mode::Idle => {
                return Err(format!("fleet.{verb} declares: it can only be called while the charter is loaded"));
            }
            Mode::Instance { recipe, found } => {
                let wanted = verb == "recipe" && name.as_string().is_some_and(|n| n.as_bytes() == recipe.as_bytes());
                if wanted {
                    *found = function;
                }
                return Ok(());
            }
            Mode::Load { entry } => entry.clone(),
        };
        let at = At { file: file.to_owned(), line };
        let name = match name {
            LuaValue::String(name) => name.to_string_lossy(),
            other => {
                return Err(format!("fleet.{verb}: expected a name as the first argument, got {}", other.type_name()));
            }
        };
        self.declare_named(verb, &name, spec, function, at, entry)
    }

    fn declare_named(
        &mut self,
        verb: &str,
        name: &str,
        spec: &LuaValue,
        function: Option<Function>,
        at: At,
        entry: String,
    ) -> Result<(), String> {
        if let (Some(function), "route" | "on" | "test") = (function.clone(), verb) {
            return self.declare_function(verb, name, function, at);
        }
        check_name(verb, name)?;
        let is_shipped = at.file.starts_with(shipped::PREFIX);
        let taken = match verb {
            "profile" => self.profiles.iter().find(|(p, _)| p.profile.name.as_str() == name).map(|(_, at)| at),
            // One of fleetd's own may be declared anew.
            "launcher" => self.launchers.iter().find(|one| one.name == name && !one.shipped).map(|one| &one.at),
            "role" => self.roles.iter().find(|(r, _)| r.name.as_str() == name).map(|(_, at)| at),
            "shape" => self.shapes.0.iter().find(|shape| shape.name == name).map(|shape| &shape.at),
            _ => self.recipes.iter().find(|(r, _, _)| r.name.as_str() == name).map(|(_, at, _)| at),
        };
        if let Some(first) = taken {
            return Err(format!("{verb} '{name}' was already declared at {first}"));
        }
        let spec = match spec {
            LuaValue::Nil => Value::Null,
            spec => json::to_json(spec, json::STEP_BYTES).map_err(|why| {
                // It begins with the path to what is wrong.
                let path = why.split_once(": ").map_or("", |(path, _)| path);
                self.wrong_field = path.split(['.', '[']).next().map(str::to_owned).filter(|field| !field.is_empty());
                format!("{verb} '{name}': {why}")
            })?,
        };
        let blame = |wrong: spec::Wrong| (wrong.field, wrong.message);
        let done = match verb {
            "profile" => spec::profile(name, &spec).map(|p| self.profiles.push((p, at))).map_err(blame),
            "role" => spec::role(name, &spec).map(|r| self.roles.push((r, at))).map_err(blame),
            "shape" => shapes::check_name(name)
                .map(|()| self.shapes.0.push(Written { name: name.to_owned(), schema: spec, at }))
                .map_err(|why| (None, why)),
            "launcher" => match function {
                Some(function) => launchers::read(name, &spec, function, at, is_shipped)
                    .map(|launcher| self.take_launcher(launcher))
                    .map_err(blame),
                None => Err((None, "fleet.launcher: expected a function as the last argument".to_owned())),
            },
            _ => spec::recipe(name, &spec, at.to_string()).map(|r| self.recipes.push((r, at, entry))).map_err(blame),
        };
        done.map_err(|(field, message)| {
            self.wrong_field = field;
            message
        })
    }

    fn declare_function(&mut self, verb: &str, name: &str, function: Function, at: At) -> Result<(), String> {
        let list = match verb {
            "route" => Rc::make_mut(&mut self.rubrics),
            "test" => &mut self.tests,
            _ => {
                let events = describe::EVENTS.iter().map(|event| event.name);
                if !events.clone().any(|event| event == name) {
                    let hint = match nearest(name, events.clone()) {
                        Some(near) => format!("did you mean '{near}'? "),
                        None => String::new(),
                    };
                    return Err(format!(
                        "there is no event '{name}'; {hint}valid: {}",
                        events.collect::<Vec<_>>().join(", ")
                    ));
                }
                &mut self.handlers
            }
        };
        if name.trim().is_empty() {
            return Err(format!("fleet.{verb}: the first argument must say what it is for"));
        }
        if let (Some(first), true) = (list.iter().find(|other| other.name == name), verb != "on") {
            return Err(format!(
                "{} '{name}' was already declared at {}",
                if verb == "route" { "rubric" } else { "test" },
                first.at
            ));
        }
        list.push(Named { name: name.to_owned(), at, function });
        Ok(())
    }

    fn take_launcher(&mut self, launcher: Launcher) {
        self.launchers.retain(|other| other.name != launcher.name);
        self.launchers.push(launcher);
    }

    /// Returns the file whose execution declares a recipe.
    pub(super) fn entry_of(&self, recipe: &str) -> Option<String> {
        self.recipes.iter().find(|(spec, _, _)| spec.name.as_str() == recipe).map(|(_, _, entry)| entry.clone())
    }

    /// Returns everything as plain data.
    pub(super) fn team(&self, generation: Generation) -> Team {
        Team {
            generation,
            profiles: self.profiles.iter().map(|(p, _)| (p.profile.name.clone(), p.profile.clone())).collect(),
            roles: self.roles.iter().map(|(r, _)| (r.name.clone(), r.clone())).collect(),
            recipes: self.recipes.iter().map(|(r, _, _)| (r.name.clone(), r.clone())).collect(),
            shapes: self.shapes.1.clone(),
            rubrics: self.rubrics.iter().map(|rubric| rubric.name.clone()).collect(),
            handlers: self.handlers.iter().map(|handler| handler.name.clone()).collect(),
        }
    }
}

fn check_name(verb: &str, name: &str) -> Result<(), String> {
    let good = !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && name.as_bytes()[0].is_ascii_alphabetic();
    match good {
        true => Ok(()),
        false => Err(format!(
            "'{name}' cannot be the name of a {verb}: letters, digits, '-' and '_', beginning with a letter, 64 at most"
        )),
    }
}
