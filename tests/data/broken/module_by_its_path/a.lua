local h = require("./lib/helpers.lua")
