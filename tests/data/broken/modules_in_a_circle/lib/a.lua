return require("lib.b")
