-- What all texts can do, changed for everybody.
-- place: load
-- says: FILE:4: attempt to modify a readonly table
getmetatable("").__index = nil
