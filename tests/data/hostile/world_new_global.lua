-- A name for all files.
-- place: load
-- says: FILE:4: charters share no globals: write 'local answer'
answer = 42
