"""What an operator gives to the agents of a study, beside the contract: names of variables, hosts, folders, and how models are reached.

Values of variables and keys of models are not here: they are read from the environment when an agent is made.
"""

from __future__ import annotations

from typing import Literal, get_args

from steelyard.deferred.data_class import dataclass

# As it was; with keys and the operator's patterns replaced; digests and sizes alone.
ModelText = Literal["verbatim", "redacted", "digest"]
MODEL_TEXTS: tuple[ModelText, ...] = get_args(ModelText)


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """Where requests to models go, cassettes, prices."""

    upstreams: tuple[str, ...] = ()  # "anthropic=http://127.0.0.1:8080"
    record: str = ""  # the folder into which a cassette is written
    replay: str = ""  # the folder of a cassette that answers instead of a model
    cost_model: str = ""  # a CSV file with prices
    model_text: ModelText = "verbatim"  # of requests and answers, in the record
    redact: tuple[str, ...] = ()  # "NAME=REGEX", of `redacted`


NO_GATEWAY_OPTIONS = GatewayOptions()


@dataclass(frozen=True, slots=True)
class AgentOptions:
    env: tuple[str, ...] = ()  # names of variables of this process
    hosts: tuple[str, ...] = ()  # "host:port"
    paths: tuple[str, ...] = ()  # "DIR" or "DIR:AT"
    providers: tuple[str, ...] = ()  # whose models an agent reaches through the gateway
    gateway: GatewayOptions = NO_GATEWAY_OPTIONS  # for every agent that speaks to models

    def __bool__(self) -> bool:
        """Whether a particular agent is given something of its own."""
        return bool(self.env or self.hosts or self.paths or self.providers)


NO_OPTIONS = AgentOptions()
