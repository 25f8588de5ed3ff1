//! The team as rubrics are shown it: tables that are made once and shown again as long as what they tell is the same.
//!
//! All of them are frozen when the first rubric gets them, so nobody can tell an old one from a new one. Between two
//! messages the rows of few workers change, and a row costs more than all that most rubrics do.

use std::collections::BTreeMap;

use mlua::{Lua, Table};

use crate::fleet::ids::{RoleName, WorkerName};
use crate::fleet::load::{EndpointLoad, RoleLoad, TeamLoad, Used, WorkerLoad};

/// What was shown last.
#[derive(Default)]
pub(super) struct Shown {
    roles: Rows<RoleName, RoleLoad>,
    endpoints: Rows<String, EndpointLoad>,
    workers: Rows<WorkerName, WorkerLoad>,
    team: Option<Table>,
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
    /// Returns the table of a team.
    pub(super) fn team(&mut self, lua: &Lua, team: &TeamLoad) -> mlua::Result<Table> {
        let roles = self.roles.show(lua, &team.roles, |name| name.as_str(), role)?;
        let endpoints = self.endpoints.show(lua, &team.endpoints, String::as_str, endpoint)?;
        let workers = self.workers.show(lua, &team.workers, |name| name.as_str(), worker)?;
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
        now: &BTreeMap<K, V>,
        name: impl Fn(&K) -> &str,
        make: impl Fn(&Lua, &V) -> mlua::Result<Table>,
    ) -> mlua::Result<(Table, bool)> {
        if let Some(table) = &self.table
            && self.rows.len() == now.len()
            && self.rows.iter().zip(now).all(|((key, (old, _)), (name, new))| key == name && old == new)
        {
            return Ok((table.clone(), true));
        }
        // Where memory runs out in between, all is made anew.
        let mut before = std::mem::take(self).rows;
        let table = lua.create_table_with_capacity(0, now.len())?;
        let mut rows = BTreeMap::new();
        for (key, new) in now {
            let row = match before.remove(key) {
                Some((old, row)) if old == *new => row,
                _ => make(lua, new)?,
            };
            table.raw_set(name(key), &row)?;
            rows.insert(key.clone(), (new.clone(), row));
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
            (WorkerName::from(*name), load)
        };
        let roles = BTreeMap::from([(RoleName::from("w"), RoleLoad::default())]);
        TeamLoad { roles, workers: workers.iter().map(row).collect(), ..TeamLoad::default() }
    }

    fn rows(team: &Table) -> Table {
        team.get("workers").expect("it is there")
    }

    #[test]
    fn what_tells_the_same_is_shown_again_and_what_changed_is_made_anew() {
        let (lua, mut shown) = (Lua::new(), Shown::default());
        let first = shown.team(&lua, &load(&[("w-1", 1), ("w-2", 1)])).expect("it is made");
        let same = shown.team(&lua, &load(&[("w-1", 1), ("w-2", 1)])).expect("it is made");
        assert_eq!(first.to_pointer(), same.to_pointer());
        let next = shown.team(&lua, &load(&[("w-2", 2), ("w-3", 1), ("w-1", 1)])).expect("it is made");
        let row = |team: &Table, name: &str| rows(team).get::<Table>(name).expect("it is there");
        assert_eq!(row(&first, "w-1").to_pointer(), row(&next, "w-1").to_pointer(), "it tells the same");
        let turns = |team: &Table, name: &str| row(team, name).get::<u32>("turns").expect("it is there");
        assert_eq!((turns(&first, "w-2"), turns(&next, "w-2"), turns(&next, "w-3")), (1, 2, 1));
        let fewer = shown.team(&lua, &load(&[("w-3", 1)])).expect("it is made");
        assert_eq!(rows(&fewer).pairs::<String, Table>().count(), 1, "who is gone is not shown");
    }
}
