local name = string.fromat("%d", 3)
