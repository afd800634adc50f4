"""What an operator says about models, beside the contract: where requests go, cassettes, prices.

Keys are not here: they are read from the environment when a run starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# As it was; with keys and the operator's patterns replaced; digests and sizes alone.
ModelText = Literal["verbatim", "redacted", "digest"]
MODEL_TEXTS: tuple[ModelText, ...] = get_args(ModelText)


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    upstreams: tuple[str, ...] = ()  # "anthropic=http://127.0.0.1:8080"
    record: str = ""  # the folder into which a cassette is written
    replay: str = ""  # the folder of a cassette that answers instead of a model
    cost_model: str = ""  # a CSV file with prices
    model_text: ModelText = "verbatim"  # of requests and answers, in the record
    redact: tuple[str, ...] = ()  # "NAME=REGEX", of `redacted`


NO_GATEWAY_OPTIONS = GatewayOptions()
