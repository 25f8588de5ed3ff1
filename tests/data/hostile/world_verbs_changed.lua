-- A verb replaced.
-- place: load
-- says: FILE:4: attempt to modify a readonly table
rawset(fleet, "route", print)
