local mask = 5 & 3
