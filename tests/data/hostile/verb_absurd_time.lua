-- A time longer than the world.
-- place: load
-- says: FILE:4: profile 'x': field 'timeout': 1e+300 seconds is not a usable length of time
fleet.profile("x", { launcher = "exec", command = { "cat" }, timeout = 1e300 })
