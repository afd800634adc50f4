"""Paths inside every sandbox that contracts, importers, the bench and reports agree on."""

from __future__ import annotations

WORKSPACE = "/workspace"
HOME = "/home/agent"
HOSTNAME = "sandbox"
PUBLISHED = "/logs/artifacts"  # a verifier with a container of its own always sees what the agent wrote here
