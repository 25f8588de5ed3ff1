-- A door that is not there.
-- place: load
-- says: FILE:4: there is no math function `random`
return math.random(6)
