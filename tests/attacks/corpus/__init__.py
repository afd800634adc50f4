"""Scripted agents that never mend the bug, and honest ones that do: see tests/attacks/README.md."""
