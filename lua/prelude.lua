-- The prelude of every charter VM: the world that a charter sees, the verbs of `fleet`, the steps of `run`.
--
-- It is called once with `native`, the functions of the host, and returns what the host needs of it. `coroutine` and
-- `debug` are seen here and nowhere else. A native function answers nil and a message when it refuses; the error is
-- raised here, so that it carries the author's file and line and not ours.

local native = ...
---@diagnostic disable-next-line: undefined-global
local yield, info = coroutine.yield, debug.info
local raw_error, raw_tostring, raw_type = error, tostring, type
local format0, find0, split0, move0, to_number = string.format, string.find, string.split, table.move, tonumber
local match0, gmatch0, gsub0, sort0 = string.match, string.gmatch, string.gsub, table.sort
local pcall0, xpcall0 = pcall, xpcall
local null = native.null

-- No script may go on when memory has run out, not even one that catches errors: the host notes it and stops it.
local function noted(ok, ...)
  if not ok and native.is_memory((...)) then raw_error((...), 0) end
  return ok, ...
end

local function pcall(fn, ...) return noted(pcall0(fn, ...)) end

local function xpcall(fn, handler, ...)
  if raw_type(handler) ~= "function" then return xpcall0(fn, handler, ...) end
  local function handle(message)
    native.is_memory(message)
    return handler(message)
  end
  return noted(xpcall0(fn, handle, ...))
end

-- Where the author is

local function here(first)
  for level = first or 3, 100 do
    local source, line = info(level, "sl")
    if source == nil then return nil end
    if line > 0 and source ~= "prelude" then return source, line end
  end
end

local function where_is(thread)
  for level = 0, 100 do
    local source, line = info(thread, level, "sl")
    if source == nil then return nil end
    if line > 0 and source ~= "prelude" then return source .. ":" .. line end
  end
end

local function fail(message)
  local source, line = here(2)
  if source then message = source .. ":" .. line .. ": " .. message end
  raw_error(message, 0)
end

local function names_of(t)
  local names = {}
  for name in pairs(t) do
    if raw_type(name) == "string" then table.insert(names, name) end
  end
  table.sort(names)
  return names
end

local function unknown(what, name, t, why)
  name = raw_tostring(name)
  local message = what .. " `" .. name .. "`"
  if why then return message .. ": " .. why end
  local names = names_of(t)
  local near = native.nearest(name, names)
  if near then return message .. "; did you mean `" .. near .. "`?" end
  return message .. "; valid: " .. table.concat(names, ", ")
end

-- The world

-- An address in a text would differ from replay to replay.
local function to_text(value)
  local kind = raw_type(value)
  if kind == "string" then return value end
  if kind == "nil" or kind == "number" or kind == "boolean" then return raw_tostring(value) end
  if value == null then return "null" end
  local meta = getmetatable(value)
  if raw_type(meta) == "table" and rawget(meta, "__tostring") then return raw_tostring(value) end
  if kind == "userdata" then return (native.error_text(value) or kind) end
  return kind
end

local function plain_args(...)
  local args = table.pack(...)
  for n = 1, args.n do
    local kind = raw_type(args[n])
    if kind ~= "string" and kind ~= "number" then args[n] = to_text(args[n]) end
  end
  return args
end

-- A mistake in a call of these must point at the author's line, not at ours.
local function relay(ok, ...)
  if ok then return ... end
  local message = ...
  -- What a function of the author's own got wrong inside of the call says already where it is.
  if raw_type(message) ~= "string" or native.positioned(message) then raw_error(message, 0) end
  fail((gsub0(message, "^prelude:%d+: ", "")))
end

local function format(pattern, ...)
  for n = 1, select("#", ...) do
    local kind = raw_type((select(n, ...)))
    if kind ~= "string" and kind ~= "number" then
      local args = plain_args(...)
      return relay(pcall(format0, pattern, table.unpack(args, 1, args.n)))
    end
  end
  return relay(pcall(format0, pattern, ...))
end

