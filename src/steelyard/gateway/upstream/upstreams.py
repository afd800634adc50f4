"""Options and the host's environment -> where the requests of each provider go, with which key; or a refusal.

    STEELYARD_UPSTREAM_ANTHROPIC=URL, --upstream anthropic=URL    instead of the maker's own address; the option wins
    ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY    the real keys, which never enter a sandbox

A server of one's own may need no key. The makers' own servers do, so a missing key is refused before anything starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from steelyard.deferred.data_class import dataclass
from steelyard.errors import OperatorFault
from steelyard.evidence.text_rules import read_patterns
from steelyard.gateway import cassette
from steelyard.plan.agent_options import GatewayOptions
from steelyard.providers import prices
from steelyard.providers.provider import PROVIDERS, Provider

VARIABLE = "STEELYARD_UPSTREAM_"
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that answers the requests of one provider."""

    provider: Provider
    url: str  # its base URL
    key: str = field(default="", repr=False)
    proxy: str | None = field(default=None, repr=False)  # of this machine's environment

    @property
    def key_headers(self) -> dict[str, str]:
        return self.provider.key_headers(self.key) if self.key else {}


def upstreams_for(
    providers: Iterable[str], options: GatewayOptions, environ: Mapping[str, str]
) -> dict[str, Upstream]:
    """Raises OperatorFault that names the variable to set. A replay needs no key: no upstream is asked."""
    chosen = _chosen(options)
    if options.replay:
        return {name: Upstream(PROVIDERS[name], "") for name in sorted(providers)}
    return {name: _upstream(name, chosen, environ) for name in sorted(providers)}


def check_gateway_options(options: GatewayOptions) -> None:
    """Raises OperatorFault for a cassette or a price list that cannot be used."""
    _check_privacy(options)
    if options.record:
        cassette.check_record(Path(options.record))
    if options.replay:
        cassette.check_replay(Path(options.replay))
    if options.cost_model:
        prices.read_cost_model(Path(options.cost_model))


def _check_privacy(options: GatewayOptions) -> None:
    if options.redact:
        if options.model_text != "redacted":
            raise OperatorFault("--redact is for --model-text redacted")
        read_patterns(options.redact)
    if options.record and options.model_text != "verbatim":
        raise OperatorFault(
            f"--record keeps the whole text of models, and --model-text {options.model_text} does not"
        )


def _chosen(options: GatewayOptions) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for text in options.upstreams:
        name, equals, url = text.partition("=")
        if not equals or name not in PROVIDERS:
            names = ", ".join(PROVIDERS)
            raise OperatorFault(f"--upstream {text}: write PROVIDER=URL; the providers are {names}")
        chosen[name] = _checked_url(url, f"--upstream {name}")
    return chosen


def _upstream(name: str, chosen: Mapping[str, str], environ: Mapping[str, str]) -> Upstream:
    if name not in PROVIDERS:
        raise OperatorFault(f"unknown provider {name!r}; the providers are {', '.join(PROVIDERS)}")
    provider = PROVIDERS[name]
    variable = VARIABLE + name.upper()
    url = chosen.get(name) or environ.get(variable, "").strip()
    key = _key(provider, environ)
    if not url and not key:
        raise OperatorFault(
            f"no key for the models of {name}: set {' or '.join(provider.key_names)}, "
            f"or name another server with --upstream {name}=URL, or replay a cassette with --replay DIR"
        )
    url = _checked_url(url, variable) if url else provider.url
    if not urlsplit(url).path:
        url += provider.base_path
    return Upstream(provider, url, key, proxy_for(url))


def proxy_for(url: str) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for an address; none leads to this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _HERE:
        return None
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  # slow to load, and only some upstreams need it

    return None if proxy_bypass(host) else getproxies().get(parts.scheme)


def _key(provider: Provider, environ: Mapping[str, str]) -> str:
    for name in provider.key_names:
        key = environ.get(name, "").strip()
        if key and not re.fullmatch(r"[!-~]+", key):
            raise OperatorFault(f"{name} has characters that no key has")
        if key:
            return key
    return ""


def _checked_url(url: str, where: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        parts = urlsplit("")
    is_plain = (
        parts.scheme in {"http", "https"}
        and parts.hostname
        and not (parts.query or parts.fragment or parts.username)
        and re.fullmatch(r"[!-~]+", url)
    )
    if not is_plain:
        raise OperatorFault(f"{where}: {url[:200]!r} is not an http(s) address")
    return url.rstrip("/")
