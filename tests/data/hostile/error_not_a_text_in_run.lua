-- The same in a run.
-- place: recipe
-- says: FILE:5: an error that is a function and no text
fleet.recipe("error_not_a_text_in_run", {}, function(job, run)
  error(function() end)
end)
