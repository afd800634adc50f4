"""Grading as a service: patches -> result lines, for programs that train or rank."""
