-- The name of a module that is longer than any file.
-- place: load
-- says: FILE:4: require: there is no module
require(string.rep("lib.", 1e5))
