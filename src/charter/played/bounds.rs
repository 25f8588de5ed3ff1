//! Runs below runs, deadlines and budgets on the stage: what code sees of them, and that each is replayed.
//! Only tests. The rules themselves are tested in `tests/it/fleet_bounds.rs` and `tests/it/fleet_children.rs`.

use std::sync::Arc;

use super::TEAM;
use crate::charter::sources::Sources;
use crate::charter::testing;
use crate::charter::world::World;
use crate::fleet::team::Generation;

fn passes(recipes: &str, test: &str) {
    let test = format!("fleet.test('it', function(t)\n{test}\nend)");
    let sources = Sources::from_files([("recipe.lua", recipes), ("team.lua", TEAM), ("test.lua", &test)]);
    let world = World::load(Arc::new(sources), Generation::default(), Arc::default()).expect("loads");
    let report = testing::all(&world, None);
    let error = report.tests[0].error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(report.passed(), "{error}\n{:#?}", report.tests[0].transcript);
}

const PARTS: &str = "
fleet.recipe('parts', { deadline = '1m', budget = { turns = 3 } }, function(job, run)
  local replies = run:each(job.parts, function(part)
    if part == 'slow' then run:sleep('5m') end
    return run:send { to = 'w', prompt = part, retries = 1 }
  end)
  local found, missing = run:split(replies)
  return run:partial({ found = #found, missing = missing }, #missing .. ' are missing')
end)";

const ECHO: &str = "t.worker('w', function(task) return task.prompt end)\n";

#[test]
fn a_run_that_reached_its_deadline_ends_with_what_it_has() {
    passes(
        PARTS,
        &format!(
            "{ECHO} local out = t.run('parts', {{ parts = {{ 'a', 'slow' }} }})
             t.equal(out.outcome, 'timed_out')
             t.equal(out.why, 'not ended within 1m00s; 1 are missing')
             t.equal(out.value, {{ found = 1, missing = {{ {{
               part = 2, item = 'slow', error = 'timed_out', why = 'not ended within 1m00s' }} }} }})"
        ),
    );
}

#[test]
fn a_turn_that_is_open_at_the_deadline_times_out_and_is_not_tried_again() {
    passes(
        PARTS,
        "t.worker('w', function(task) return t.ask('shall I?') end)
         t.answer(function() return 'yes' end)
         t.equal(t.run('parts', { parts = { 'a' } }).value, { found = 1, missing = {} })
         t.worker('w', function(task) return t.timeout() end)
         local out = t.run('parts', { parts = { 'a' } })
         t.equal(out.outcome, 'timed_out')
         t.equal(out.value.missing[1].error, 'timed_out')",
    );
}

#[test]
fn code_that_does_not_end_after_its_deadline_is_ended_by_force() {
    passes(
        "fleet.recipe('r', { deadline = '1m' }, function(job, run)
           while true do
             run:send { to = 'w', prompt = 'x', deadline = '10s' }
             if run:now() > 1e12 then return end
             run:send({ to = 'w', prompt = 'x', on_ask = function() end })
             run:ask_leader('for ever?')
           end
         end)
         fleet.recipe('stuck', { deadline = '1m' }, function(job, run) return run:sleep('5m') end)",
        &format!("{ECHO} t.equal(t.run('stuck').outcome, 'timed_out')"),
    );
}

#[test]
fn a_budget_of_turns_ends_a_run_with_what_it_has() {
    passes(
        PARTS,
        &format!(
            "{ECHO} local out = t.run('parts', {{ parts = {{ 'a', 'b', 'c', 'd' }} }})
             t.equal(out.outcome, 'budget')
             t.equal(out.why, '3 of 3 turns are used; 1 are missing')
             t.equal(out.value, {{ found = 3, missing = {{ {{
               part = 4, item = 'd', error = 'budget', why = '3 of 3 turns are used' }} }} }})
             t.equal(#t.sent(), 3)"
        ),
    );
}

#[test]
fn where_a_budget_is_used_up_nobody_sleeps_or_asks_and_the_run_keeps_what_it_has() {
    passes(
        "fleet.recipe('r', { budget = { turns = 1 } }, function(job, run)
           local began = run:now()
           local a = run:send({ to = 'w', prompt = 'one' })
           local b = run:send({ to = 'w', prompt = 'two' })
           run:sleep('30s')
           return { a.text, b.error, run:ask_leader('more?') or 'nobody', run:now() - began }
         end)
         fleet.recipe('parts', { budget = { turns = 1 } }, function(job, run)
           local began = run:now()
           local parts = run:each({ 'ask', 'below', 'send', 'late' }, function(part)
             if part == 'ask' then return run:ask_leader('go on?') or 'nobody' end
             if part == 'below' then return run:recipe('sleeps', {}).value end
             if part == 'late' then run:sleep('100ms') end
             local reply = run:send({ to = 'w', prompt = part })
             return reply.error or reply.text
           end)
           return { parts, run:now() - began }
         end)
         fleet.recipe('sleeps', {}, function(job, run) run:sleep('9m') return 'woken' end)",
        &format!(
            "{ECHO} t.answer(function() error('nobody is asked') end)
             local out = t.run('r')
             t.equal(out, {{ outcome = 'budget', value = {{ 'one', 'budget', 'nobody', 1 }}, why = '1 of 1 turns are used' }})
             t.answer(function() return 'yes' end)
             out = t.run('parts')
             t.equal(out.value, {{ {{ 'nobody', 'woken', 'send', 'budget' }}, 1 }})"
        ),
    );
}

const PAID: &str = "
fleet.recipe('paid', { budget = { tokens = 10000, cost = 2.5 } }, function(job, run)
  local n, spent = 0, 0
  while true do
    local reply = run:send({ to = 'w', prompt = 'x', retries = 2, deadline = '10m' })
    if reply.error == 'budget' then return run:partial({ n, reply.why, spent }, 'no more money') end
    if not reply.ok then return run:fail(reply.error) end
    n = n + 1
    spent = spent + (reply.usage and reply.usage.cost or 0)
  end
end)
fleet.recipe('above', { budget = { cost = 1 } }, function(job, run)
  local below = run:recipe('paid', {})
  return { below.outcome, below.value[2] }
end)";

#[test]
fn a_budget_of_tokens_and_of_money_is_played() {
    passes(
        PAID,
        "t.worker('w', function() return t.reply('x', { input = 3000, output = 1000, cache_read = 90000 }) end)
         t.equal(t.run('paid').value, { 3, '12000 of 10000 tokens are used', 0 })
         t.worker('w', function() return t.reply({ 1 }, { cost = 0.5 }) end)
         local out = t.run('paid')
         t.equal(out.outcome, 'budget')
         t.equal(out.value, { 5, '2.50 of 2.50 US dollars are used', 2.5 })
         t.equal(t.run('above').value, { 'partial', '1.00 of 1.00 US dollars are used of r3' })",
    );
}

#[test]
fn a_try_that_failed_is_paid_too_and_none_follows_it_that_is_not() {
    passes(
        PAID,
        "local tries = 0
         t.worker('w', function() tries = tries + 1 return t.lost({ cost = 1.5 }) end)
         local out = t.run('paid')
         t.equal(tries, 2)
         t.equal(out.outcome, 'budget')
         t.equal(out.why, '3.00 of 2.50 US dollars are used; lost')",
    );
}

#[test]
fn a_turn_takes_as_long_as_it_says_and_times_out_at_its_deadline() {
    passes(
        "fleet.recipe('r', {}, function(job, run)
           local reply = run:send({ to = 'w', prompt = job.took, deadline = '10m' })
           return { reply.error or reply.text, run:now() }
         end)",
        "t.worker('w', function(task) return t.reply('x', { took = task.prompt }) end)
         local first = t.run('r', { took = '1s' }).value
         local second = t.run('r', { took = '9m' }).value
         local third = t.run('r', { took = '11m' }).value
         t.equal({ second[1], second[2] - first[2] }, { 'x', 540 })
         t.equal({ third[1], third[2] - second[2] }, { 'timed_out', 600 })",
    );
}

