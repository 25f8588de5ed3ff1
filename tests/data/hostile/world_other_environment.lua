-- The environment of other files, by way of its guard.
-- place: load
-- says: FILE:4: attempt to modify a readonly table
getmetatable(fleet).__index = function() return print end
