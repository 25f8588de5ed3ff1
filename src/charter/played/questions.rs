//! Workers that ask, on the stage: what `on_ask` answers, passes on and gets wrong, and that each is replayed.
//! Only tests. What the fleet makes of a question is tested in `tests/it/fleet_answers.rs`.

use std::sync::Arc;

use super::{fails, passes};
use crate::charter::sources::Sources;
use crate::charter::testing;
use crate::charter::world::World;
use crate::fleet::team::Generation;

/// A worker that asks one thing and repeats what it heard.
const ASKS: &str = "t.worker('w', function(task) return task.prompt .. ': ' .. t.ask('which colour?') end)\n";

#[test]
fn the_function_beside_a_send_answers_first() {
    passes(
        "local seen
         local reply = run:send { to = 'w', prompt = 'paint', on_ask = function(question)
           seen = question
           return 'blue'
         end }
         local frozen = not pcall(function() seen.text = 'x' end)
         return { text = reply.text, seen = seen, frozen = frozen, took = reply.times.settled - reply.times.accepted }",
        &format!(
            "{ASKS}
             t.equal(t.run('r').value, {{
               text = 'paint: blue', frozen = true, took = 1000,
               seen = {{ text = 'which colour?', id = 'q1', turn = 't1', worker = 'w-1' }} }})"
        ),
    );
}

#[test]
fn what_it_leaves_goes_to_the_owner() {
    for on_ask in ["", ", on_ask = function(question) end", ", on_ask = function() return nil end"] {
        passes(
            &format!("return run:send({{ to = 'w', prompt = 'paint'{on_ask} }}).text"),
            &format!(
                "{ASKS}
                 t.answer(function(question) return 'red, to ' .. question end)
                 t.equal(t.run('r').value, 'paint: red, to which colour?')"
            ),
        );
    }
}

#[test]
fn it_may_take_steps_of_its_own() {
    passes(
        "local log = {}
         local reply = run:send { to = 'w', prompt = 'paint', on_ask = function(question)
           run:sleep('10s')
           table.insert(log, run:ask_leader('may I?'))
           local parts = run:each({ 1, 2 }, function(n)
             return run:send({ to = 'w', prompt = 'part ' .. n, on_ask = function() return 'grey ' .. n end }).text
           end)
           run:note('asked', question.id)
           return table.concat(parts, ' and ')
         end }
         return { reply.text, log, run:note('asked') }",
        "t.worker('w', function(task) return task.prompt .. ' in ' .. t.ask('which colour?') end)
         t.answer(function(question) return 'yes' end)
         local out = t.run('r')
         t.equal(out.value, { 'paint in part 1 in grey 1 and part 2 in grey 2', { 'yes' }, 'q1' })
         t.equal(#t.sent(), 3)",
    );
}

#[test]
fn each_question_is_handled_in_its_turn_and_the_same_text_is_the_same_question() {
    passes(
        "local calls = {}
         local replies = run:each({ 'a', 'b' }, function(part)
           return run:send { to = 'w', prompt = part, on_ask = function(question)
             table.insert(calls, part .. question.text)
             run:sleep('1s')
             return question.text:upper()
           end }
         end)
         return { replies[1].text, replies[2].text, calls }",
        "t.worker('w', function(task)
           return t.ask('x') .. t.ask('y') .. t.ask('x')
         end)
         t.equal(t.run('r').value, { 'XYX', 'XYX', { 'ax', 'bx', 'ay', 'by' } })",
    );
}

#[test]
fn a_question_of_a_second_try_comes_to_the_same_function() {
    passes(
        "local turns = {}
         local reply = run:send { to = 'w', prompt = 'paint', retries = 1, on_ask = function(question)
           table.insert(turns, question.turn)
           return 'blue'
         end }
         return { reply.text, turns }",
        "t.worker('w', function(task)
           local colour = t.ask('which colour?')
           if task.try == 1 then return t.lost() end
           return colour .. ' at last'
         end)
         t.equal(t.run('r').value, { 'blue at last', { 't1', 't2' } })",
    );
}

#[test]
fn an_answer_that_is_too_late_is_dropped_and_the_run_goes_on_with_the_envelope() {
    passes(
        "local log = {}
         local reply = run:send { to = 'w', prompt = 'paint', deadline = '5s', on_ask = function(question)
           table.insert(log, 'asked')
           run:send { to = 'w', prompt = 'help', on_ask = function() run:sleep('1h') end }
           table.insert(log, 'helped')
           return 'blue'
         end }
         run:sleep('2h')
         return { reply.error, reply.times.settled - reply.times.accepted, log }",
        "t.worker('w', function(task) return t.ask(task.prompt) end)
         t.equal(t.run('r').value, { 'timed_out', 5000, { 'asked' } })",
    );
}

