"""How many contracts and repeats a study needs, and when it may stop."""
