-- A profile without a name.
-- place: load
-- says: FILE:4: fleet.profile: expected a name as the first argument, got table
fleet.profile({ launcher = "exec" })