#[test]
fn where_a_part_is_given_up_nobody_is_asked_for_it() {
    passes(
        "local ok, why = pcall(run.each, run, { 'asks', 'breaks' }, function(part)
           if part == 'breaks' then
             run:sleep('3s')
             error('broken')
           end
           return run:send { to = 'w', prompt = part, on_ask = function()
             run:sleep('1h')
             return 'never'
           end }
         end)
         run:sleep('1m')
         return { ok, why }",
        "t.worker('w', function(task)
           t.ask('first?')
           return t.ask('second?')
         end)
         local asked = {}
         t.answer(function(question) table.insert(asked, question) return 'yes' end)
         t.equal(t.run('r').value, { false, \"recipe.lua:5: broken\" })
         t.equal(asked, {})",
    );
}

#[test]
fn a_mistake_in_it_fails_the_test_at_its_line() {
    let wrong = |on_ask: &str| {
        fails(&format!("run:send {{ to = 'w', prompt = 'paint',\non_ask = {on_ask} }}"), &format!("{ASKS} t.run('r')"))
    };
    assert_eq!(
        wrong("function(question) return question.txt.x end"),
        "recipe.lua:3: a question has no `txt`; did you mean `text`?\n  3 | on_ask = function(question) return question.txt.x end }"
    );
    let must = "run:send: on_ask must return a text, or nothing to pass it on; got";
    for (on_ask, got) in [
        ("function() return { 1 } end", "a table"),
        ("function() return 7 end", "a number"),
        ("function() return ' ' end", "an empty text"),
        ("function() return '\\255' end", "a text that is not UTF-8"),
    ] {
        let text = wrong(on_ask);
        assert!(text.starts_with(&format!("recipe.lua:2: {must} {got}\n")), "{text}");
    }
}

#[test]
fn a_long_mistake_is_cut() {
    let recipe = "run:send { to = 'w', prompt = 'paint', on_ask = function() error(string.rep('x', 5000)) end }";
    let text = fails(recipe, &format!("{ASKS} t.run('r')"));
    assert!(text.starts_with("recipe.lua:2: xxx") && text.matches('x').count() < 1_010, "{}", text.len());
}

#[test]
fn a_limit_that_it_passes_ends_the_run() {
    passes(
        "run:send { to = 'w', prompt = 'paint', on_ask = function() while true do end end }",
        &format!(
            "{ASKS}
             local out = t.run('r')
             t.equal(out.outcome, 'failed')
             t.ok(out.why:find('ran for more than 100 ms without waiting', 1, true), out.why)"
        ),
    );
}

#[test]
fn what_is_no_function_is_refused_at_the_send() {
    passes(
        "local ok, why = pcall(function() return run:send { to = 'w', prompt = 'x', on_ask = 'yes' } end)
         local none = run:send { to = 'w', prompt = 'x', on_ask = fleet.null }
         return { why, none.text }",
        "t.worker('w', function() return 'done' end)
         t.equal(t.run('r').value, {
           \"recipe.lua:2: run:send: field 'on_ask': expected a function, got a string\", 'done' })",
    );
}

#[test]
fn only_a_scripted_worker_asks_and_waits_for_nothing_else() {
    let in_test = fails("return 1", "t.ask('which?')");
    assert!(in_test.starts_with("test.lua:2: t.ask: only a scripted worker asks"), "{in_test}");
    let other = fails("run:send { to = 'w', prompt = 'x' }", "t.worker('w', function() t.run('r') end)\nt.run('r')");
    assert!(other.starts_with("test.lua:2: t.run: a scripted worker may wait for nothing but t.ask"), "{other}");
    let nobody = fails("run:send { to = 'w', prompt = 'x' }", &format!("{ASKS} t.run('r')"));
    assert!(nobody.starts_with("recipe.lua:2: worker w-1 asked 'which colour?'; script the answer"), "{nobody}");
    let endless = "t.worker('w', function() for n = 1, 40 do t.ask('q' .. n) end end)\nt.run('r')";
    let endless = fails("run:send { to = 'w', prompt = 'x', on_ask = function() return 'yes' end }", endless);
    assert!(endless.starts_with("test.lua:2: the turn has asked 32 questions"), "{endless}");
}

#[test]
fn the_example_of_the_guide_passes_its_test() {
    let guide = include_str!("../../../docs/charters.md");
    let blocks = guide.split("```lua\n").skip(1).filter_map(|rest| rest.split("```").next());
    let example = blocks.into_iter().find(|block| block.contains("on_ask")).expect("it is there");
    let team = "fleet.profile('p', { launcher = 'exec', command = { 'cat' } })\n\
                fleet.role('w-painter', { profiles = { 'p' } })\n";
    let sources = Sources::from_files([("a.lua", team), ("paint.lua", example)]);
    let world = World::load(Arc::new(sources), Generation::default(), Arc::default()).expect("loads");
    let report = testing::all(&world, None);
    assert!(report.passed() && report.tests.len() == 1, "{report:#?}");
}
