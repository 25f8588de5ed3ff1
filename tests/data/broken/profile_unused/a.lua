fleet.profile("lonely", { launcher = "exec", command = { "cat" } })
