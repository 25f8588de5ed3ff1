local most <const> = 3
