"""The makers of models whose wire formats Steelyard speaks: addresses, names of variables, headers of a key.

anthropic   Messages                            x-api-key: KEY
openai      chat completions, responses         authorization: Bearer KEY
gemini      generateContent                     x-goog-api-key: KEY
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One maker. A base URL has no slash at its end."""

    name: str
    url: str  # the maker's own base URL
    base_path: str  # the path that a base URL of this maker has: clients append the rest
    key_names: tuple[str, ...]  # variables of the host's environment; the first one that is set counts
    key_header: str
    models_path: str  # appended to a base URL: the list of models, which every key may read
    key_prefix: str = ""
    client_variables: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # of a base URL, of a key

    def key_headers(self, key: str) -> dict[str, str]:
        """The header that carries a key."""
        return {self.key_header: f"{self.key_prefix}{key}"}

    def environment(self, base_url: str, key: str) -> dict[str, str]:
        """The variables by which clients of this maker find a server and a key."""
        urls, keys = self.client_variables
        return dict.fromkeys(urls, base_url) | dict.fromkeys(keys, key)


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="anthropic",
            url="https://api.anthropic.com",
            base_path="",
            key_names=("ANTHROPIC_API_KEY",),
            key_header="x-api-key",
            models_path="/v1/models",
            client_variables=(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"), ("ANTHROPIC_API_KEY",)),
        ),
        Provider(
            name="openai",
            url="https://api.openai.com/v1",
            base_path="/v1",
            key_names=("OPENAI_API_KEY",),
            key_header="authorization",
            models_path="/models",
            key_prefix="Bearer ",
            client_variables=(("OPENAI_BASE_URL", "OPENAI_API_BASE"), ("OPENAI_API_KEY",)),
        ),
        Provider(
            name="gemini",
            url="https://generativelanguage.googleapis.com",
            base_path="",
            key_names=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            key_header="x-goog-api-key",
            models_path="/v1beta/models",
            client_variables=(("GOOGLE_GEMINI_BASE_URL",), ("GEMINI_API_KEY",)),
        ),
    )
}
