local x = require("lib.x")
print(x.f())
