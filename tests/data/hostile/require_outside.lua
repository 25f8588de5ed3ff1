-- A file outside of the charter.
-- place: load
-- says: FILE:4: require: there is no module "../../etc/passwd"
require("../../etc/passwd")
