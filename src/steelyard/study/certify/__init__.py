"""A contract -> its certificate: whether its oracle is sound, before any agent runs."""
