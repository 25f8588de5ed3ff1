-- fine
local name = 'ÿþ'
