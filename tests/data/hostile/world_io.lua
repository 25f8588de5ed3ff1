-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `io`: a charter reads no files
io.open("/etc/passwd")
