-- An address in a charter, where only fleetd.toml may have one.
-- place: load
-- says: FILE:4: 
fleet.profile("x", { launcher = "exec", command = { "cat" }, url = "http://127.0.0.1:1" })
