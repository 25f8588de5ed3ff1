//! The team as rubrics are shown it: tables that are made once and shown again as long as what they tell is the same.
//!
//! The prelude makes them, frozen, so nobody can tell an old one from a new one. Between two messages the rows of few workers
//! change, and a row costs as much as all that most rubrics do.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{Function, Lua, Table};

use crate::fleet::ids::{RoleName, WorkerName};
use crate::fleet::load::{EndpointLoad, RoleLoad, TeamLoad, Used, WorkerLoad};

/// What was shown last.
pub(super) struct Shown {
    roles: Rows<RoleName, RoleLoad>,
    endpoints: Rows<String, EndpointLoad>,
    workers: Rows<WorkerName, Arc<WorkerLoad>>,
    /// What the rows of the workers were made of.
    told: Arc<BTreeMap<WorkerName, Arc<WorkerLoad>>>,
    team: Option<Table>,
    make: Make,
}

/// The functions of the prelude that make tables.
struct Make {
    role: Function,
    endpoint: Function,
    worker: Function,
    rows: Function,
    team: Function,
}

/// The rows of one kind, each with what it tells.
struct Rows<K, V> {
    rows: BTreeMap<K, (V, Table)>,
    table: Option<Table>,
}

impl<K, V> Default for Rows<K, V> {
    fn default() -> Self {
        Rows { rows: BTreeMap::new(), table: None }
    }
}

impl Shown {
    /// Nothing was shown yet.
    pub(super) fn nothing(prelude: &Table) -> mlua::Result<Shown> {
        let make = Make {
            role: prelude.get("role")?,
            endpoint: prelude.get("endpoint")?,
            worker: prelude.get("worker")?,
            rows: prelude.get("rows")?,
            team: prelude.get("team")?,
        };
        let (roles, endpoints, workers) = (Rows::default(), Rows::default(), Rows::default());
        Ok(Shown { roles, endpoints, workers, told: Arc::default(), team: None, make })
    }

    /// Returns the table of a team.
    pub(super) fn team(&mut self, lua: &Lua, team: &TeamLoad) -> mlua::Result<Table> {
        let make = &self.make;
        // Taken: where memory runs out in between, it is not believed.
        let last = self.team.take();
        let roles = self.roles.show(make, &team.roles, |name| name.as_str(), |load| make.role(load))?;
        let endpoints = self.endpoints.show(make, &team.endpoints, String::as_str, |load| make.endpoint(load))?;
        let workers = match &self.workers.table {
            // Not even looked at: two hundred rows lie wherever the one who told them has put them.
            Some(table) if Arc::ptr_eq(&self.told, &team.workers) => (table.clone(), true),
            _ => self.workers.show(make, &team.workers, |name| name.as_str(), |load| make.worker(lua, load))?,
        };
        self.told = Arc::clone(&team.workers);
        let table = match (last, roles, endpoints, workers) {
            (Some(team), (_, true), (_, true), (_, true)) => team,
            (_, (roles, _), (endpoints, _), (workers, _)) => make.team.call((roles, endpoints, workers))?,
        };
        self.team = Some(table.clone());
        Ok(table)
    }
}

impl<K: Ord + Clone, V: PartialEq + Clone> Rows<K, V> {
    /// Returns the table of these rows, and whether it is the last one.
    fn show(
        &mut self,
        make: &Make,
        now: &BTreeMap<K, V>,
        name: impl Fn(&K) -> &str,
        row: impl Fn(&V) -> mlua::Result<Table>,
    ) -> mlua::Result<(Table, bool)> {
        let is_same = |rows: &Self| {
            let mut both = rows.rows.iter().zip(now);
            rows.rows.len() == now.len() && both.all(|((key, (old, _)), (name, new))| key == name && old == new)
        };
        if let Some(table) = self.table.as_ref().filter(|_| is_same(self)) {
            return Ok((table.clone(), true));
        }
        // Where memory runs out in between, all is made anew. So it is where one came or went, too: in which order a table
        // is walked depends on what it has been, and rubrics must not answer by that.
        let Rows { mut rows, table } = std::mem::take(self);
        let last = table.filter(|_| rows.keys().eq(now.keys()));
        let is_new = last.is_none();
        let table: Table = make.rows.call(last)?;
        rows.retain(|key, _| now.contains_key(key));
        for (key, new) in now {
            let row = match rows.get(key) {
                Some((old, row)) if old == new => match is_new {
                    true => row.clone(),
                    false => continue,
                },
                _ => {
                    let made = row(new)?;
                    rows.insert(key.clone(), (new.clone(), made.clone()));
                    made
                }
            };
            table.raw_set(name(key), row)?;
        }
        *self = Rows { rows, table: Some(table.clone()) };
        Ok((table, false))
    }
}

impl Make {
    fn role(&self, load: &RoleLoad) -> mlua::Result<Table> {
        let until = load.until.map(|at| at.0 as f64 / 1000.0);
        self.role.call((
            load.max_busy,
            load.max_workers,
            load.busy,
            load.free,
            load.waiting,
            load.max_waiting,
            load.workers,
            load.open,
            until,
            load.recent_failures,
            of(&load.used),
        ))
    }

    fn endpoint(&self, load: &EndpointLoad) -> mlua::Result<Table> {
        let EndpointLoad { max_busy, busy, free, recent_failures, used } = load;
        self.endpoint.call((*max_busy, *busy, *free, *recent_failures, of(used)))
    }

    fn worker(&self, lua: &Lua, load: &WorkerLoad) -> mlua::Result<Table> {
        let knows = (!load.knows.is_empty()).then(|| list(lua, &load.knows)).transpose()?;
        let (role, profile, state) = (load.role.as_str(), load.profile.as_str(), load.state.as_str());
        self.worker.call((role, profile, state, load.free, load.turns, knows))
    }
}

