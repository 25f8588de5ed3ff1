-- A library changed for everybody.
-- place: load
-- says: FILE:4: attempt to modify a readonly table
string.format = nil
