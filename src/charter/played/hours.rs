//! Hours in tests: a test says what time it is, and closed roles make what is sent to them wait, in virtual time.
//! Only tests. The rules themselves are tested in `src/fleet/hours/tests.rs` and `tests/it/fleet_caps.rs`.

use std::sync::Arc;

use crate::charter::sources::Sources;
use crate::charter::testing::{self, TestResult};
use crate::charter::world::World;
use crate::fleet::team::Generation;

const TEAM: &str = "
fleet.profile('p', { launcher = 'exec', command = { 'cat' } })
fleet.role('w-day', { profiles = { 'p' }, between = '08:00-18:00', days = 'mon-fri' })
fleet.role('w-night', { profiles = { 'p' }, max_busy = 0, hours = { { between = '22:00-06:00', max_busy = 12 } }, zone = 'UTC' })
fleet.route('day', function(task, team)
  local day = team.roles['w-day']
  if day.open and day.free > 0 then return { role = 'w-day' } end
end)
fleet.route('night', function(task, team)
  return { role = 'w-night', because = tostring(team.roles['w-night'].max_busy) }
end)
fleet.recipe('send', {}, function(job, run)
  local before = run:now()
  local reply = run:send({ to = job.to, prompt = 'x', deadline = job.deadline, retries = job.retries })
  return { reply.text, reply.error or '', reply.why or '', (run:now() - before) / 3600, reply.from.worker or 'nobody' }
end)
";

fn played(test: &str) -> TestResult {
    let test = format!(
        "fleet.test('it', function(t)\nt.worker('w-day', function() return 'day' end)\nt.worker('w-night', function() return 'night' end)\n{test}\nend)"
    );
    let sources = Sources::from_files([("team.lua", TEAM), ("test.lua", &test)]);
    let world = World::load(Arc::new(sources), Generation::default(), Arc::default()).expect("loads");
    testing::all(&world, None).tests.remove(0)
}

fn passes(test: &str) {
    let result = played(test);
    assert!(result.error.is_none(), "{}\n{:#?}", result.error.unwrap_or_default(), result.transcript);
}

#[test]
fn until_a_test_says_what_time_it_is_every_role_is_open() {
    passes(
        "t.equal(t.route({}).role, 'w-day')
         t.equal(t.run('send', { to = 'w-day', deadline = '1m' }).value[1], 'day')
         t.equal(t.run('send', { to = 'w-night', deadline = '1m' }).value[1], 'night')",
    );
}

#[test]
fn rubrics_see_the_roles_as_their_hours_say() {
    passes(
        "t.at('wed 12:00')
         t.equal(t.route({}).role, 'w-day')
         t.at('18:00')
         t.equal(t.route({}), { role = 'w-night', because = '0', rubric = 'night' })
         t.at('22:00')
         t.equal(t.route({}).because, '12')
         t.at('sat 12:00', 'UTC')
         t.equal(t.route({}).role, 'w-night')
         t.equal(t.route({}, { roles = { ['w-day'] = { open = true } } }).role, 'w-day')",
    );
}

#[test]
fn what_is_sent_to_a_closed_role_waits_for_its_opening() {
    passes(
        "t.at('sat 08:00')
         local value = t.run('send', { to = 'w-day' }).value
         t.equal(value[1], 'day')
         t.ok(value[4] > 48 and value[4] < 48.01, value[4])
         t.at('21:00')
         t.equal(t.run('send', { to = 'w-night', deadline = '2h' }).value[1], 'night')",
    );
}

#[test]
fn what_is_sent_to_a_closed_role_times_out_at_its_deadline() {
    passes(
        "t.at('06:00', 'UTC')
         local value = t.run('send', { to = 'w-night', deadline = '15h' }).value
         t.equal(value, { '', 'busy', \"no worker took it within 15h00m: closed: 'w-night' is handed nothing until 22:00 UTC\", 15, 'nobody' })
         t.at('06:00', 'UTC')
         value = t.run('send', { to = 'w-night', deadline = '1h', retries = 3 }).value
         t.equal({ value[2], value[4] }, { 'busy', 4 })
         t.equal(#t.sent(), 2)",
    );
}

#[test]
fn what_is_no_time_of_a_clock_is_refused() {
    for (at, why) in [
        ("'noon'", "t.at: 'noon' is no time of a clock; write for example \"23:00\" or \"sat 23:00\""),
        ("'24:00'", "t.at: '24:00' is no time of a clock"),
        ("'Saturday 23:00'", "'Saturday' names no days; did you mean \"sat\"?"),
        ("'23:00', 'Mars/Olympus'", "t.at: there is no zone 'Mars/Olympus' on this machine"),
        ("'23:00', 5", "t.at: expected a zone such as \"Europe/Berlin\", got number"),
        ("23", "t.at: expected a time such as \"23:00\", got number"),
    ] {
        let error = played(&format!("t.at({at})")).error.expect(at).to_string();
        assert!(error.contains(why), "{at}: {error}");
    }
}
