-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `loadstring`: use require
loadstring("return 1")()
