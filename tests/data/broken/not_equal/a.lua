local x = 1
if x != 2 then x = 3 end