#[test]
fn what_a_turn_used_must_say_something_that_there_is() {
    let refused = |used: &str| {
        let test = format!(
            "fleet.test('it', function(t) t.worker('w', function() return t.reply('x', {used}) end) t.run('parts', {{ parts = {{ 'a' }} }}) end)"
        );
        let sources = Sources::from_files([("recipe.lua", PARTS), ("team.lua", TEAM), ("test.lua", &test)]);
        let world = World::load(Arc::new(sources), Generation::default(), Arc::default()).expect("loads");
        testing::all(&world, None).tests.remove(0).error.expect(used).to_string()
    };
    for (used, why) in [
        ("{ tokens = 5 }", "what a turn used: unknown field 'tokens'; valid: input, output"),
        ("{ outptu = 5 }", "what a turn used: unknown field 'outptu'; did you mean 'output'?"),
        ("{ input = -1 }", "what a turn used: field 'input': expected a whole number from 0, got -1"),
        ("{ cost = -1 }", "what a turn used: field 'cost': expected US dollars, got -1"),
        ("{ took = 'long' }", "what a turn used: field 'took': "),
        ("{}", "what a turn used: say something of it; valid: input, output, cache_read, cache_write, cost, took"),
        ("5", "what a turn used: expected a table of fields, got a number"),
    ] {
        let said = refused(used);
        assert!(said.contains(why), "{used}: {said}");
    }
}

