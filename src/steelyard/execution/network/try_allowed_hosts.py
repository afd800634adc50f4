"""The doors of the checks -> tried once in a run, before anything of the agent's could have a hand in it.

A host that is away fails every check that needs it: that is this machine's fault, and the run does not count. But whoever
may reach the network could also take a host away, and a run that does not count is better than one that failed. So
where the agent has doors of its own they are tried before it starts, and never again after a check has run the change.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.errors import InfraFault
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import AllowedHost
from steelyard.sandboxes.egress.reachability import unreachable


def try_doors_early(run: LiveRun) -> None:
    """Where the agent may reach a host, of the contract or of its own. One of its own that is away is no failure of its."""
    own = run.agent.resources.hosts
    if own or AllowedHost.each(run.trial.contract.spec.environment.network):
        try_doors(run)
    if away := unreachable(own):
        raise InfraFault(f"a host of the agent cannot be reached: {_listed(away)}")


def try_doors(run: LiveRun) -> None:
    if run.doors_tried:
        return
    run.doors_tried = True
    away = unreachable(AllowedHost.each(run.trial.contract.spec.oracle.network))
    if away:
        raise InfraFault(f"allowed hosts of the checks (oracle.network) cannot be reached: {_listed(away)}")


def _listed(away: Mapping[AllowedHost, str]) -> str:
    return ", ".join(f"{allowed_host} ({why})" for allowed_host, why in away.items())
