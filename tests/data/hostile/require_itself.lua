-- It waits for itself.
-- place: load
-- says: FILE:4: require: 'h.require_itself' is being loaded already
require("h.require_itself")
