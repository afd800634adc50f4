"""A planned comparison -> its power, by formula and by simulation, what would be needed, and checks of sanity."""
