"""Two or more agents on the same contracts."""
