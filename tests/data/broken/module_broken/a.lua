local words = require("lib.words")
