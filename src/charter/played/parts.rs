//! Races and votes on the stage: who wins, what is counted, what is given up, and that each is replayed.
//! Only tests. That the turns of the rest are cancelled is tested in `tests/it/fleet_parts.rs`.

use super::{ECHO, fails, passes};

#[test]
fn the_first_good_part_wins_a_race() {
    passes(
        "local late
         local reply, place, missing = run:race({ 'slow', 'bad', 'quick', 'slower' }, function(item)
           if item:find('slow') then run:sleep('10s') end
           local got = run:send { to = 'w', prompt = item }
           if item ~= 'quick' and item ~= 'bad' then late = item end
           return got
         end)
         run:sleep('1m')
         return { reply.text, place, missing, late == nil }",
        "t.worker('w', function(task) if task.prompt == 'bad' then return t.fail('exit 1') end return task.prompt end)
         t.equal(t.run('r').value, { 'quick', 3, { { part = 2, item = 'bad', error = 'failed', why = 'exit 1', turn = 't1' } }, true })
         t.equal(#t.sent(), 2)",
    );
}

#[test]
fn of_two_that_come_at_once_the_first_of_the_list_wins() {
    passes(
        "local value, place = run:race({ 'a', 'b' }, function(item) return run:send({ to = 'w', prompt = item }).text end)
         return { value, place }",
        &format!("{ECHO} t.equal(t.run('r').value, {{ 'a', 1 }})"),
    );
}

#[test]
fn a_race_that_nobody_wins_says_what_is_missing() {
    passes(
        "local value, place, missing = run:race({ 1, 2, 3 }, function(n)
           if n == 1 then return nil end
           if n == 2 then return fleet.null end
           return run:send { to = 'w', prompt = 'x' }
         end)
         local none, nowhere, nothing = run:race({}, print)
         return { value == nil, place == nil, #missing, missing[3].error, none == nil and nowhere == nil, #nothing }",
        "t.worker('w', function() return t.lost() end)
         t.equal(t.run('r').value, { true, true, 3, 'lost', true, 0 })",
    );
}

#[test]
fn an_error_before_somebody_won_is_an_error_of_the_race_and_none_after_it() {
    passes(
        "local ok, why = pcall(run.race, run, { 1, 2 }, function(n)
           if n == 2 then error('part two broke') end
           run:sleep('1s')
           return n
         end)
         local value = run:race({ 1, 2 }, function(n)
           if n == 2 then run:sleep('1s') error('too late to matter') end
           return n
         end)
         return { ok, why, value }",
        "t.equal(t.run('r').value, { false, 'recipe.lua:3: part two broke', 1 })",
    );
}

#[test]
fn a_vote_is_decided_by_its_quorum_and_the_rest_is_given_up() {
    passes(
        "local verdict = run:vote({ 'yes', ' yes\\n', 'no', 'late' }, function(item)
           if item == 'late' then run:sleep('1h') end
           return run:send { to = 'w', prompt = item }
         end, { quorum = 2 })
         return verdict",
        &format!(
            "{ECHO} t.equal(t.run('r').value, {{
               decided = true, value = 'yes', votes = 2, quorum = 2, of = 4,
               tally = {{ {{ value = 'yes', votes = 2, parts = {{ 1, 2 }} }} }},
               missing = {{
                 {{ part = 3, item = 'no', error = 'cancelled', why = 'the vote was decided' }},
                 {{ part = 4, item = 'late', error = 'cancelled', why = 'the vote was decided' }} }} }})
             t.equal(#t.sent(), 3)"
        ),
    );
}

#[test]
fn no_majority_is_a_value_and_comes_as_soon_as_it_is_certain() {
    passes(
        "local began = run:now()
         local verdict = run:vote({ 1, 2, 3, 4, 5 }, function(n)
           if n == 5 then run:sleep('1h') end
           if n == 4 then return nil end
           return { n = n, same = true }
         end)
         return { verdict, run:now() - began, run:vote({}, print).why }",
        "t.equal(t.run('r').value, { {
           decided = false, votes = 1, quorum = 3, of = 5,
           why = 'no value has 3 of 5 votes; the most is 1, and 2 did not vote',
           tally = {
             { value = { n = 1, same = true }, votes = 1, parts = { 1 } },
             { value = { n = 2, same = true }, votes = 1, parts = { 2 } },
             { value = { n = 3, same = true }, votes = 1, parts = { 3 } } },
           missing = {
             { part = 4, item = 4, error = 'nothing', why = 'the part gave no reply' },
             { part = 5, item = 5, error = 'cancelled', why = 'no value could win any more' } } },
           0, 'no value has 1 of 0 votes; the most is 0' })",
    );
}

#[test]
fn tables_are_one_vote_however_their_fields_are_ordered() {
    passes(
        "return run:vote({ 1, 2 }, function(n)
           local vote = {}
           for _, name in ipairs(n == 1 and { 'a', 'b' } or { 'b', 'a' }) do vote[name] = { name, 1 } end
           return vote
         end).votes",
        "t.equal(t.run('r').value, 2)",
    );
}

#[test]
fn what_a_vote_cannot_be_is_said() {
    passes(
        "local list = { 1, 2 }
         local ok, why = pcall(function() return run:vote(list, print, { quorum = 3 }) end)
         local ok2, why2 = pcall(function() return run:vote(list, print, { qourum = 1 }) end)
         local ok3, why3 = pcall(function() return run:vote(list, function() return print end) end)
         local ok4, why4 = pcall(function() return run:race({ a = 1 }, print) end)
         return { why, why2, why3, why4, ok or ok2 or ok3 or ok4 }",
        "t.equal(t.run('r').value, {
           'recipe.lua:3: run:vote: a quorum of 3 cannot be reached with 2 parts',
           \"recipe.lua:4: run:vote: unknown field 'qourum'; did you mean 'quorum'? valid: quorum\",
           'recipe.lua:5: run:vote: part 1 cannot be counted: a function cannot cross',
           'recipe.lua:6: run:race: expected a list, got a table with names; their order would not be certain',
           false })",
    );
}

#[test]
fn races_nest_and_a_question_of_the_rest_reaches_nobody() {
    passes(
        "local value = run:race({ 1, 2 }, function(n)
           return run:race({ 'a', 'b' }, function(x)
             if n == 1 and x == 'a' then run:sleep('1s') return 'won' end
             return run:send({ to = 'w', prompt = x, on_ask = function() run:sleep('1h') end }).text
           end)
         end)
         return value",
        "t.worker('w', function(task) return t.ask('which?') end)
         t.equal(t.run('r').value, 'won')",
    );
    let why = fails("return run:race({ 1 }, 2)", "local out = t.run('r') t.ok(out.outcome == 'done', out.why)");
    assert!(why.contains("run:race: expected a function, got number"), "{why}");
}
