"""Pre-registered studies: the plan, its budgets and criteria, and the loop that runs it."""
