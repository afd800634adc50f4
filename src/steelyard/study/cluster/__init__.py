"""Trials on the machines of a Ray cluster: what the controller does, what a worker does, and how runs get from one to the other."""
