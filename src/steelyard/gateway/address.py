"""Where an agent finds the model gateway: a base URL for each provider, and a placeholder instead of a key."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import field

from steelyard.deferred.data_class import dataclass
from steelyard.providers.provider import PROVIDERS


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """Valid in one run: the placeholder is drawn for it, and means nothing to any server but the gateway."""

    host: str  # as the agent's sandbox names it
    port: int
    key: str = field(repr=False)

    def base_url(self, provider: str) -> str:
        """What a client of "anthropic", "openai" or "gemini" is configured with."""
        return f"http://{self.host}:{self.port}{PROVIDERS[provider].base_path}"

    def environment(self, providers: Iterable[str]) -> dict[str, str]:
        """The variables that clients of these providers read."""
        variables: dict[str, str] = {}
        for name in sorted(providers):
            variables |= PROVIDERS[name].environment(self.base_url(name), self.key)
        return variables


def draw_key() -> str:
    """A placeholder that no program takes for a word: some clients erase their key from everything they print."""
    return f"sk-steelyard-{secrets.token_hex(24)}"
