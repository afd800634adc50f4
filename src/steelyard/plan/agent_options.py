"""What an operator gives to the agents of a study, beside the contract: names of variables, hosts, folders.

Values of variables are not here: they are read from the environment when an agent is made.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentOptions:
    env: tuple[str, ...] = ()  # names of variables of this process
    hosts: tuple[str, ...] = ()  # "host:port"
    paths: tuple[str, ...] = ()  # "DIR" or "DIR:AT"

    def __bool__(self) -> bool:
        return bool(self.env or self.hosts or self.paths)


NO_OPTIONS = AgentOptions()