/// What was used, as the last arguments of a row.
fn of(used: &Used) -> (f64, f64, f64, f64) {
    (used.turns as f64, used.input as f64, used.output as f64, used.cost)
}

/// Returns texts as a list.
pub(super) fn list(lua: &Lua, texts: &[String]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(texts.len(), 0)?;
    for (n, text) in texts.iter().enumerate() {
        table.raw_seti(n + 1, text.as_str())?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use mlua::Value as LuaValue;

    use super::super::json;
    use super::super::sources::Sources;
    use super::super::world::World;
    use super::*;
    use crate::fleet::team::Generation;

    fn load(workers: &[(&str, u32)]) -> TeamLoad {
        let row = |(name, turns): &(&str, u32)| {
            let load = WorkerLoad { role: "w".into(), turns: *turns, ..WorkerLoad::default() };
            (WorkerName::from(*name), Arc::new(load))
        };
        let roles = BTreeMap::from([(RoleName::from("w"), RoleLoad::default())]);
        TeamLoad { roles, workers: Arc::new(workers.iter().map(row).collect()), ..TeamLoad::default() }
    }

    fn rows(team: &Table) -> Table {
        team.get("workers").expect("it is there")
    }

    /// The prelude gets the fields of a row by their place.
    #[test]
    fn each_field_of_a_row_has_its_own_value() {
        let used = Used { turns: 21, input: 22, output: 23, cost: 24.5 };
        let role = RoleLoad {
            max_busy: 1,
            max_workers: Some(2),
            busy: 3,
            free: 4,
            waiting: 5,
            max_waiting: 6,
            workers: 7,
            open: true,
            until: Some(crate::fleet::time::Time(8_500)),
            recent_failures: 9,
            used,
        };
        let endpoint = EndpointLoad { max_busy: Some(11), busy: 12, free: Some(13), recent_failures: 14, used };
        let worker = WorkerLoad {
            role: "a".into(),
            profile: "b".into(),
            state: "c".into(),
            free: true,
            turns: 15,
            knows: vec!["d".into()],
        };
        let mut told = TeamLoad { endpoints: BTreeMap::from([("llm".to_owned(), endpoint)]), ..TeamLoad::default() };
        told.roles.insert("w".into(), role);
        Arc::make_mut(&mut told.workers).insert("w-1".into(), Arc::new(worker));
        let world = World::load(Arc::new(Sources::from_files::<&str, &str>([])), Generation::default(), Arc::default());
        let world = world.expect("it loads");
        let shown = world.shown.borrow_mut().team(&world.lua, &told).expect("it is made");
        let shown = json::to_json(&LuaValue::Table(shown), json::STEP_BYTES).expect("it crosses");
        let mut wanted = serde_json::to_value(&told).expect("it is data");
        wanted["roles"]["w"]["until"] = serde_json::json!(8.5);
        assert_eq!(shown, wanted);
    }

    #[test]
    fn what_tells_the_same_is_shown_again_and_what_changed_is_made_anew() {
        let sources = Arc::new(Sources::from_files::<&str, &str>([]));
        let world = World::load(sources, Generation::default(), Arc::default()).expect("it loads");
        let show = |load: &TeamLoad| world.shown.borrow_mut().team(&world.lua, load).expect("it is made");
        let first = show(&load(&[("w-1", 1), ("w-2", 1)]));
        let same = show(&load(&[("w-1", 1), ("w-2", 1)]));
        assert_eq!(first.to_pointer(), same.to_pointer());
        let told = load(&[("w-2", 2), ("w-3", 1), ("w-1", 1)]);
        let next = show(&told);
        let row = |team: &Table, name: &str| rows(team).get::<Table>(name).expect("it is there");
        assert_eq!(row(&first, "w-1").to_pointer(), row(&next, "w-1").to_pointer(), "it tells the same");
        let turns = |team: &Table, name: &str| row(team, name).get::<u32>("turns").expect("it is there");
        assert_eq!((turns(&first, "w-2"), turns(&next, "w-2"), turns(&next, "w-3")), (1, 2, 1));
        assert!(rows(&first).get::<Table>("w-3").is_err(), "what was shown before stays as it was");
        assert_eq!(next.to_pointer(), show(&told).to_pointer());
        let mut busy = told.clone();
        busy.roles.get_mut(&"w".into()).expect("it is there").busy = 3;
        let other = show(&busy);
        assert_eq!(rows(&other).to_pointer(), rows(&next).to_pointer(), "only a role stands otherwise");
        let fewer = show(&load(&[("w-3", 1)]));
        assert_eq!(rows(&fewer).pairs::<String, Table>().count(), 1, "who is gone is not shown");
        let names =
            |team: &Table| rows(team).pairs::<String, Table>().map(|pair| pair.expect("a row").0).collect::<Vec<_>>();
        let crowd: Vec<String> = (1..40).map(|n| format!("x-{n}")).collect();
        let crowd: Vec<(&str, u32)> = crowd.iter().map(|name| (name.as_str(), 1)).collect();
        show(&load(&crowd));
        let again = show(&load(&crowd[3..9]));
        let fresh = World::load(Arc::clone(&world.sources), Generation::default(), Arc::default()).expect("it loads");
        let alone = fresh.shown.borrow_mut().team(&fresh.lua, &load(&crowd[3..9])).expect("it is made");
        assert_eq!(names(&again), names(&alone), "in which order they are walked does not tell what was before");
        assert!(rows(&fewer).is_readonly() && row(&fewer, "w-3").is_readonly());
    }
}
