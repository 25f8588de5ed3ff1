fleet.profile("cat", { launcher = "exec", command = { "tac" } })
