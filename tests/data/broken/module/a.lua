local words = require("lib.wrods")
