"""What an operator gives to the agents of a study, beside the contract: names of variables, hosts, folders.

Values of variables are not here: they are read from the environment when an agent is made.
"""

from __future__ import annotations

from steelyard.deferred.data_class import dataclass
from steelyard.plan.gateway_options import NO_GATEWAY_OPTIONS, GatewayOptions


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
