//! Answers of a shape on the stage: what is data, what is sent back and how often, and what is said of a wrong schema.
//! Only tests. What fits and what a worker is told is tested with `fleet::shape`.

use std::sync::Arc;

use super::TEAM;
use crate::charter::sources::Sources;
use crate::charter::testing;
use crate::charter::world::World;
use crate::fleet::team::Generation;

const SHAPES: &str = "
fleet.shape('findings', 'finding[]')
fleet.shape('finding', { file = 'string', line = 'integer?', by = 'author?' })
fleet.shape('author', { type = 'object', required = { 'name' }, properties = { name = { type = 'string' } } })
";

fn load(recipe: &str, test: &str) -> Result<World, String> {
    let test = format!("fleet.test('it', function(t)\n{test}\nend)");
    let recipe = format!("fleet.recipe('r', {{}}, function(job, run)\n{recipe}\nend)");
    let files = [("recipe.lua", recipe.as_str()), ("shapes.lua", SHAPES), ("team.lua", TEAM), ("test.lua", &test)];
    let sources = Arc::new(Sources::from_files(files));
    World::load(sources, Generation::default(), Arc::default()).map_err(|errors| errors.to_string())
}

fn passes(recipe: &str, test: &str) {
    let report = testing::all(&load(recipe, test).expect("loads"), None);
    let error = report.tests[0].error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(report.passed(), "{error}\n{:#?}", report.tests[0].transcript);
}

#[test]
fn an_answer_that_fits_is_data() {
    passes(
        "local reply = run:send { to = 'w', prompt = 'look', schema = 'findings' }
         local first = reply.data[1]
         return { reply.ok, #reply.data, first.file, first.line + 1, first.by.name }",
        "t.worker('w', function() return { { file = 'a.rs', line = 7, by = { name = 'x' } }, { file = 'b.rs' } } end)
         t.equal(t.run('r').value, { true, 2, 'a.rs', 8, 'x' })
         t.worker('w', function() return 'Two:\\n```json\\n[{\\\"file\\\": \\\"a\\\", \\\"line\\\": 1, \\\"by\\\": {\\\"name\\\": \\\"y\\\"}}]\\n```' end)
         t.equal(t.run('r').value, { true, 1, 'a', 2, 'y' })",
    );
}

#[test]
fn one_that_does_not_is_sent_back_with_what_is_wrong() {
    passes(
        "local reply = run:send { to = 'w', prompt = 'look', schema = { n = 'integer' } }
         return { data = reply.data, took = reply.times.settled - reply.times.accepted }",
        "local complaints = {}
         t.worker('w', function(task)
           table.insert(complaints, task.complaint or 'none')
           if #complaints == 1 then return 'seven' end
           if #complaints == 2 then return { n = 'seven' } end
           return { n = 7 }
         end)
         t.equal(t.run('r').value, { data = { n = 7 }, took = 1000 })
         t.equal(complaints[1], 'none')
         t.ok(complaints[2]:find('it is not JSON', 1, true), complaints[2])
         t.equal(complaints[3], 'at /n: \\\"seven\\\" is not of type \\\"integer\\\"')",
    );
}

#[test]
fn after_the_last_correction_the_answer_is_there_and_is_not_ok() {
    passes(
        "local replies = run:each({ 0, 3 }, function(n)
           return run:send { to = 'w', prompt = 'look', schema = 'integer', corrections = n }
         end)
         local found, missing = run:split(replies)
         return { #found, missing[1].error, missing[2].why, replies[1].text, replies[1].data == nil, replies[1].outcome }",
        "t.worker('w', function() return 'x' end)
         local value = t.run('r').value
         t.equal({ value[1], value[2], value[4], value[5], value[6] }, { 0, 'schema', 'x', true, 'failed' })
         t.ok(value[3]:find('its answer does not fit the schema: it is not JSON', 1, true), value[3])",
    );
}

#[test]
fn each_correction_is_a_turn_that_the_budget_pays_for() {
    let recipe = "return run:send({ to = 'w', prompt = 'x', schema = 'integer', corrections = 9 }).error
end)
fleet.recipe('tight', { budget = { turns = 2 } }, function(job, run)
  return run:send({ to = 'w', prompt = 'x', schema = 'integer', corrections = 9 }).error";
    passes(
        recipe,
        "local n = 0
         t.worker('w', function() n = n + 1 return 'x' end)
         t.equal(t.run('tight'), { outcome = 'budget', value = 'schema', why = '2 of 2 turns are used' })
         t.equal(n, 2)
         t.equal(t.run('r').value, 'schema')
         t.equal(n, 12)",
    );
}

#[test]
fn a_wrong_schema_is_an_error_at_its_line() {
    passes(
        "local function try(spec)
           spec.to, spec.prompt = 'w', 'x'
           return select(2, pcall(function() run:send(spec) end))
         end
         return { try { schema = 'findin[]' }, try { schema = { type = 'strin' } }, try { corrections = 1 }, try { schema = 'any', corrections = 11 } }",
        "local value = t.run('r').value
         t.ok(value[1]:find(\"run:send: field 'schema': there is no type \\\"findin[]\\\"; did you mean \\\"finding\\\"?\", 1, true), value[1])
         t.ok(value[2]:find(\"field 'schema': it is no JSON Schema that can be used\", 1, true), value[2])
         t.ok(value[3]:find(\"field 'corrections': there is no 'schema' that an answer must fit\", 1, true), value[3])
         t.ok(value[4]:find('an answer is sent back 10 times at most, not 11', 1, true), value[4])",
    );
}

#[test]
fn what_is_wrong_with_a_shape_is_said_at_its_line() {
    let refused = |shapes: &str| {
        let sources = Sources::from_files([("shapes.lua", shapes), ("team.lua", TEAM)]);
        let loaded = World::load(Arc::new(sources), Generation::default(), Arc::default());
        loaded.map(drop).expect_err("refused").to_string()
    };
    for (shapes, why) in [
        (
            "fleet.shape('a', { x = 'strin' })",
            "shapes.lua:1: shape 'a': 'x': there is no type \"strin\"; did you mean \"string\"?",
        ),
        (
            "fleet.shape('a', 'b[]')\nfleet.shape('b', { x = 'a?' })",
            "shapes.lua:2: shape 'b': it contains 'a', which is wrong or contains it",
        ),
        (
            "fleet.shape('a', 'any')\nfleet.shape('a', 'any')",
            "shapes.lua:2: shape 'a' was already declared at shapes.lua:1",
        ),
        ("fleet.shape('string', 'any')", "shapes.lua:1: shape 'string': that is a type of its own"),
        (
            "fleet.shape('a', { type = 'object', properties = 1 })",
            "shapes.lua:1: shape 'a': it is no JSON Schema that can be used",
        ),
        ("fleet.shape('a')", "shapes.lua:1: shape 'a': expected a JSON Schema"),
    ] {
        let said = refused(shapes);
        assert!(said.contains(why), "{shapes}: {said}");
    }
}
