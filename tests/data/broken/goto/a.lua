for n = 1, 3 do
  if n == 2 then goto continue end
  ::continue::
end
