-- A door that is not there.
-- place: load
-- says: FILE:4: there is no name `coroutine`: run:each starts things side by side
coroutine.create(print)
