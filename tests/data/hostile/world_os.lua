-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `os`: a charter has no clock and no processes
os.execute("true")
