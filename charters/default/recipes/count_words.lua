-- A first recipe: cut a text into pieces, have them counted at the same time, add up.
-- Try it: fleetd run start count-words --wait --job '{"text": "one two\nthree", "lines": 1}'

local pieces = require("lib.pieces")

fleet.recipe("count-words", {
  about = "Counts the words of a text, piece by piece.",
  input = { text = "string", lines = "integer?" }, -- `lines` is the length of a piece; 100
  deadline = "1m",
}, function(job, run)
  local parts = pieces.of_lines(job.text, job.lines or 100)

  -- `each` calls the function for all parts at once and keeps their order; the role says how many run at a time.
  local replies = run:each(parts, function(part)
    return run:send { to = "w-words", prompt = part, retries = 1 }
  end)

  -- A part that failed is no error here; it is in `missing`, and the rest still counts.
  local found, missing = run:split(replies)
  local words = 0
  for _, reply in ipairs(found) do
    words = words + tonumber(reply.text:match("%d+"))
  end
  if #missing > 0 then
    return run:partial({ words = words, missing = missing }, #missing .. " pieces were not counted")
  end
  return { words = words, pieces = #parts }
end)
