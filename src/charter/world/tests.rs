//! What a charter's code can and cannot do in its world: limits, the sandbox, and the text of each error.
//! Every script here is hostile or mistaken; well-behaved ones are tested where they belong.

use super::super::{handlers, rubric};
use super::*;
use crate::fleet::team::{Task, TeamLoad};
use crate::fleet::time::Time;

fn load(files: &[(&str, &str)]) -> Result<World, CharterErrors> {
    let sources = Sources::from_files(files.iter().map(|(name, text)| (*name, *text)));
    World::load(Arc::new(sources), Generation::default(), Arc::default())
}

fn refused(text: &str) -> String {
    match load(&[("a.lua", text)]) {
        Ok(_) => panic!("was not refused: {text}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn the_world_of_a_charter_has_no_doors() {
    let gone = [
        "coroutine",
        "io",
        "os",
        "debug",
        "package",
        "loadstring",
        "load",
        "dofile",
        "getfenv",
        "setfenv",
        "collectgarbage",
        "newproxy",
        "_G",
        "vector",
        "buffer",
    ];
    for name in gone {
        let text = refused(&format!("local x = {name}"));
        assert!(text.starts_with(&format!("a.lua:1: there is no name `{name}`")), "{text}");
    }
    assert_eq!(
        refused("local x = os.time()"),
        "a.lua:1: there is no name `os`: a charter has no clock and no processes; time is task.now in a rubric and run:now() in a recipe\n  1 | local x = os.time()"
    );
    assert_eq!(
        refused("local x = math.random(6)"),
        "a.lua:1: there is no math function `random`: it would differ at a replay; in a recipe use run:random()\n  1 | local x = math.random(6)"
    );
}

#[test]
fn libraries_and_the_world_cannot_be_changed() {
    for text in [
        "string.find = nil",
        "getmetatable('').__index = nil",
        "print = nil",
        "fleet.recipe = nil",
        "math.pi = 3",
        "getmetatable(fleet).__index = nil",
        "getmetatable(string).__index = nil",
    ] {
        let error = refused(text);
        assert!(error.starts_with("a.lua:1: attempt to modify a readonly table"), "{text}: {error}");
    }
    assert_eq!(refused("\nanswer = 42"), "a.lua:2: charters share no globals: write 'local answer'\n  2 | answer = 42");
}

#[test]
fn mistakes_are_shown_with_their_line_and_the_near_miss() {
    assert_eq!(
        refused("local x = {\n  a = 1\n  b = 2\n}"),
        "a.lua:3: Expected ',' after table constructor element\n  3 |   b = 2"
    );
    assert_eq!(
        refused("fleet.recpie('x', {}, function() end)"),
        "a.lua:1: no `recpie`; did you mean `recipe`?\n  1 | fleet.recpie('x', {}, function() end)"
    );
    assert_eq!(
        refused("fleet.profile('x', {\n  launcher = 'exec',\n  comand = { 'cat' },\n})"),
        "a.lua:3: profile 'x': unknown field 'comand'; did you mean 'command'? valid: about, launcher, command, model, endpoint, options, cwd, env, timeout, idle_ttl, context_cap, restarts, typing, worktree, grants\n  3 |   comand = { 'cat' },"
    );
    assert_eq!(
        refused("fleet.profile('x', { launcher = 'exec', command = { 'cat' }, timeout = '90 parsecs' })"),
        "a.lua:1: profile 'x': field 'timeout': '90 parsecs' is not a length of time; write for example \"90s\", \"8m\", \"2h\", \"250ms\"\n  1 | fleet.profile('x', { launcher = 'exec', command = { 'cat' }, timeout = '90 parsecs' })"
    );
    let typed = |field: &str| format!("fleet.profile('x', {{ launcher = 'typed', command = {{ 'cat' }}, {field} }})");
    for (field, wrong) in [
        ("context_cap = {}", "field 'context_cap': name what is counted, such as { turns = 40, tokens = 150000 }"),
        ("context_cap = { turns = 0 }", "field 'turns': expected a whole number from 1 to 1000000, got 0"),
        ("context_cap = { turn = 1 }", "unknown field 'turn'; did you mean 'turns'? valid: turns, tokens"),
        ("restarts = { failures = 0 }", "field 'failures': expected a whole number from 1 to 1000000, got 0"),
    ] {
        let said = refused(&typed(field));
        assert!(said.contains(wrong), "{field}: {said}");
    }
    let said = refused(
        "fleet.profile('x', { launcher = 'exec', command = { 'cat' }, context_cap = { turns = 3 } })\n\
         fleet.role('w', { profiles = { 'x' } })",
    );
    let wrong =
        "a.lua:1: profile 'x': field 'context_cap': a worker of the launcher 'exec' is a new process for each turn";
    assert!(said.starts_with(wrong), "{said}");
    let launcher = refused("fleet.profile('x', { launcher = 'exce' }) fleet.role('w', { profiles = { 'x' } })");
    let said = "a.lua:1: profile 'x': field 'launcher': there is no launcher 'exce'; did you mean 'exec'? valid: ";
    assert!(launcher.starts_with(said), "{launcher}");
    assert_eq!(
        refused("fleet.launcher('x', {})"),
        "a.lua:1: fleet.launcher: expected a function as the last argument, got nil\n  1 | fleet.launcher('x', {})"
    );
    assert_eq!(
        refused("fleet.on('turn_setled', function() end)"),
        "a.lua:1: there is no event 'turn_setled'; did you mean 'turn_settled'? valid: turn_settled, run_ended, worker_ready, worker_blocked, worker_gone, question_asked, role_full, role_parked, seat_changed, pause_changed, charter_loaded, charter_refused\n  1 | fleet.on('turn_setled', function() end)"
    );
    assert_eq!(refused("assert(false, 'my own check')"), "a.lua:1: my own check\n  1 | assert(false, 'my own check')");
    assert_eq!(
        refused("local s = string.format('%d', 'x')"),
        "a.lua:1: invalid argument #2 to 'format' (number expected, got string)\n  1 | local s = string.format('%d', 'x')"
    );
}

#[test]
fn a_generation_is_checked_as_a_whole() {
    let team = "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\n\
                    fleet.profile('lonely', { launcher = 'exec', command = { 'cat' } })\n\
                    fleet.role('w', { profiles = { 'p', 'q' } })\n\
                    fleet.role('w-2', { profiles = { 'p' } })\n";
    assert_eq!(
        refused(team),
        "a.lua:3: role 'w': there is no profile 'q'; did you mean 'p'? valid: p, lonely\n  \
             3 | fleet.role('w', { profiles = { 'p', 'q' } })\n\
             a.lua:4: role 'w-2' is named like a worker: workers of a role 'x' are called 'x-1', 'x-2'; let it not end in a number\n  \
             4 | fleet.role('w-2', { profiles = { 'p' } })\n\
             a.lua:2: profile 'lonely' is in no role, so that no worker could ever have it\n  \
             2 | fleet.profile('lonely', { launcher = 'exec', command = { 'cat' } })"
    );
    assert_eq!(
        refused("local p = { launcher = 'exec', command = { 'cat' } }\nfleet.profile('p', p)\nfleet.profile('p', p)"),
        "a.lua:3: profile 'p' was already declared at a.lua:2\n  3 | fleet.profile('p', p)"
    );
    assert_eq!(
        refused("fleet.role('w', { profiles = { 'p' }, max_busy = 0 })"),
        "a.lua:1: role 'w': field 'max_busy': expected a whole number from 1 to 1000000, got 0\n  1 | fleet.role('w', { profiles = { 'p' }, max_busy = 0 })"
    );
}

#[test]
fn modules_are_served_from_the_sources() {
    let lib = ("lib/words.lua", "return { count = function(t) return select(2, t:gsub('%S+', '')) end }");
    load(&[lib, ("a.lua", "local words = require('lib.words')\nassert(words.count('a b') == 2)")]).expect("loads");
    let errors = load(&[lib, ("a.lua", "require('lib.wrds')")]).map(drop).expect_err("no such module");
    assert_eq!(
        errors.to_string(),
        "a.lua:1: require: there is no module \"lib.wrds\" (lib/wrds.lua); did you mean \"lib.words\"?\n  1 | require('lib.wrds')"
    );
    let errors = load(&[("lib/bad.lua", "local x = = 1"), ("a.lua", "require('lib.bad')")]).map(drop);
    let text = errors.expect_err("a mistake in the module").to_string();
    assert!(text.starts_with("lib/bad.lua:1: "), "{text}");
}

#[test]
fn a_module_that_declares_is_executed_once() {
    let base = "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\nreturn { 'p' }";
    let world = load(&[
        ("lib/base.lua", base),
        ("a.lua", "fleet.role('v', { profiles = require('lib.base') })"),
        ("b.lua", "fleet.role('w', { profiles = require('lib.base') })"),
    ])
    .expect("loads");
    assert_eq!(world.team.roles.len(), 2);
}

#[test]
fn no_loop_holds_the_thread() {
    let bombs = [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "xpcall(error, function() while true do end end)",
        "table.sort({ 3, 2, 1 }, function() while true do end end)",
        "local x = ('x'):rep(100):gsub('x', function() while true do end end)",
        "local x = string.rep('a', 1e5):find('.-.-.-.-b')",
        "while true do local x = pcall(table.unpack, {}, 1, 5e5) end",
        "local t = setmetatable({}, { __index = function(t, k) while true do end end }) local x = t.y",
        "local function f() return f() end f()",
    ];
    for bomb in bombs {
        let began = std::time::Instant::now();
        let text = refused(bomb);
        assert!(text.contains("took more than 500 ms") || text.contains("stack overflow"), "{bomb}: {text}");
        assert!(text.starts_with("a.lua:1: "), "{bomb}: {text}");
        assert!(began.elapsed() < Duration::from_secs(20), "{bomb} took {:?}", began.elapsed());
    }
}

#[test]
fn a_loop_around_a_long_call_of_the_library_is_stopped_in_its_time() {
    let bombs = [
        "local t, p = ('a'):rep(2e5), '^[^' .. ('b'):rep(94) .. ']*' while true do t:find(p) end",
        "local t = ('ab'):rep(2e6) while true do t:split('bc') end",
        "local t = (', '):rep(2e5) while true do t:split(', ') end",
        "local t, p = ('ab'):rep(4e6), ('ab'):rep(1e5) .. 'c' while true do t:find(p, 1, true) end",
        "local t = ('a'):rep(8e6) while true do utf8.len(t) end",
        "local t = table.create(1e6, 1) while true do table.find(t, 2) end",
        "local t = ('1'):rep(1e6) while true do tonumber(t) end",
    ];
    let worked = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    for bomb in bombs {
        let began = worked();
        let text = refused(bomb);
        assert!(text.starts_with("a.lua:1: the charter took more than 500 ms to load"), "{bomb}: {text}");
        let took = worked() - began;
        assert!(took < Duration::from_secs(1), "{bomb} took {took:?} of the processor");
    }
}

#[test]
fn bombs_of_the_library_are_refused_or_defused() {
    assert_eq!(
        refused("table.move({}, 1, 2 ^ 31, 2)"),
        "a.lua:1: table.move moves at most 1000000 items at once\n  1 | table.move({}, 1, 2 ^ 31, 2)"
    );
    for numbers in ["'1', '2147483646'", "0 / 0, 2147483646", "1, '0x7ffffffe'", "-2 ^ 31, 0 / 0"] {
        let text = refused(&format!("table.move({{}}, {numbers}, 2)"));
        assert!(text.starts_with("a.lua:1: table.move moves at most 1000000 items at once"), "{text}");
    }
    let text = refused("local t = string.rep('a', 5e6) t:find('^[^' .. string.rep('b', 94) .. ']*')");
    let said = "a.lua:1: string.find: a text of 5000000 bytes is too long for a pattern with a set of 95";
    assert!(text.starts_with(said), "{text}");
    let words = "local words = 0\nfor word in string.rep('word ', 2e5):gmatch('[%a_]+') do words = words + 1 end";
    load(&[("a.lua", words)]).map(drop).expect("an ordinary pattern may look through a megabyte");
    let line = "local s = string.rep('x', 1e9)";
    assert_eq!(refused(line), format!("a.lua:1: {}\n  1 | {line}", meter::MEMORY));
    // Quadratic in the library, linear here.
    let hay = "local hay = string.rep('a', 1e6)\nlocal needle = string.rep('a', 5e5) .. 'b'\n";
    for search in [
        "assert(hay:find(needle, 1, true) == nil)",
        "assert(hay:find(needle) == nil)",
        "assert(#hay:split(needle) == 1)",
        "assert(#hay:split('aa') == 5e5 + 1)",
        "assert(table.concat(('a, b,, c, '):split(', '), '|') == 'a|b,|c|')",
        "assert(table.concat(('a,b'):split(), '|') == 'a|b' and #('abc'):split('') == 3)",
        "local from, to = (hay .. 'b'):find('aab', 5, true)\nassert(from == 1e6 - 1 and to == 1e6 + 1)",
    ] {
        let loaded = load(&[("a.lua", &format!("{hay}{search}"))]).map(drop);
        assert!(loaded.is_ok(), "{search}: {loaded:?}");
    }
}

#[test]
fn memory_is_bounded_and_given_back() {
    for bomb in [
        "local t = {} while true do t[#t + 1] = { #t } end",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
        "local t = {} while true do pcall(function() for n = 1, 1e5 do t[#t + 1] = { n } end end) end",
    ] {
        let text = refused(bomb);
        let said =
            text.contains("out of memory: a charter's code may use 64 MiB") || text.contains("took more than 500 ms");
        assert!(said, "{bomb}: {text}");
    }
}

#[test]
fn caps_and_hours_of_a_role_are_checked_field_by_field() {
    let load_role = |spec: &str| {
        let profile = "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\n";
        load(&[("a.lua", &format!("{profile}fleet.role('w', {{ profiles = {{ 'p' }}, {spec} }})"))])
    };
    for (spec, why) in [
        ("max_workers = 0", "field 'max_workers': expected a whole number from 1 to 1000000, got 0"),
        ("between = '22-6'", "field 'between': '22-6' is no stretch of a day; write for example \"22:00-06:00\""),
        ("between = {}", "field 'between': name 1 to 20 stretches of a day, such as \"22:00-06:00\""),
        ("between = 5", "field 'between': expected a list of texts, got a number"),
        ("between = { '08:00-12:00', 'noon' }", "field 'between': 'noon' is no stretch of a day"),
        ("between = '00:00-24:00'", "field 'between': '00:00-24:00' is the whole day or nothing of it"),
        ("zone = 'UTC'", "field 'zone': it is the zone of 'between', 'days' or 'hours', which are missing"),
        (
            "days = 'weekend'",
            "field 'days': 'weekend' names no days; valid: mon, tue, wed, thu, fri, sat, sun, and such as",
        ),
        ("days = { 'Saturday' }", "field 'days': 'Saturday' names no days; did you mean \"sat\"?"),
        ("days = { 'mon-thu', 'fri-sun' }", "field 'days': these are all days; leave it out for that"),
        ("days = {}", "field 'days': name days, such as \"mon-fri\""),
        ("days = 5", "field 'days': expected days such as \"mon-fri\", or a list of them, got a number"),
        ("hours = {}, max_busy = 1", "field 'hours': expected a list of windows, such as"),
        (
            "hours = '22:00-06:00', max_busy = 1",
            "field 'hours': expected a list of windows, such as { { between = \"22:00-06:00\", max_busy = 12 } }, got a text",
        ),
        (
            "hours = { { days = 'sat', max_busy = 2 } }",
            "field 'max_busy' is missing: with 'hours' it says how many outside of them; 0 for none",
        ),
        (
            "max_busy = 1, hours = { { days = 'sat' } }",
            "hours[1]: field 'max_busy' is missing: say how many may be busy then; 0 for none",
        ),
        (
            "max_busy = 1, hours = { { max_busy = 2 } }",
            "hours[1]: it says neither 'between' nor 'days', so it would always hold",
        ),
        (
            "max_busy = 1, hours = { { day = 'sat', max_busy = 2 } }",
            "hours[1]: unknown field 'day'; did you mean 'days'? valid: between, days, max_busy",
        ),
        (
            "max_busy = 1, hours = { { days = 'sat', max_busy = -2 } }",
            "hours[1]: field 'max_busy': expected a whole number from 0 to 1000000, got -2",
        ),
        (
            "max_busy = 1, hours = { { between = { '22:00-06:00' }, max_busy = 2 } }",
            "hours[1]: field 'between': expected one stretch of a day, such as \"22:00-06:00\", got a list",
        ),
        (
            "max_busy = 1, hours = { { days = 'sat', max_busy = 2 } }, between = '1:00-2:00'",
            "field 'between': write it inside of the windows of 'hours', or leave 'hours' out",
        ),
        (
            "max_busy = 1, hours = { { days = 'sat', max_busy = 2 } }, days = 'sun'",
            "field 'days': write it inside of the windows of 'hours', or leave 'hours' out",
        ),
        (
            "max_busy = 0, hours = { { days = 'sat', max_busy = 0 } }",
            "field 'hours': this role is never handed anything: no window has a 'max_busy' above 0",
        ),
        (
            "max_busy = 1, hours = { { days = 'sat-sun', max_busy = 2 }, { between = '08:00-09:00', days = 'sun', max_busy = 3 } }",
            "field 'hours': window 2 never counts: those before it hold at all of its times, and the first one counts",
        ),
        ("max_busy = 0, between = '08:00-09:00'", "field 'max_busy': expected a whole number from 1 to 1000000, got 0"),
        (
            "between = '22:00-06:00', zone = 'Mars/Olympus'",
            "field 'zone': there is no zone 'Mars/Olympus' on this machine",
        ),
    ] {
        let said = load_role(spec).err().unwrap_or_else(|| panic!("was not refused: {spec}")).to_string();
        assert!(said.starts_with(&format!("a.lua:2: role 'w': {why}")), "{said}");
    }
    let world =
        load_role("max_workers = 3, between = { '22:00-24:00', '00:00-06:00' }, zone = 'UTC'").expect("it loads");
    let role = &world.team.roles[&"w".into()];
    let hours = role.hours.as_ref().expect("it has hours");
    assert_eq!((role.max_workers, hours.to_string().as_str()), (Some(3), "22:00-24:00, 00:00-06:00 UTC"));
    assert!(role.is_open(Time(23 * 3_600_000)) && !role.is_open(Time(12 * 3_600_000)));
    // 1970-01-01 was a Thursday.
    let world = load_role("days = { 'fri', 'sun-mon' }, zone = 'UTC'").expect("it loads");
    let cap = |world: &World, hour: u64| world.team.roles[&"w".into()].cap(Time(hour * 3_600_000));
    assert_eq!([0, 1, 2, 3, 4, 5].map(|day| cap(&world, day * 24)), [0, 1, 0, 1, 1, 0]);
    let windows = "{ between = '22:00-06:00', days = 'thu', max_busy = 12 }, { days = 'fri', max_busy = 3 }";
    let world = load_role(&format!("max_busy = 0, hours = {{ {windows} }}, zone = 'UTC'")).expect("it loads");
    assert_eq!([21, 22, 29, 30, 48].map(|hour| cap(&world, hour)), [0, 12, 12, 3, 0]);
}

#[test]
fn a_declaration_outside_the_load_is_refused_at_its_line() {
    let world = load(&[(
        "a.lua",
        "fleet.route('all', function()\n  fleet.role('w', {})\nend)\n\
             fleet.on('worker_gone', function()\n  fleet.test('x', print)\nend)",
    )])
    .expect("loads");
    let task = Task {
        prompt: String::new(),
        kind: None,
        files: Vec::new(),
        from: "leader".into(),
        urgent: false,
        now: Time(0),
    };
    let refusal = rubric::ask(&world, &task, &TeamLoad::default()).routed.expect_err("it is broken");
    let why = "declares: it can only be called while the charter is loaded";
    assert!(refusal.to_string().contains(&format!("a.lua:2: fleet.role {why}")), "{refusal}");
    let said = handlers::call(&world, "worker_gone", &serde_json::Value::Null).remove(0).said;
    assert!(said.expect_err("it is broken").to_string().starts_with(&format!("a.lua:5: fleet.test {why}")));
}

#[test]
fn memory_that_ran_out_cannot_be_caught() {
    for text in [
        "pcall(string.rep, 'x', 1e9)",
        "pcall(function() local s = string.rep('x', 1e9) end)",
        "xpcall(function() local s = string.rep('x', 1e9) end, function() return 'never mind' end)",
        "pcall(string.split, string.rep(',', 8e6), ',')",
        "pcall(function() pcall(string.rep, 'x', 1e9) end)",
    ] {
        let said = refused(&format!("{text}\nlocal x = {{}}\nfor n = 1, 10 do x = {{ x }} end"));
        assert_eq!(said, format!("a.lua:1: {}\n  1 | {text}", meter::MEMORY));
    }
}

#[test]
fn nothing_shows_an_address() {
    load(&[(
        "a.lua",
        "local t = {}\nassert(tostring(t) == 'table' and tostring(print) == 'function')\n\
             assert(string.format('%s', t) == 'table' and ('%s'):format(t) == 'table')\n\
             assert(tostring(fleet.null) == 'null' and tostring(1.5) == '1.5' and tostring(nil) == 'nil')\n\
             assert(tostring(setmetatable({}, { __tostring = function() return 'mine' end })) == 'mine')",
    )])
    .map(drop)
    .expect("loads");
}
