---@meta world
-- The world of a charter for editors: what is here is all that Luau has there, beside the verbs of `fleet`. A test
-- compares the names with those that a charter really sees.

-- Names without a library

---Gives back its arguments, or raises the message if the first is nil or false.
---@generic T
---@param value? T
---@param message? any
---@return T
function assert(value, message, ...) end

---Raises an error; a text gets file and line before it, unless `level` is 0.
---@param message any
---@param level? integer
function error(message, level) end

---@param object any
---@return table?
function getmetatable(object) end

---@generic T: table, V
---@param list T
---@return fun(list: V[], n?: integer): integer, V
---@return T
---@return integer
function ipairs(list) end

---@generic K, V
---@param t table<K, V>
---@param key? K
---@return K?
---@return V?
function next(t, key) end

---@generic T: table, K, V
---@param t T
---@return fun(t: table<K, V>, key?: K): K, V
---@return T
function pairs(t) end

---Calls a function; what it raises is the second result, and then the first is false.
---@param fn function
---@return boolean ok
---@return any ...
function pcall(fn, ...) end

---As `pcall`; the handler is given the error first.
---@param fn function
---@param handler function
---@return boolean ok
---@return any ...
function xpcall(fn, handler, ...) end

---Writes a line to the log of fleetd, and to the transcript of a test.
function print(...) end

---@param a any
---@param b any
---@return boolean
function rawequal(a, b) end

---@param t table
---@param key any
---@return any
function rawget(t, key) end

---@param value table|string
---@return integer
function rawlen(value) end

---@param t table
---@param key any
---@param value any
---@return table
function rawset(t, key, value) end

---Gives what a module of the charter returns: `require("lib.name")` is `lib/name.lua`.
---@param name string
---@return any
function require(name) end

---@param n integer|"#"
---@return any
function select(n, ...) end

---@param t table
---@param meta? table
---@return table
function setmetatable(t, meta) end

---@param value any
---@param base? integer
---@return number?
function tonumber(value, base) end

---Gives a value as text; of a table or a function only its kind, since an address would differ from replay to replay.
---@param value any
---@return string
function tostring(value) end

---@param value any
---@return "nil"|"number"|"string"|"boolean"|"table"|"function"|"userdata"
function type(value) end

---@generic T
---@param list T[]
---@param first? integer
---@param last? integer
---@return T ...
function unpack(list, first, last) end

-- Numbers

---@class mathlib
---@field e number
---@field huge number
---@field nan number
---@field phi number
---@field pi number
---@field sqrt2 number
---@field tau number
math = {}

---@param x number
---@return number
function math.abs(x) end

---@param x number
---@return number
function math.acos(x) end

---@param x number
---@return number
function math.asin(x) end

---@param x number
---@return number
function math.atan(x) end

---@param y number
---@param x number
---@return number
function math.atan2(y, x) end

---@param x number
---@return integer
function math.ceil(x) end

---@param x number
---@param low number
---@param high number
---@return number
function math.clamp(x, low, high) end

---@param x number
---@return number
function math.cos(x) end

---@param x number
---@return number
function math.cosh(x) end

---@param x number
---@return number
function math.deg(x) end

---@param x number
---@return number
function math.exp(x) end

---@param x number
---@return integer
function math.floor(x) end

---@param x number
---@param y number
---@return number
function math.fmod(x, y) end

---@param x number
---@return number fraction
---@return integer exponent
function math.frexp(x) end

---@param x number
---@return boolean
function math.isfinite(x) end

---@param x number
---@return boolean
function math.isinf(x) end

---@param x number
---@return boolean
function math.isnan(x) end

---@param fraction number
---@param exponent integer
---@return number
function math.ldexp(fraction, exponent) end

---@param a number
---@param b number
---@param part number
---@return number
function math.lerp(a, b, part) end

---@param x number
---@param base? number
---@return number
function math.log(x, base) end

---@param x number
---@return number
function math.log10(x) end

---Moves a number from one range into another.
---@param x number
---@param low number
---@param high number
---@param new_low number
---@param new_high number
---@return number
function math.map(x, low, high, new_low, new_high) end

---@param x number
---@param ... number
---@return number
function math.max(x, ...) end

---@param x number
---@param ... number
---@return number
function math.min(x, ...) end

---@param x number
---@return number whole
---@return number fraction
function math.modf(x) end

---@param x number
---@param y? number
---@param z? number
---@return number
function math.noise(x, y, z) end

---@param x number
---@param y number
---@return number
function math.pow(x, y) end

---@param x number
---@return number
function math.rad(x) end

---@param x number
---@return integer
function math.round(x) end

---@param x number
---@return integer
function math.sign(x) end

---@param x number
---@return number
function math.sin(x) end

---@param x number
---@return number
function math.sinh(x) end

---@param x number
---@return number
function math.sqrt(x) end

---@param x number
---@return number
function math.tan(x) end

---@param x number
---@return number
function math.tanh(x) end

-- Texts

---@class stringlib
string = {}

