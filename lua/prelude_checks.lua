-- What a test of a charter is given: the table `t`, and how what is scripted is called.
--
-- It is called once, after the prelude, with `native` and what the prelude lends it, and returns what the host needs of it.
-- It goes by the prelude's name, so that an error carries the author's file and line here, too.

local native, own = ...
local here, fail, unknown, to_text = own.here, own.fail, own.unknown, own.to_text
local freeze, dressed, metas = own.freeze, own.dressed, own.metas
---@diagnostic disable-next-line: undefined-global
local yield = coroutine.yield
local raw_error, raw_type, find0 = error, type, own.find

local Test, Outcome = {}, {}
local checks = {}

local function test_wait(request)
  local source, line = here(3)
  local ok, value = yield(request, source or "?", line or 0)
  if ok then return value end
  raw_error(value, 0)
end

local function same(a, b)
  if a == b then return true end
  if raw_type(a) ~= "table" or raw_type(b) ~= "table" then return false end
  for key, value in pairs(a) do
    if not same(value, rawget(b, key)) then return false end
  end
  for key in pairs(b) do
    if rawget(a, key) == nil then return false end
  end
  return true
end

function checks.worker(role, fn)
  if raw_type(fn) ~= "function" then fail("t.worker: expected a function, got " .. raw_type(fn)) end
  test_wait({ verb = "worker", name = role, fn = fn })
end
function checks.answer(fn)
  if raw_type(fn) ~= "function" then fail("t.answer: expected a function, got " .. raw_type(fn)) end
  test_wait({ verb = "answer", fn = fn })
end
function checks.command(fn)
  if raw_type(fn) ~= "function" then fail("t.command: expected a function, got " .. raw_type(fn)) end
  test_wait({ verb = "command", fn = fn })
end
function checks.at(clock, zone)
  if raw_type(clock) ~= "string" then fail('t.at: expected a time such as "23:00", got ' .. raw_type(clock)) end
  if zone ~= nil and raw_type(zone) ~= "string" then
    fail('t.at: expected a zone such as "Europe/Berlin", got ' .. raw_type(zone))
  end
  test_wait({ verb = "at", name = clock, spec = zone })
end
function checks.gone(worker)
  if raw_type(worker) ~= "string" then fail("t.gone: expected the name of a worker, got " .. raw_type(worker)) end
  test_wait({ verb = "gone", name = worker })
end
function checks.run(recipe, job) return dressed(test_wait({ verb = "run", name = recipe, spec = job }), metas.test_run) end
function checks.route(task, team) return dressed(test_wait({ verb = "route", spec = task, team = team }), metas.test_route) end
function checks.event(name, fields)
  if raw_type(name) ~= "string" then fail("t.event: expected the name of an event, got " .. raw_type(name)) end
  return test_wait({ verb = "event", name = name, spec = fields == nil and {} or fields })
end
function checks.ask(question)
  if raw_type(question) ~= "string" then fail("t.ask: expected the question, a text, got " .. raw_type(question)) end
  if not find0(question, "%S") then fail("t.ask: the question is empty") end
  return test_wait({ verb = "ask", text = question })
end
function checks.sent()
  local sent = test_wait({ verb = "sent" })
  for _, one in ipairs(sent) do dressed(one, metas.test_sent) end
  return sent
end
function checks.equal(got, wanted)
  if not same(got, wanted) then fail("wanted " .. native.show(wanted) .. ", got " .. native.show(got)) end
end
function checks.ok(value, message)
  if not value then fail(message == nil and ("wanted something true, got " .. native.show(value)) or to_text(message)) end
end

local function result(outcome, why, used)
  local wrong = native.wrong_use(used)
  if wrong then fail(wrong) end
  return table.freeze(setmetatable({ outcome = outcome, why = why, used = used }, Outcome))
end
-- What a worker says as a text, or nil.
local function words(answer)
  if raw_type(answer) == "string" or raw_type(answer) == "number" then return to_text(answer) end
  -- A table is the JSON that an agent would write.
  return raw_type(answer) == "table" and native.json(answer) or nil
end
function checks.reply(answer, used)
  local text = words(answer)
  if not text then fail("t.reply: expected a text or a table, got " .. native.show(answer)) end
  return result("replied", text, used)
end
function checks.fail(why, used) return result("failed", why == nil and "the scripted worker failed" or to_text(why), used) end
function checks.timeout(used) return result("timed_out", "the scripted worker was too slow", used) end
function checks.lost(used) return result("lost", "the scripted worker died", used) end

for name, check in pairs(checks) do
  checks[name] = function(first, ...)
    if raw_type(first) == "table" and getmetatable(first) == Test then fail("write t." .. name .. "(…) with a dot") end
    return check(first, ...)
  end
end

Test.__index = function(_, key) fail(unknown("a test has no", key, checks)) end
table.freeze(Test)
table.freeze(Outcome)
local t = table.freeze(setmetatable(checks, Test))

local function test(fn) fn(t) end

local function question(value) return freeze(dressed(value, metas.question)) end

-- What is scripted gets a worker's task, or the words of a command, or a question.
local function scripted(fn, task)
  if raw_type(task) == "table" and task.prompt then dressed(task, metas.scripted) end
  local answer = fn(freeze(task))
  if raw_type(answer) == "table" and getmetatable(answer) == Outcome then return answer.outcome, answer.why, answer.used end
  local text = words(answer)
  if text then return "replied", text end
  return "wrong",
    "a scripted answer must be a text, a table, t.reply(text, used), t.fail(why), t.timeout() or t.lost(); it was "
      .. native.show(answer)
end

return { test = test, scripted = scripted, question = question }
