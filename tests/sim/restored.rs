//! A fleet that comes back is the one that went: every field is compared by its name, as a person would read it.
//! What may differ is named here with the reason; a new field is compared until it is named, so none is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use fleetd::fleet::Fleet;

/// What a restart does not bring back, and why that is right.
const OTHERWISE: &[(&str, &str)] = &[
    ("limits", "they are handed in at each start"),
    ("team", "the charter comes after the rows, as an input"),
    ("waits", "after a restart nobody waits"),
    ("watched", "after a restart nobody waits"),
    ("served", "who was served last among the roles of an endpoint is not recorded"),
    ("resting", "nothing of an old session is reported any more by its name alone"),
    ("starts", "the gap and the memory are asked anew"),
    ("acted", "what handlers did in the last minute bounds one life of the daemon"),
    ("lately", "it is for decisions of the moment"),
    ("missed", "a removed role for which something waits is missed anew, once the charter is read"),
    ("draining", "one that is told to end does not come back so"),
    ("nudge", "the leader is told anew"),
    ("unread", "what was shown by a poll and not acknowledged counts as unread again, and all that was"),
    ("idle_timed", "it says for whom there is a timer: who is free and had one has one again"),
    ("timers", "one whose subject is gone is not made again, nor one that waits for nothing but time; see `timed`"),
    ("queues", "whose turn it is among senders is not recorded; how many go first is compared"),
];

/// Returns how a fleet that came back differs from the one that went.
pub fn difference(went: &Fleet, back: &Fleet) -> Option<String> {
    let (before, after) = (fields(went), fields(back));
    let differs = |name: &str| format!("{name}: it went with {:?} and came back with {:?}", before[name], after[name]);
    let named = |name: &str| OTHERWISE.iter().any(|(other, _)| *other == name);
    if let Some(name) = before.keys().find(|name| !named(name) && before.get(*name) != after.get(*name)) {
        return Some(differs(name));
    }
    let more = |name: &str, small: &BTreeSet<String>, large: &BTreeSet<String>| {
        let missing: Vec<&String> = small.difference(large).collect();
        (!missing.is_empty()).then(|| format!("{name}: only one of them has {missing:?}"))
    };
    let (had, has) = (entries(&before["idle_timed"]), entries(&after["idle_timed"]));
    let forgotten = went.workers().filter(|worker| worker.elastic && worker.is_free()).find(|worker| {
        let entry = format!("WorkerName({:?},),", worker.name.as_str());
        had.contains(&entry) && !has.contains(&entry)
    });
    let (had, has) = (timers(&before["timers"]), timers(&after["timers"]));
    let timed: BTreeSet<String> = timed(went, &had).collect();
    // The grace of a run whose budget has paid for what is open is looked at once more.
    let made: BTreeSet<String> = has.iter().filter(|timer| !timer.starts_with("RunGrace(")).cloned().collect();
    let ahead = went.turns().find(|turn| went.ahead(turn) != back.ahead(turn));
    None.or_else(|| more("unread", &entries(&before["unread"]), &entries(&after["unread"])))
        .or_else(|| forgotten.map(|worker| format!("{} is not timed any more", worker.name)))
        .or_else(|| more("timers", &made, &had))
        .or_else(|| more("timers", &timed, &has))
        .or_else(|| ahead.map(|turn| format!("{} has another place in its queue", turn.id)))
}

/// Cuts the text of a fleet into its fields.
fn fields(fleet: &Fleet) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut name = String::new();
    for line in format!("{fleet:#?}").lines() {
        let top = line.strip_prefix("    ").filter(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()));
        if let Some((field, rest)) = top.and_then(|rest| rest.split_once(':')) {
            name = field.to_owned();
            fields.insert(name.clone(), rest.trim().to_owned());
        } else if let Some(text) = fields.get_mut(&name) {
            text.push_str(line.trim_start());
            // The indentation says where an entry ends.
            if line.starts_with("        ") && !line.starts_with("         ") {
                text.push('\n');
            }
        }
    }
    fields
}

/// Returns the entries of a set.
fn entries(text: &str) -> BTreeSet<String> {
    let body = text.trim_start_matches('{').trim_end_matches("},").trim_end_matches('}');
    let mut found = BTreeSet::new();
    let mut entry = String::new();
    for line in body.lines() {
        entry.push_str(line);
        // An entry of several lines begins with the bracket that its last line closes.
        if !line.ends_with('(') {
            found.insert(std::mem::take(&mut entry));
        }
    }
    found
}

/// Returns those of some timers that must be there again: of turns that are open, of keys, of messages that go by themselves.
fn timed<'a>(went: &'a Fleet, had: &'a BTreeSet<String>) -> impl Iterator<Item = String> + 'a {
    let open = went.turns().filter(|turn| !turn.state.is_settled());
    let of_turns =
        open.flat_map(|turn| ["Deadline", "Timeout"].map(|kind| format!("{kind}(TurnId({},),),),", turn.id.0)));
    let others = had.iter().filter(|timer| timer.contains("),Key(") || timer.contains("),Shown(")).cloned();
    of_turns.filter(|timer| had.contains(timer)).chain(others)
}

/// Returns the timers, and when they are due where that stands in a row. The others wait for evidence after a restart, or
/// look again when they are early.
fn timers(text: &str) -> BTreeSet<String> {
    let stands = |timer: &str| ["Sleep(", "Key(", "Shown(", "Unpark("].iter().any(|kind| timer.contains(kind));
    let timer = |entry: String| match entry.split_once("),") {
        Some((_, timer)) if !stands(timer) => timer.to_owned(),
        _ => entry,
    };
    entries(text).into_iter().filter(|entry| !entry.contains("Idle(")).map(timer).collect()
}
