"""`python -m steelyard.gateway.scripted SCRIPT.yaml`: a model on this machine that answers by a script."""

from __future__ import annotations

from steelyard.providers.scripted.model import FAIL, PASS, ScriptedModel, environment, main, serving
from steelyard.providers.scripted.script import Replies, Reply, read_script

__all__ = [
    "FAIL",
    "PASS",
    "Replies",
    "Reply",
    "ScriptedModel",
    "environment",
    "main",
    "read_script",
    "serving",
]

if __name__ == "__main__":
    main()