const NESTED: &str = "
fleet.recipe('outer', { deadline = '10m' }, function(job, run)
  local good = run:recipe('inner', { text = 'x' })
  local bad = run:recipe('inner', { text = 'fail' })
  local ok, why = pcall(run.recipe, run, 'iner', {})
  local ok2, why2 = pcall(run.recipe, run, 'inner', { txt = 1 })
  local ok3, why3 = pcall(run.recipe, run, 'inner', { text = 'x' }, { deadlin = '1m' })
  local place = select(2, run:race({ 'slow', 'quick' }, function(text)
    return run:recipe('inner', { text = text })
  end))
  return { good, bad, why, why2, why3, place, run:note('seen') }
end)
fleet.recipe('inner', { input = { text = 'string' } }, function(job, run)
  if job.text == 'fail' then return run:fail('as told', { 1 }) end
  if job.text == 'slow' then run:sleep('5m') run:note('seen', 'slow') end
  return run:send({ to = 'w', prompt = job.text }).text
end)
fleet.recipe('endless', {}, function(job, run) return run:recipe('endless', {}).why end)";

#[test]
fn a_recipe_runs_below_another_and_its_failure_is_a_value() {
    passes(
        NESTED,
        &format!(
            "{ECHO} local value = t.run('outer').value
             t.equal(value[1], {{ ok = true, outcome = 'done', value = 'x', run = 'r2', recipe = 'inner' }})
             t.equal(value[2], {{
               ok = false, outcome = 'failed', error = 'failed', why = 'as told', value = {{ 1 }}, run = 'r3', recipe = 'inner' }})
             t.equal(value[3], \"recipe.lua:5: run:recipe: there is no recipe 'iner'; did you mean 'inner'?; valid: endless, inner, outer\")
             t.ok(value[4]:find(\"unknown field 'txt'; did you mean 'text'?\", 1, true), value[4])
             t.ok(value[5]:find(\"unknown field 'deadlin'; did you mean 'deadline'?\", 1, true), value[5])
             t.equal(value[6], 2)
             t.equal(#value, 6)"
        ),
    );
}

#[test]
fn recipes_that_run_themselves_are_stopped_with_the_chain() {
    passes(
        NESTED,
        "local out = t.run('endless')
         t.equal(out.outcome, 'done')
         t.equal(out.value, nil)
         t.equal(#t.sent(), 0)",
    );
}

#[test]
fn a_budget_must_say_something_that_can_be_used() {
    let declared = |budget: &str| {
        let recipe = format!("fleet.recipe('r', {{ budget = {budget} }}, function() end)");
        let sources = Sources::from_files([("recipe.lua", recipe.as_str()), ("team.lua", TEAM)]);
        World::load(Arc::new(sources), Generation::default(), Arc::default())
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    for (budget, why) in [
        ("{}", "recipe 'r': field 'budget': say how many 'turns', 'tokens' or US dollars ('cost')"),
        ("{ turn = 1 }", "recipe 'r': field 'budget': unknown field 'turn'; did you mean 'turns'?"),
        ("{ turns = 1.5 }", "field 'turns': expected a whole number from 1, got 1.5"),
        ("{ cost = 0 }", "field 'cost': expected US dollars, more than 0, got 0"),
    ] {
        let refused = declared(budget);
        assert!(refused.contains(why), "{budget}: {refused}");
    }
}
