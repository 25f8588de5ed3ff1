local limit = 3
local most = limti + 1
