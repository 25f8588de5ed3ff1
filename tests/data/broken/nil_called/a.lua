local lib = {}
lib.start("x")
