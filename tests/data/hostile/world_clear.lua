-- A library emptied.
-- place: load
-- says: FILE:4: attempt to modify a readonly table
table.clear(string)
