"""What verbs share: how they print, how they end, how they show trials."""

from __future__ import annotations

RECEIVED: list[str] = []  # names of the signals that ask this command to end
