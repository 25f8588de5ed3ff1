-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `getfenv`
getfenv(0).fleet = nil
