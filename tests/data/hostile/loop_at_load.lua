-- A loop where only declarations belong.
-- place: load
-- says: FILE:4: the charter took more than 500 ms to load
while true do end
