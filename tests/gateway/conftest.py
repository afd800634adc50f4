"""The fixtures of a gateway between a test and a scripted model."""

from __future__ import annotations

from gateway_rig import rig, server

__all__ = ["rig", "server"]
