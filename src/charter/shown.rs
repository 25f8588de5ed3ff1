//! The team as rubrics are shown it: tables that are made once and shown again as long as what they tell is the same.
//!
//! All of them are frozen when the first rubric gets them, so nobody can tell an old one from a new one. Between two
//! messages the rows of few workers change, and a row costs more than all that most rubrics do.

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
    /// `table.clone`, by which one row is exchanged among many.
    clone: Function,
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
    pub(super) fn nothing(clone: Function) -> Shown {
        let (roles, endpoints, workers) = (Rows::default(), Rows::default(), Rows::default());
        Shown { roles, endpoints, workers, told: Arc::default(), team: None, clone }
    }

    /// Returns the table of a team.
    pub(super) fn team(&mut self, lua: &Lua, team: &TeamLoad) -> mlua::Result<Table> {
        let roles = self.roles.show(lua, &self.clone, &team.roles, |name| name.as_str(), role)?;
        let endpoints = self.endpoints.show(lua, &self.clone, &team.endpoints, String::as_str, endpoint)?;
        let workers = match &self.workers.table {
            // Not even looked at: two hundred rows lie wherever the one who told them has put them.
            Some(table) if Arc::ptr_eq(&self.told, &team.workers) => (table.clone(), true),
            _ => self.workers.show(
                lua,
                &self.clone,
                &team.workers,
                |name| name.as_str(),
                |lua, load| worker(lua, load),
            )?,
        };
        self.told = Arc::clone(&team.workers);
        if let (Some(team), (_, true), (_, true), (_, true)) = (&self.team, &roles, &endpoints, &workers) {
            return Ok(team.clone());
        }
        let table = lua.create_table_with_capacity(0, 3)?;
        for (name, (rows, _)) in [("roles", roles), ("endpoints", endpoints), ("workers", workers)] {
            table.raw_set(name, rows)?;
        }
        self.team = Some(table.clone());
        Ok(table)
    }
}

impl<K: Ord + Clone, V: PartialEq + Clone> Rows<K, V> {
    /// Returns the table of these rows, and whether it is the last one.
    fn show(
        &mut self,
        lua: &Lua,
        clone: &Function,
        now: &BTreeMap<K, V>,
        name: impl Fn(&K) -> &str,
        make: impl Fn(&Lua, &V) -> mlua::Result<Table>,
    ) -> mlua::Result<(Table, bool)> {
        let is_same = |rows: &Self| {
            rows.rows.len() == now.len()
                && rows.rows.iter().zip(now).all(|((key, (old, _)), (name, new))| key == name && old == new)
        };
        if let Some(table) = self.table.as_ref().filter(|_| is_same(self)) {
            return Ok((table.clone(), true));
        }
        // Where memory runs out in between, all is made anew.
        let Rows { mut rows, table } = std::mem::take(self);
        let table = match table {
            Some(table) => clone.call::<Table>(table)?,
            None => lua.create_table_with_capacity(0, now.len())?,
        };
        for gone in rows.extract_if(.., |key, _| !now.contains_key(key)) {
            table.raw_remove(name(&gone.0))?;
        }
        for (key, new) in now {
            if rows.get(key).is_none_or(|(old, _)| old != new) {
                let row = make(lua, new)?;
                table.raw_set(name(key), &row)?;
                rows.insert(key.clone(), (new.clone(), row));
            }
        }
        *self = Rows { rows, table: Some(table.clone()) };
        Ok((table, false))
    }
}

fn role(lua: &Lua, load: &RoleLoad) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 11)?;
    table.raw_set("max_busy", load.max_busy)?;
    table.raw_set("max_workers", load.max_workers)?;
    table.raw_set("busy", load.busy)?;
    table.raw_set("free", load.free)?;
    table.raw_set("waiting", load.waiting)?;
    table.raw_set("max_waiting", load.max_waiting)?;
    table.raw_set("workers", load.workers)?;
    table.raw_set("open", load.open)?;
    table.raw_set("until", load.until.map(|at| at.0 as f64 / 1000.0))?;
    table.raw_set("recent_failures", load.recent_failures)?;
    table.raw_set("used", used(lua, &load.used)?)?;
    Ok(table)
}

fn endpoint(lua: &Lua, load: &EndpointLoad) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 5)?;
    table.raw_set("max_busy", load.max_busy)?;
    table.raw_set("busy", load.busy)?;
    table.raw_set("free", load.free)?;
    table.raw_set("recent_failures", load.recent_failures)?;
    table.raw_set("used", used(lua, &load.used)?)?;
    Ok(table)
}

fn worker(lua: &Lua, load: &WorkerLoad) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 6)?;
    table.raw_set("role", load.role.as_str())?;
    table.raw_set("profile", load.profile.as_str())?;
    table.raw_set("state", load.state.as_str())?;
    table.raw_set("free", load.free)?;
    table.raw_set("turns", load.turns)?;
    table.raw_set("knows", list(lua, &load.knows)?)?;
    Ok(table)
}

fn used(lua: &Lua, used: &Used) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 4)?;
    table.raw_set("turns", used.turns as f64)?;
    table.raw_set("input", used.input as f64)?;
    table.raw_set("output", used.output as f64)?;
    table.raw_set("cost", used.cost)?;
    Ok(table)
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
    use super::*;

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

    #[test]
    fn what_tells_the_same_is_shown_again_and_what_changed_is_made_anew() {
        let lua = Lua::new();
        let clone = lua.globals().get::<Table>("table").and_then(|table| table.get("clone")).expect("it is there");
        let mut shown = Shown::nothing(clone);
        let first = shown.team(&lua, &load(&[("w-1", 1), ("w-2", 1)])).expect("it is made");
        let same = shown.team(&lua, &load(&[("w-1", 1), ("w-2", 1)])).expect("it is made");
        assert_eq!(first.to_pointer(), same.to_pointer());
        let next = shown.team(&lua, &load(&[("w-2", 2), ("w-3", 1), ("w-1", 1)])).expect("it is made");
        let row = |team: &Table, name: &str| rows(team).get::<Table>(name).expect("it is there");
        assert_eq!(row(&first, "w-1").to_pointer(), row(&next, "w-1").to_pointer(), "it tells the same");
        let turns = |team: &Table, name: &str| row(team, name).get::<u32>("turns").expect("it is there");
        assert_eq!((turns(&first, "w-2"), turns(&next, "w-2"), turns(&next, "w-3")), (1, 2, 1));
        assert!(rows(&first).get::<Table>("w-3").is_err(), "what was shown before stays as it was");
        let told = load(&[("w-2", 2), ("w-3", 1), ("w-1", 1)]);
        let again = shown.team(&lua, &told).expect("it is made");
        assert_eq!(again.to_pointer(), shown.team(&lua, &told).expect("it is made").to_pointer());
        let fewer = shown.team(&lua, &load(&[("w-3", 1)])).expect("it is made");
        assert_eq!(rows(&fewer).pairs::<String, Table>().count(), 1, "who is gone is not shown");
    }
}
