require("lib.a")
