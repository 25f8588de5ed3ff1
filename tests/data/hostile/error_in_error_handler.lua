-- The handler of an error is in error itself.
-- place: rubric
-- says: error
fleet.route("error_in_error_handler", function(task, team)
  if task.kind ~= "error_in_error_handler" then return nil end
  local ok, why = xpcall(error, error, "first")
  error("said " .. tostring(ok) .. " " .. tostring(why))
end)
