fleet.agent("x", {})