---@param text string|number
---@param first? integer
---@param last? integer
---@return integer ...
function string.byte(text, first, last) end

---@param ... integer
---@return string
function string.char(...) end

---@param text string|number
---@param pattern string
---@param from? integer
---@param plain? boolean
---@return integer? first
---@return integer? last
---@return any ... what the pattern captures
function string.find(text, pattern, from, plain) end

---@param pattern string
---@param ... any
---@return string
function string.format(pattern, ...) end

---@param text string|number
---@param pattern string
---@return fun(): string, ...
function string.gmatch(text, pattern) end

---@param text string|number
---@param pattern string
---@param with string|table|function
---@param most? integer
---@return string
---@return integer count
function string.gsub(text, pattern, with, most) end

---@param text string|number
---@return integer
function string.len(text) end

---@param text string|number
---@return string
function string.lower(text) end

---@param text string|number
---@param pattern string
---@param from? integer
---@return any ...
function string.match(text, pattern, from) end

---@param layout string
---@param ... any
---@return string
function string.pack(layout, ...) end

---@param layout string
---@return integer
function string.packsize(layout) end

---@param text string|number
---@param times integer
---@return string
function string.rep(text, times) end

---@param text string|number
---@return string
function string.reverse(text) end

---Splits at a separator, which is a comma if absent and no pattern.
---@param text string|number
---@param separator? string
---@return string[]
function string.split(text, separator) end

---@param text string|number
---@param first integer
---@param last? integer
---@return string
function string.sub(text, first, last) end

---@param layout string
---@param text string
---@param from? integer
---@return any ...
function string.unpack(layout, text, from) end

---@param text string|number
---@return string
function string.upper(text) end

-- Tables

---@class tablelib
table = {}

---Removes all that is in it.
---@param t table
function table.clear(t) end

---@generic T
---@param t T
---@return T
function table.clone(t) end

---@param list (string|number)[]
---@param separator? string
---@param first? integer
---@param last? integer
---@return string
function table.concat(list, separator, first, last) end

---@generic T
---@param count integer
---@param value? T
---@return T[]
function table.create(count, value) end

---@generic T
---@param list T[]
---@param value T
---@param from? integer
---@return integer?
function table.find(list, value, from) end

---Makes it so that nothing in it can be changed any more.
---@generic T
---@param t T
---@return T
function table.freeze(t) end

---@generic T
---@param list T[]
---@param at integer
---@param value T
---@overload fun(list: any[], value: any)
function table.insert(list, at, value) end

---@param t table
---@return boolean
function table.isfrozen(t) end

---@generic T
---@param from T[]
---@param first integer
---@param last integer
---@param at integer
---@param into? T[]
---@return T[]
function table.move(from, first, last, at, into) end

---@param ... any
---@return { n: integer, [integer]: any }
function table.pack(...) end

---@generic T
---@param list T[]
---@param at? integer
---@return T?
function table.remove(list, at) end

---@generic T
---@param list T[]
---@param before? fun(a: T, b: T): boolean
function table.sort(list, before) end

---@generic T
---@param list T[]
---@param first? integer
---@param last? integer
---@return T ...
function table.unpack(list, first, last) end

-- Texts as code points

---@class utf8lib
---@field charpattern string
utf8 = {}

---@param ... integer
---@return string
function utf8.char(...) end

---@param text string
---@param first? integer
---@param last? integer
---@return integer ...
function utf8.codepoint(text, first, last) end

---@param text string
---@return fun(text: string, at: integer): integer, integer
function utf8.codes(text) end

---@param text string
---@param first? integer
---@param last? integer
---@return integer? count
---@return integer? at the first byte that is wrong
function utf8.len(text, first, last) end

---@param text string
---@param n integer
---@param from? integer
---@return integer?
function utf8.offset(text, n, from) end

-- Numbers as 32 bits

---@class bit32lib
bit32 = {}

---@param x integer
---@param by integer
---@return integer
function bit32.arshift(x, by) end

---@param ... integer
---@return integer
function bit32.band(...) end

---@param x integer
---@return integer
function bit32.bnot(x) end

---@param ... integer
---@return integer
function bit32.bor(...) end

---@param ... integer
---@return boolean
function bit32.btest(...) end

---@param ... integer
---@return integer
function bit32.bxor(...) end

---@param x integer
---@return integer
function bit32.byteswap(x) end

---@param x integer
---@return integer
function bit32.countlz(x) end

---@param x integer
---@return integer
function bit32.countrz(x) end

---@param x integer
---@param first integer
---@param width? integer
---@return integer
function bit32.extract(x, first, width) end

---@param x integer
---@param by integer
---@return integer
function bit32.lrotate(x, by) end

---@param x integer
---@param by integer
---@return integer
function bit32.lshift(x, by) end

---@param x integer
---@param value integer
---@param first integer
---@param width? integer
---@return integer
function bit32.replace(x, value, first, width) end

---@param x integer
---@param by integer
---@return integer
function bit32.rrotate(x, by) end

---@param x integer
---@param by integer
---@return integer
function bit32.rshift(x, by) end