-- What goes on between two looks at the clock is bounded. The matcher may compare each byte with every letter of a set,
-- and nothing else of a pattern takes long.
local MATCH_LIMIT = 2e7
local function bounded(name, text, pattern)
  if raw_type(text) ~= "string" or raw_type(pattern) ~= "string" or #text * #pattern <= MATCH_LIMIT then return end
  local set = native.longest_set(pattern)
  if #text * set > MATCH_LIMIT then
    local long = set > 1 and " for a pattern with a set of " .. set or " for a pattern"
    fail("string." .. name .. ": a text of " .. #text .. " bytes is too long" .. long)
  end
end

-- All others go through a text once.
local TEXT_LIMIT = 8 * 1024 * 1024
local function short(name, text)
  if raw_type(text) == "string" and #text > TEXT_LIMIT then
    fail(name .. ": a text of " .. #text .. " bytes is too long; " .. TEXT_LIMIT .. " are the most")
  end
end

-- The library's own search for a plain text cannot be interrupted and is quadratic; this one is linear.
local function find(text, pattern, init, plain)
  if raw_type(text) == "string" and #text > 1000 and raw_type(pattern) == "string" and #pattern > 1 then
    if plain or not find0(pattern, "[%^%$%*%+%?%.%(%)%[%]%%%-]") then
      short("string.find", text)
      return native.find_plain(text, pattern, init or 1)
    end
  end
  bounded("find", text, pattern)
  return relay(pcall(find0, text, pattern, init, plain))
end

local function match(text, pattern, init)
  bounded("match", text, pattern)
  return relay(pcall(match0, text, pattern, init))
end

local function gmatch(text, pattern)
  bounded("gmatch", text, pattern)
  return relay(pcall(gmatch0, text, pattern))
end

local function gsub(text, pattern, ...)
  bounded("gsub", text, pattern)
  return relay(pcall(gsub0, text, pattern, ...))
end

-- The library's own split has the same fault.
local function split(text, separator)
  short("string.split", text)
  if raw_type(text) == "string" and raw_type(separator) == "string" and #separator > 1 then
    local parts, from = {}, 0
    while from do from = relay(pcall(native.split, parts, text, separator, from)) end
    return parts
  end
  return relay(pcall(split0, text, separator))
end

for _, name in ipairs({ "len", "offset", "codepoint" }) do
  local whole = utf8[name]
  utf8[name] = function(text, ...)
    short("utf8." .. name, text)
    return relay(pcall(whole, text, ...))
  end
end

local MOVE_LIMIT = 1000000
local function move(from, first, last, to, target)
  -- The library takes texts that look like numbers. Asked so that what is not a number (0/0) is refused as well.
  local low, high = to_number(first), to_number(last)
  if low and high and not (high - low < MOVE_LIMIT) then
    fail("table.move moves at most " .. MOVE_LIMIT .. " items at once")
  end
  return relay(pcall(move0, from, first, last, to, target or from))
end

-- What has an address stands in a table where the address puts it, which differs from VM to VM: so would the order.
local function orderly(name, t)
  local meta = getmetatable(t)
  if raw_type(meta) == "table" and rawget(meta, "__mode") ~= nil then
    fail(name .. ": what a table with `__mode` still holds differs at a replay; leave `__mode` out")
  end
  -- Written so that the VM walks by itself.
  for key in pairs(t) do
    local kind = type(key)
    if kind ~= "string" and kind ~= "number" and kind ~= "boolean" and key ~= null then
      fail(name .. ": a " .. kind .. " is a key of this table, so its order differs at a replay; keep a list beside it")
    end
  end
end

local function pairs_of(t)
  if raw_type(t) ~= "table" then return relay(pcall(pairs, t)) end
  orderly("pairs", t)
  return pairs(t)
end

-- Asked for one key after the other, so only that one is looked at.
local function next_of(t, key)
  if raw_type(t) ~= "table" then return relay(pcall(next, t, key)) end
  local following, value = next(t, key)
  local kind = type(following)
  if kind == "table" or kind == "function" or (kind == "userdata" and following ~= null) then
    fail("next: a " .. kind .. " is a key of this table, so its order differs at a replay; keep a list beside it")
  end
  return following, value
end

-- Every `for … in` that calls neither pairs nor ipairs comes here with what it goes over (see `charter/loops.rs`).
local function each(first, ...)
  if raw_type(first) == "table" then
    local meta = getmetatable(first)
    local own = raw_type(meta) == "table" and (rawget(meta, "__iter") or rawget(meta, "__call"))
    if not own then orderly("for", first) end
  elseif first == next_of and raw_type((...)) == "table" then
    orderly("next", (...))
    return next, ...
  end
  return first, ...
end

-- What the collector has taken already would be seen.
local function set_meta(t, meta)
  if raw_type(meta) == "table" and rawget(meta, "__mode") ~= nil then
    fail("setmetatable: what a table with `__mode` still holds differs at a replay; leave `__mode` out")
  end
  return relay(pcall(setmetatable, t, meta))
end

-- A sort looks at the clock only where a function in Lua compares; one of the library never does.
local function less(a, b) return a < b end
local function sort(list, before)
  local compare = before == nil and less or before
  if raw_type(before) == "function" then compare = function(a, b) return before(a, b) end end
  return relay(pcall(sort0, list, compare))
end

local absent = {
  random = "it would differ at a replay; in a recipe use run:random()",
  randomseed = "in a recipe use run:random()",
  os = "a charter has no clock and no processes; time is task.now in a rubric and run:now() in a recipe",
  io = "a charter reads no files; give what it needs in the job",
  coroutine = "run:each starts things side by side",
  debug = "it is not part of a charter's world",
  package = "use require(\"lib.name\")",
  loadstring = "use require(\"lib.name\")",
  load = "use require(\"lib.name\")",
  dofile = "use require(\"lib.name\")",
  _G = "charters share no globals",
  foreach = "write 'for key, value in pairs(list) do'",
  foreachi = "write 'for n, value in ipairs(list) do'",
  getn = "write #list",
  maxn = "write #list",
  run = "it is the second argument of a recipe's function",
  job = "it is the first argument of a recipe's function",
  task = "it is the first argument of a rubric",
  team = "it is the second argument of a rubric",
  event = "it is the argument of a handler",
  t = "it is the argument of a test's function",
  await = "steps wait by themselves: leave it out",
  async = "steps wait by themselves: leave it out",
  null = "write fleet.null in a list; a field that is nil is absent",
}

string.format, string.find, string.split, table.move = format, find, split, move
string.match, string.gmatch, string.gsub, table.sort = match, gmatch, gsub, sort
math.random, math.randomseed = nil, nil
-- They call functions of the library without a look at the clock; Lua has no use for them since it has pairs and #.
table.foreach, table.foreachi, table.getn, table.maxn = nil, nil, nil, nil

local function guard(name, lib)
  return setmetatable(lib, table.freeze({
    __index = function(_, key)
      if raw_type(key) ~= "string" then return nil end
      fail(unknown("there is no " .. name .. " function", key, lib, absent[key]))
    end,
  }))
end

local function print_line(...)
  local args = plain_args(...)
  local source, line = here(2)
  native.print(source or "?", line or 0, table.concat(args, " ", 1, args.n))
end

local world = {
  assert = assert, error = error, ipairs = ipairs, next = next_of, pairs = pairs_of, pcall = pcall, xpcall = xpcall,
  select = select, tonumber = tonumber, tostring = to_text, type = type, unpack = unpack, rawequal = rawequal,
  rawget = rawget, rawset = rawset, rawlen = rawlen, setmetatable = set_meta, getmetatable = getmetatable,
  print = print_line,
  math = guard("math", math), string = guard("string", string), table = guard("table", table),
  utf8 = guard("utf8", utf8), bit32 = guard("bit32", bit32),
}

local function make_env(fleet, require)
  local env = table.clone(world)
  env.fleet, env.require = fleet, require
  local meta = {
    __index = function(_, name)
      if name == native.each_name then return each end
      local near = not absent[name] and native.local_near(here(2) or "?", name)
      if near then fail("there is no name `" .. name .. "`; did you mean `" .. near .. "`?") end
      fail(unknown("there is no name", name, env, absent[name]))
    end,
    __newindex = function(_, name)
      fail("charters share no globals: write 'local " .. raw_tostring(name) .. "'")
    end,
  }
  setmetatable(env, table.freeze(meta))
  return table.freeze(env)
end

-- Each instance of a charter executes its modules anew and keeps them to itself.
local function make_require(env_of)
  local loaded = {}
  return function(name)
    if raw_type(name) ~= "string" then fail("require: expected a text such as \"lib.name\", got a " .. raw_type(name)) end
    local entry = loaded[name]
    if entry == false then fail("require: '" .. name .. "' is being loaded already; two modules require each other") end
    if entry == nil then
      local chunk, refused = native.module(name, env_of())
      if not chunk then
        -- A mistake in the module itself already says where it is.
        if native.positioned(refused) then raw_error(refused, 0) end
        fail(refused)
      end
      loaded[name] = false
      local ok, value = pcall(chunk)
      if not ok then
        loaded[name] = nil
        raw_error(value, 0)
      end
      if value == nil then
        local file = raw_tostring(name)
        local nothing = function(_, key)
          fail("require: module '" .. file .. "' returns nothing, so it has no `" .. to_text(key) .. "`; end it with 'return' and its table")
        end
        value = table.freeze(setmetatable({}, table.freeze({ __index = nothing })))
      end
      entry = { value }
      loaded[name] = entry
    end
    return entry[1]
  end
end

local fleet

local function make_instance()
  local env
  env = make_env(fleet, make_require(function() return env end))
  return env
end

-- The verbs

local function declare(verb, name, spec, fn)
  local source, line = here(3)
  local ok, refused = native.declare(verb, name, spec, fn, source or "?", line or 0)
  if not ok then fail(refused) end
end

local function want_function(verb, fn)
  if raw_type(fn) ~= "function" then fail("fleet." .. verb .. ": expected a function as the last argument, got " .. raw_type(fn)) end
end

local verbs = { null = null }
function verbs.profile(name, spec) declare("profile", name, spec) end
function verbs.role(name, spec) declare("role", name, spec) end
function verbs.route(why, fn)
  want_function("route", fn)
  declare("route", why, nil, fn)
end
function verbs.recipe(name, spec, fn)
  if raw_type(spec) == "function" and fn == nil then spec, fn = {}, spec end
  want_function("recipe", fn)
  declare("recipe", name, spec, fn)
end
function verbs.on(event, fn)
  want_function("on", fn)
  declare("on", event, nil, fn)
end
function verbs.test(name, fn)
  want_function("test", fn)
  declare("test", name, nil, fn)
end
function verbs.launcher(name, spec, fn)
  if raw_type(spec) == "function" and fn == nil then spec, fn = {}, spec end
  want_function("launcher", fn)
  declare("launcher", name, spec, fn)
end
function verbs.shape(name, schema) declare("shape", name, schema) end

for verb, declares in pairs(verbs) do
  if raw_type(declares) == "function" then
    verbs[verb] = function(first, ...)
      if first == fleet then fail("write fleet." .. verb .. "(…) with a dot") end
      return declares(first, ...)
    end
  end
end

fleet = setmetatable(verbs, table.freeze({
  __index = function(_, key) fail(unknown("no", key, verbs)) end,
}))
table.freeze(fleet)

-- What a charter is given

-- A field that may be absent is nil; one that there never is, is a mistake.
local function only(what, fields)
  return table.freeze({
    __index = function(_, name)
      if not fields[name] then fail(unknown(what, name, fields)) end
    end,
  })
end

-- What steps and tests give back is dressed the same way, and is the author's own: a copy of it is a plain table.
local given = setmetatable({}, { __mode = "k" })
local function give(what, fields)
  local meta = only(what, fields)
  given[meta] = true
  return meta
end

local clone0 = table.clone
table.clone = function(t)
  local copy = relay(pcall(clone0, t))
  if given[getmetatable(copy)] then setmetatable(copy, nil) end
  return copy
end

local function dressed(value, meta)
  if raw_type(value) == "table" and not table.isfrozen(value) then setmetatable(value, meta) end
  return value
end

local metas, parts_of_reply = {}, {}
for name, of in pairs(native.given) do metas[name] = give(of.what, of.fields) end
for name, fields in pairs(native.parts_of_reply) do parts_of_reply[name] = give("`" .. name .. "` of a reply has no", fields) end

-- Data that is too long for a charter lies in a file, and whoever reads it as if it were there is told so.
local known_in_reply = metas.reply.__index
metas.reply = table.freeze({
  __index = function(reply, key)
    known_in_reply(reply, key)
    local file = key == "data" and rawget(reply, "truncated") and rawget(rawget(reply, "truncated"), "data")
    if file then
      fail("reply.data has more than 1 MiB, which is too much for a charter; it lies in " .. file .. " (reply.truncated.data)")
    end
  end,
})
given[metas.reply] = true

local function dress_reply(reply)
  for name, meta in pairs(parts_of_reply) do dressed(rawget(reply, name), meta) end
  return dressed(reply, metas.reply)
end

-- The steps

local Run, Ending = {}, {}
local steps = {}
local items_of = setmetatable({}, { __mode = "k" })

local function wait(request)
  local source, line = here(3)
  local ok, value = yield(request, source or "?", line or 0)
  if ok then return value end
  raw_error(value, 0)
end

local function check_self(self, name)
  if raw_type(self) ~= "table" or getmetatable(self) ~= Run then fail("write run:" .. name .. "(…) with a colon") end
end

function steps.send(self, spec)
  check_self(self, "send")
  local on_ask
  if raw_type(spec) == "table" then on_ask = rawget(spec, "on_ask") end
  if on_ask == null then on_ask = nil end
  if on_ask ~= nil then
    if raw_type(on_ask) ~= "function" then
      fail("run:send: field 'on_ask': expected a function, got a " .. raw_type(on_ask))
    end
    -- A function cannot cross the border; the rest of the spec does.
    spec = table.clone(spec)
    spec.on_ask = nil
  end
  return dress_reply(wait({ verb = "send", spec = spec, on_ask = on_ask }))
end

function steps.recipe(self, name, job, spec)
  check_self(self, "recipe")
  return dressed(wait({ verb = "recipe", name = name, job = job, spec = spec }), metas.sub_run)
end

function steps.command(self, argv, spec)
  check_self(self, "command")
  return dress_reply(wait({ verb = "command", list = argv, spec = spec }))
end

function steps.sleep(self, span)
  check_self(self, "sleep")
  wait({ verb = "sleep", span = span })
end

function steps.now() return wait({ verb = "now" }) end

function steps.random(self, low, high)
  check_self(self, "random")
  return wait({ verb = "random", low = low, high = high })
end

function steps.note(self, name, value)
  check_self(self, "note")
  -- Without a value it reads; null is one, and removes the note.
  local answer = wait({ verb = "note", name = name, value = value, sets = value ~= nil })
  if answer == null then return nil end
  return answer
end

function steps.progress(self, text, ...)
  check_self(self, "progress")
  if select("#", ...) > 0 then
    local args = plain_args(...)
    local ok, line = pcall(format0, text, table.unpack(args, 1, args.n))
    if not ok then fail("run:progress: " .. gsub0(to_text(line), "^prelude:%d+: ", "")) end
    text = line
  end
  wait({ verb = "progress", text = to_text(text) })
end

function steps.ask_leader(self, text)
  check_self(self, "ask_leader")
  local answer = wait({ verb = "ask_leader", text = text })
  if answer == null then return nil end
  return answer
end

local function parts(verb, list, fn, spec)
  if raw_type(list) ~= "table" then fail("run:" .. verb .. ": expected a list, got " .. raw_type(list)) end
  if raw_type(fn) ~= "function" then fail("run:" .. verb .. ": expected a function, got " .. raw_type(fn)) end
  return wait({ verb = verb, list = list, fn = fn, spec = spec })
end

function steps.each(self, list, fn)
  check_self(self, "each")
  local results = parts("each", list, fn)
  items_of[results] = list
  return results
end

local function is_good(reply)
  return reply ~= nil and reply ~= null and not (raw_type(reply) == "table" and rawget(reply, "ok") == false)
end

local function lack(part, item, reply)
  local lost = { part = part, item = item, error = "nothing", why = "the part gave no reply" }
  if raw_type(reply) == "table" then
    lost.error = rawget(reply, "error") or rawget(reply, "outcome")
    lost.why, lost.turn = rawget(reply, "why"), rawget(reply, "turn")
  end
  return dressed(lost, metas.missing)
end

function steps.split(self, replies)
  check_self(self, "split")
  if raw_type(replies) ~= "table" then fail("run:split: expected a list of replies, got " .. raw_type(replies)) end
  local found, missing, items = {}, {}, items_of[replies]
  for part = 1, #replies do
    local reply = replies[part]
    table.insert(is_good(reply) and found or missing, is_good(reply) and reply or lack(part, items and items[part], reply))
  end
  return found, missing
end

-- What came to nothing in a race or a vote; `given_up` says why a part was ended early.
local function lacking(list, got, given_up)
  local missing = {}
  for part = 1, #list do
    if got.came[part] then
      if not is_good(got.results[part]) then table.insert(missing, lack(part, list[part], got.results[part])) end
    elseif given_up then
      table.insert(missing, dressed({ part = part, item = list[part], error = "cancelled", why = given_up }, metas.missing))
    end
  end
  return missing
end

function steps.race(self, list, fn)
  check_self(self, "race")
  local got = parts("race", list, fn)
  return got.value, got.place, lacking(list, got)
end

function steps.vote(self, list, fn, spec)
  check_self(self, "vote")
  local got = parts("vote", list, fn, spec)
  local voted = {
    decided = got.decided, votes = got.votes, quorum = got.quorum, of = got.of, tally = got.tally,
    missing = lacking(list, got, got.decided and "the vote was decided" or "no value could win any more"),
  }
  if got.decided then
    voted.value = got.tally[1].value
  else
    voted.why = "no value has " .. got.quorum .. " of " .. got.of .. " votes; the most is " .. got.votes
    if #voted.missing > 0 then voted.why = voted.why .. ", and " .. #voted.missing .. " did not vote" end
  end
  return dressed(voted, metas.voted)
end

-- What goes into one frame: a text, a reply with who gave it, or any other value as JSON.
local function quotable(value, number)
  local n = number and " " .. number or ""
  if raw_type(value) == "string" then return { title = "text" .. n, text = value } end
  local text = raw_type(value) == "table" and rawget(value, "text")
  if raw_type(text) ~= "string" then return { title = "value" .. n, value = value } end
  local from, turn = rawget(value, "from"), rawget(value, "turn")
  local title = "reply" .. n .. " from " .. to_text(raw_type(from) == "table" and rawget(from, "worker") or "a worker")
  local part = { title = turn and title .. ", turn " .. to_text(turn) or title, text = text }
  -- What looks like a reply may be a worker's data: only of a real one it is believed where the whole is.
  local whole = getmetatable(value) == metas.reply and rawget(value, "truncated")
  if whole then part.bytes, part.file = whole.bytes, whole.path end
  return part
end

function steps.quote(self, value, spec)
  check_self(self, "quote")
  local is_list = raw_type(value) == "table" and rawget(value, "text") == nil and (#value > 0 or next(value) == nil)
  local parts = is_list and {} or { quotable(value) }
  if is_list then for n = 1, #value do parts[n] = quotable(value[n], n) end end
  local text, refused = native.quote(parts, spec)
  if not text then fail(refused) end
  return text
end

local function ending(outcome, why, value)
  return table.freeze(setmetatable({ outcome = outcome, why = to_text(why), value = value }, Ending))
end

function steps.partial(self, value, why)
  check_self(self, "partial")
  return ending("partial", why == nil and "something is missing" or why, value)
end

function steps.fail(self, why, value)
  check_self(self, "fail")
  return ending("failed", why == nil and "the recipe gave no reason" or why, value)
end

Run.__index = function(_, key)
  local step = steps[key]
  if step == nil then fail(unknown("a run has no step", key, steps)) end
  return step
end
table.freeze(Run)
table.freeze(Ending)
table.freeze(steps)

-- `fields` are those of the recipe's `input`, where it has one.
local function main(fn, job, id, recipe, fields)
  if fields then dressed(job, give("the job of `" .. recipe .. "` has no", fields)) end
  local run = table.freeze(setmetatable({ id = id, name = recipe }, Run))
  local value = fn(job, run)
  if raw_type(value) == "table" and getmetatable(value) == Ending then return value.outcome, value.value, value.why end
  return "done", value
end

-- Rubrics

local function freeze(value)
  if raw_type(value) == "table" and not table.isfrozen(value) then
    for _, inner in pairs(value) do freeze(inner) end
    table.freeze(value)
  end
  return value
end

local function strict(what)
  return table.freeze({ __index = function(names, name) fail(unknown("there is no " .. what, name, names)) end })
end
local roles_meta, endpoints_meta = strict("role"), strict("endpoint")

local task_meta, load_meta = only("a task has no", native.task_fields), only("a role's load has no", native.load_fields)
local team_meta = only("a team has no", { roles = true, endpoints = true, workers = true })

-- All tables that rubrics are shown are made here, since each value that the host puts into one costs as much as a whole
-- short rubric. They are frozen: those of a task are the same for all of its rubrics, and those of the team for the next
-- task too while they tell the same.
local nothing = table.freeze({})
local shows = {}

local function task_of(files, prompt, kind, from, urgent, now)
  local task = { prompt = prompt, kind = kind, files = files and table.freeze(files) or nothing, from = from, urgent = urgent, now = now }
  return table.freeze(setmetatable(task, task_meta))
end

local function used(turns, input, output, cost)
  return table.freeze({ turns = turns, input = input, output = output, cost = cost })
end

function shows.role(max_busy, max_workers, busy, free, waiting, max_waiting, workers, open, till, recent_failures, ...)
  return table.freeze(setmetatable({
    max_busy = max_busy, max_workers = max_workers, busy = busy, free = free, waiting = waiting, max_waiting = max_waiting,
    workers = workers, open = open, ["until"] = till, recent_failures = recent_failures, used = used(...),
  }, load_meta))
end

function shows.endpoint(max_busy, busy, free, recent_failures, ...)
  return table.freeze({ max_busy = max_busy, busy = busy, free = free, recent_failures = recent_failures, used = used(...) })
end

function shows.worker(role, profile, state, free, turns, knows)
  knows = knows and table.freeze(knows) or nothing
  return table.freeze({ role = role, profile = profile, state = state, free = free, turns = turns, knows = knows })
end

-- Some rows of a kind differ from those that were shown last.
function shows.rows(last) return last and clone0(last) or {} end

local function finished(rows, meta)
  if not table.isfrozen(rows) then table.freeze(meta and setmetatable(rows, meta) or rows) end
end

-- Workers come and go, so that one that is gone is nil.
function shows.team(roles, endpoints, workers)
  finished(roles, roles_meta)
  finished(endpoints, endpoints_meta)
  finished(workers)
  return table.freeze(setmetatable({ roles = roles, endpoints = endpoints, workers = workers }, team_meta))
end

-- An answer as nearly all are is told field by field, for the same reason; of any other the host says what is wrong with it.
local LONGEST_FIELD = 64 * 1024
local function fields_of(answer)
  if raw_type(answer) ~= "table" then return end
  local role, worker, because
  for name, value in next, answer do
    if raw_type(value) ~= "string" or #value > LONGEST_FIELD then return end
    if name == "role" then
      role = value
    elseif name == "worker" then
      worker = value
    elseif name == "because" then
      because = value
    else
      return
    end
  end
  if (role == nil) ~= (worker == nil) then return role, worker, because end
end

local function route(fn, team, task, ...)
  task = task or task_of(...)
  local answer = fn(task, team)
  return task, answer, fields_of(answer)
end

-- Handlers of events

local event_metas = {}
for name, fields in pairs(native.event_fields) do event_metas[name] = only("the event `" .. name .. "` has no", fields) end

local function handle(fn, name, event)
  if raw_type(event) == "table" then setmetatable(event, event_metas[name]) end
  return fn(freeze(event))
end

return {
  where_is = where_is, make_instance = make_instance, main = main, route = route, handle = handle, freeze = freeze,
  shows = shows,
  own = {
    here = here, fail = fail, unknown = unknown, to_text = to_text, freeze = freeze, dressed = dressed, metas = metas,
    find = find0,
  },
}
