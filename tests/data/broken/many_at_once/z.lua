local x = (1 + 
