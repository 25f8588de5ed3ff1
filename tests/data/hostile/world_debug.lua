-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `debug`
debug.info(1, "f")
