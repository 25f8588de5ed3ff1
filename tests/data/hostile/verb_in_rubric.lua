-- A declaration while the fleet runs.
-- place: rubric
-- says: fleet.role declares: it can only be called while the charter is loaded
fleet.route("verb_in_rubric", function(task, team)
  if task.kind ~= "verb_in_rubric" then return nil end
  fleet.role("w-x", { profiles = { "echo" } })
end)
