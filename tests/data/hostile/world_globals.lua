-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `_G`: charters share no globals
_G.answer = 42
