local spec = {}
local cap = spec.limits.busy
