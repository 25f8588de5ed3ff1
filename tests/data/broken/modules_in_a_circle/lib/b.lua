return require("lib.a")
