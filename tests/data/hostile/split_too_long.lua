-- A text that is too long to be split at one go.
-- place: load
-- says: FILE:4: string.split: a text of 20000000 bytes is too long
string.rep("ab", 1e7):split("bc")
