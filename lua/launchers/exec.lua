-- `exec`: any program without a screen. Each turn is a process of its own, with the prompt on stdin and the reply on
-- stdout; its exit code says whether it could.

fleet.launcher("exec", {
  about = "A command for each turn, which gets the prompt on stdin and answers on stdout.",
  needs = { command = 'a worker needs a program to start, such as { "tr", "a-z", "A-Z" }' },
  takes = { "endpoint" },
}, function(worker)
  return { drive = "turn", argv = worker.command }
end)
