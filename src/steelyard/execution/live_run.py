"""A run in the making: its folder, its log, its sandbox, and the clock they share."""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.agents.base import Agent, Delivery, Ending, Session, Workplace
from steelyard.bench.kept_output import OutputStore
from steelyard.contract.catalogue import ContractFile
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.evidence.in_use import InUse
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.events import Actor, EventLog
from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.execution.kernel_attempts import AttemptLog
from steelyard.execution.mutations.watch_workspace import WorkspaceWatch
from steelyard.execution.stages import requests
from steelyard.execution.stages.stage_control import Mode, StageControl
from steelyard.execution.stop import StopRequest, StopSwitch
from steelyard.execution.supervision.interventions import Interventions
from steelyard.filesystem.contents import FolderCheck
from steelyard.gateway import address
from steelyard.monitors.watchdog import Watchdog, has_secrets
from steelyard.plan.phase import OnPhase, ignore_phase
from steelyard.plan.trial import Trial
from steelyard.sandboxes.base import CapturedOutput, ExitStats, Sandbox
from steelyard.sandboxes.limits.time_allowance import TimeAllowance

if TYPE_CHECKING:
    from steelyard.gateway.route import Route


@dataclass
class LiveRun:
    """The state of one run. Each stage fills in its fields; in the end the folder is sealed."""

    trial: Trial
    agent: Agent
    environment: Environment
    folder: RunFolder
    events: EventLog
    delivery: Delivery | None = None
    started_sandbox: Sandbox | None = None  # read it as `sandbox`, which raises InfraFault while it is None
    session: Session | None = None  # of the agent, from its first message on
    gateway: address.GatewayAddress | None = None  # of the agent's models, if it speaks to any
    route: Route | None = None  # through which its requests go
    stop: StopSwitch = field(default_factory=StopSwitch)
    ending: Ending | None = None
    exit_stats: ExitStats = field(default_factory=ExitStats)
    captured: Change | None = None
    patch_refused: str = ""  # why a patch that was handed over does not apply
    spent_s: float = 0.0  # of the agent's time, over all messages
    answer: CapturedOutput | None = None  # the last thing that the agent's process printed
    answer_event: dict[str, Any] | None = None  # that answer, as the payload of its event
    findings: list[Finding] = field(default_factory=list)
    step_files: dict[str, ContractFile] = field(default_factory=dict)  # delivered by the steps so far
    unchanged_step_files: frozenset[str] = frozenset()  # those of them that the agent did not change
    were_hosts_tried: bool = False  # the allowed hosts of the checks
    checked: dict[Path, FolderCheck] = field(default_factory=dict)  # the cache folders that the run uses
    rebuilds_logged: int = 0  # of the cache folders that this process built again
    alerts: dict[str, int] = field(default_factory=dict)  # of the agent's limits: code -> its event
    # Of the same limits: signals and threshold
    measured: dict[str, dict[str, Any]] = field(default_factory=dict)
    stage_requests: requests.StageRequests | None = None
    gaps: tuple[str, ...] = ()  # changed paths of which no event was logged while the agent worked
    watch: WorkspaceWatch | None = None  # of the agent's workspace
    left: int | None = None  # the event of the agent's end
    last_events: dict[str, int] = field(default_factory=dict)  # by type; alerts name what they follow from
    on_phase: OnPhase = ignore_phase
    allowance: TimeAllowance | None = None  # of all checks together, where a study limits them
    outputs: OutputStore = field(init=False)
    in_use: InUse = field(init=False)
    interventions: Interventions = field(init=False)
    stages: StageControl = field(init=False)
    attempts: AttemptLog = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = OutputStore(self.folder.blobs)
        self.in_use = InUse(self.folder.path)
        self.attempts = AttemptLog(self.events)
        if self.trial.acceptance_s is not None:
            self.allowance = TimeAllowance(self.trial.acceptance_s)
        spec = self.trial.contract.spec
        secret = has_secrets(self.folder.read_json(MANIFEST))
        watchdog = Watchdog.of(spec.policy, spec.budget, has_secrets=secret)
        self.interventions = Interventions(self.folder, self.events, watchdog, spec.policy, self.request_stop)
        mode: Mode = "enforced" if "enforced_stages" in spec.policy.require else "observed"
        on_write = spec.policy.on_write_in_inspect
        self.stages = StageControl(self.events, spec.policy.stages, mode, on_write)
        self.stages.act = self.interventions.act
        self.stages.is_suspended = lambda: self.interventions.are_writes_suspended
        self.interventions.allows_writes = lambda: self.stages.allows_writes
        self.interventions.on_wait = lambda why: self.on_phase("operator" if why else "agent", why)
        self.events.subscribe(self.stages.observe)
        self.events.subscribe(self._note_event)

    @property
    def blobs(self) -> Blobs:
        return self.folder.blobs

    @property
    def sandbox(self) -> Sandbox:
        if self.started_sandbox is None:
            raise InfraFault("the sandbox was never started")
        return self.started_sandbox

    @property
    def change(self) -> Change:
        if self.captured is None:
            raise InfraFault("the workspace was never captured")
        return self.captured

    def _note_event(self, event: Event) -> None:
        self.last_events[event.type] = event.seq

    def request_stop(self, request: StopRequest) -> bool:
        """End the agent's work; from any thread. False when another request came first, or the run is over."""
        return self.stop.request(request, lambda: self._record_stop(request))

    def _record_stop(self, request: StopRequest) -> None:
        data = {
            "action": "terminate",
            "code": request.code,
            "alert": request.alert,
            "by": request.by,
            "why": request.why,
            "evidence": dict(request.evidence),
        }
        actor: Actor = "operator" if CLASS_OF[request.code] == "operator" else "harness"
        with suppress(InfraFault):  # the run itself reports a log that cannot be written, at its next event
            self.events.append("intervention", actor, data)

    def ended(self, ending: Ending) -> Ending:
        """How the agent ended: as it did, unless it was stopped."""
        stop = self.stop.current
        if stop is None:
            return ending
        return ending if ending.code == stop.code else Ending(stop.code, stop.why, ending.finished)

    def open_session(self) -> Session:
        """The agent's session, opened at the first message."""
        if self.session is None:
            self.session = self.agent.open(self.workplace)
        return self.session

    @property
    def workplace(self) -> Workplace:
        is_stopped = lambda: self.stop.current is not None  # noqa: E731  # one line, used once
        own = self.agent.resources
        models = {} if self.gateway is None else self.gateway.environment(own.providers)
        policy = self.trial.contract.spec.policy
        may_write = lambda: self.stages.allows_writes  # noqa: E731
        env = {**models, **own.env}
        return Workplace(self.sandbox, self.events, env, is_stopped, self.gateway, policy, may_write)

    def close_session(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            session.close()

    def close_route(self) -> None:
        """Close the route to the models; every request is recorded by then."""
        if self.route is not None:
            self.route.close()

    def is_graded_live(self, ending: Ending) -> bool:
        """Whether the checks run in the agent's sandbox: it must still run, and the agent must have completed."""
        is_here = self.started_sandbox is not None and self.delivery is None
        return self.trial.contract.spec.bench == "live" and is_here and ending.code == "completed"

    def make_room(self) -> None:
        """Close the agent's sandbox before the checks start, so that they can use its disk and memory."""
        if self.ending is not None and not self.is_graded_live(self.ending):
            self.close()

    def close(self) -> None:
        with suppress(Exception):  # the run is over, and why is known already
            self.close_session()
        if self.stage_requests is not None:
            self.stage_requests.close()
        if self.watch is not None:
            self.watch.close()
        self.close_route()
        if self.started_sandbox is not None:
            self.started_sandbox.close()

    def discard(self) -> None:
        self.events.close()
        self.in_use.release()
        shutil.rmtree(self.folder.path, ignore_errors=True)


class LiveRuns:
    """The runs of one process that are under way, so that all can be stopped together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: list[LiveRun] = []
        self._request: StopRequest | None = None

    def add(self, run: LiveRun) -> None:
        """A run that begins after `stop_all` is stopped before its agent starts."""
        with self._lock:
            self._runs.append(run)
            request = self._request
        if request is not None:
            run.request_stop(request)

    def remove(self, run: LiveRun) -> None:
        with self._lock:
            self._runs = [one for one in self._runs if one is not run]

    def under_way(self) -> list[LiveRun]:
        with self._lock:
            return list(self._runs)

    def stop_all(self, request: StopRequest) -> None:
        with self._lock:
            self._request = self._request or request
            runs = list(self._runs)
        for run in runs:
            run.request_stop(request)
