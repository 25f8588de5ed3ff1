-- A result that is no text.
-- place: recipe
-- says: the text is not valid UTF-8
fleet.recipe("value_not_text", {}, function(job, run)
  return "\255\254"
end)
