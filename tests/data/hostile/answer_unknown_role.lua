-- A role that nobody declared.
-- place: rubric
-- says: there is no role 'w-nowhere' | no role 'w-nowhere'
fleet.route("answer_unknown_role", function(task, team)
  if task.kind ~= "answer_unknown_role" then return nil end
  return { role = "w-nowhere" }
end)
