-- `typed`: any interactive program, of which nothing is known but what its screen shows. A turn is over when the screen
-- is idle and rests, and the reply is what stands there; an agent that can show more has a launcher of its own.

fleet.launcher("typed", {
  about = "An interactive program in a pane of its own, which lives between turns and is typed to.",
  needs = { command = 'a worker needs a program to start, such as { "my-agent", "--interactive" }' },
  takes = { "typing", "endpoint" },
}, function(worker)
  return { drive = "typed", argv = worker.command, typing = worker.typing }
end)
