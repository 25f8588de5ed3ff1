fleet.profile("cat", { launcher = "exec", command = { "cat" }, tiemout = "3s" })
