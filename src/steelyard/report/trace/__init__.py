"""The events of a run, for readers."""
