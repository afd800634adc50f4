"""The allowed hosts of the checks -> tried once in a run, before the agent could influence them.

An unreachable host fails every check that needs it. That is a fault of this machine, so the run does not count. But an agent
with a network could also make a host unreachable, to have a failing run not counted. So where the agent has allowed hosts, the
hosts of the checks are tried before the agent starts, and never after a check has run the change.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.errors import InfraFault
from steelyard.execution.live_run import LiveRun
from steelyard.sandboxes.base import AllowedHost
from steelyard.sandboxes.egress.reachability import unreachable


def try_hosts_before_agent(run: LiveRun) -> None:
    """Before the agent starts, where it may reach any host. A host of the agent that is unreachable is an InfraFault."""
    own = run.agent.resources.hosts
    if own or AllowedHost.each(run.trial.contract.spec.environment.network):
        try_check_hosts(run)
    if away := unreachable(own):
        raise InfraFault(f"a host of the agent cannot be reached: {_listed(away)}")


def try_check_hosts(run: LiveRun) -> None:
    if run.were_hosts_tried:
        return
    run.were_hosts_tried = True
    away = unreachable(AllowedHost.each(run.trial.contract.spec.oracle.network))
    if away:
        raise InfraFault(f"allowed hosts of the checks (oracle.network) cannot be reached: {_listed(away)}")


def _listed(away: Mapping[AllowedHost, str]) -> str:
    return ", ".join(f"{allowed_host} ({why})" for allowed_host, why in away.items())
