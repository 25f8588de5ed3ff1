-- The team of the demo: which kinds of worker there are, and how many of each may be busy at once.
-- Every worker here is a plain command: it gets its message on stdin, and what it prints is its reply.
-- The scripts are named relative to this directory, in which `fleetd demo` starts its daemon.

local function worker(name, limits)
  fleet.profile(name, {
    launcher = "exec",
    command = { "sh", "bin/" .. name .. ".sh" },
    timeout = limits.timeout,
    about = limits.about,
  })
  fleet.role("w-" .. name, { profiles = { name }, max_busy = limits.max_busy, about = limits.about })
end

-- Four kinds of inspector, ...
worker("notes", { about = "collects TODO, FIXME, XXX and HACK", timeout = "1m", max_busy = 2 })
worker("size", { about = "finds functions, lines and files that are too long", timeout = "1m", max_busy = 2 })
worker("slips", { about = "finds conflict markers, keys and debugging aids", timeout = "1m", max_busy = 2 })
worker("tests", { about = "finds code that has no tests", timeout = "1m", max_busy = 2 })

-- ... two that go wrong on purpose, because a fan-out is only as good as what it does when parts of it fail, ...
worker("flaky", { about = "fails, on purpose", timeout = "1m", max_busy = 1 })
worker("slow", { about = "takes a minute but gets two seconds, on purpose", timeout = "2s", max_busy = 1 })

-- ... and one that makes a ranking out of what the others found.
worker("judge", { about = "merges and ranks what the others found", timeout = "1m", max_busy = 1 })
