"""What an operator says about models, beside the contract: where requests go, cassettes, prices.

Keys are not here: they are read from the environment when a run starts.
"""

from __future__ import annotations

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    upstreams: tuple[str, ...] = ()  # "anthropic=http://127.0.0.1:8080"
    record: str = ""  # the folder into which a cassette is written
    replay: str = ""  # the folder of a cassette that answers instead of a model
    cost_model: str = ""  # a CSV file with prices
    digests_only: bool = False  # of requests and answers no text is kept


NO_GATEWAY_OPTIONS = GatewayOptions()
