-- Cutting a text into pieces that workers can take one by one. A file of lib/ returns what it offers;
-- others reach it by require("lib.pieces").

local pieces = {}

-- Returns the text's lines in groups of at most `size`, each group as one text. Empty lines are left out.
function pieces.of_lines(text, size)
  local groups, group = {}, {}
  for line in text:gmatch("[^\n]+") do
    group[#group + 1] = line
    if #group == size then
      groups[#groups + 1] = table.concat(group, "\n")
      group = {}
    end
  end
  if #group > 0 then
    groups[#groups + 1] = table.concat(group, "\n")
  end
  return groups
end

return pieces
