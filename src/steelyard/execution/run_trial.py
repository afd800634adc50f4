"""One Trial -> Evidence: prepare, brief, watch, capture, accept, seal. Of a contract with steps, the middle for each.

The only place that runs agents. However a run ends it leaves a sealed folder; a folder without a seal is a
run that was killed, and is never scored.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from steelyard.agents.base import Ending
from steelyard.agents.catalogue import agent_for
from steelyard.environment.prepare import Environment
from steelyard.errors import ContractFault, InfraFault, LastingFault, OperatorFault
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.model_usage import NO_REQUEST
from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.execution import take_steps
from steelyard.execution.accept import accept
from steelyard.execution.capture import capture
from steelyard.execution.live_run import LiveRun, LiveRuns
from steelyard.execution.prepare import compare_identity_again, log_rebuilds, open_run, prepare
from steelyard.execution.watch import converse
from steelyard.plan.phase import OnPhase, ignore_phase
from steelyard.plan.trial import Retry, Trial


def run_trial(  # noqa: PLR0913  # options, by name
    trial: Trial,
    environment: Environment,
    out: Path,
    *,
    signer: Path | None = None,
    live: LiveRuns | None = None,
    on_phase: OnPhase = ignore_phase,
    retries: tuple[Retry, ...] = (),
) -> Evidence:
    """`live` has the run while it is under way, so that it can be stopped."""
    on_phase("prepare", "")
    agent = agent_for(trial.agent, trial.contract, trial.options)
    run = open_run(trial, agent, environment, out, retries)
    run.on_phase = on_phase
    live = live or LiveRuns()
    live.add(run)
    try:
        prepare(run)
        if trial.contract.steps:
            take_steps.take_steps(run)
        else:
            on_phase("agent", "")
            converse(run)
            on_phase("capture", "")
            capture(run)
            run.make_room()
            on_phase("checks", "")
            accept(run, trial.contract.checks)
        compare_identity_again(run)
    except (ContractFault, OperatorFault):
        run.discard()  # nothing was tried, so there is nothing to keep
        raise
    except InfraFault as fault:
        run.ending = Ending("infrastructure", str(fault), is_lasting=isinstance(fault, LastingFault))
    except OSError as error:  # a full disk, too many open files: a fault of this machine
        run.ending = Ending("infrastructure", f"an operation failed on this machine: {error}")
    except Exception as defect:  # noqa: BLE001  # a defect of Steelyard fails this run, with a message, and no other run
        run.ending = Ending("infrastructure", f"internal error in Steelyard: {defect!r}")
        run.folder.write_bytes("defect.txt", traceback.format_exc().encode(errors="replace"))
    finally:
        live.remove(run)
        run.close()
    on_phase("seal", "")
    _terminate(run)
    seal(run.folder, signer)
    run.in_use.release()
    if run.watch is not None:
        run.watch.await_end()
    return load_evidence(run.folder, deep=False)  # the blobs were hashed for the seal just now


def _terminate(run: LiveRun) -> None:
    log_rebuilds(run)
    run.interventions.drain()
    run.stop.close()
    ending = run.ended(run.ending or Ending("infrastructure", "the run never reached its agent"))
    stop = run.stop.current
    reached = run.trial.contract.spec.environment.network
    if (
        run.environment.sandbox_spec().network == "none"
        and reached == "none"
        and not run.agent.resources.hosts
        and run.gateway is None
    ):
        # No network, so no model was reachable: nothing can have been spent.
        run.events.append("cost", "harness", {"usd": 0.0, "method": "no network"})
    elif run.route is not None and not run.route.recorder.count:
        run.events.append("cost", "harness", {"usd": 0.0, "method": NO_REQUEST})
    alert = stop.alert if stop is not None and stop.alert is not None else run.alerts.get(ending.code)
    run.events.append(
        "termination",
        "harness",
        {
            "code": ending.code,
            "class": CLASS_OF[ending.code],
            "rationale": ending.rationale,
            "by": None if stop is None else stop.by,
            "evidence": None if stop is None else dict(stop.evidence),
            "alert": alert,
            "event": alert or run.left,
            **({"lasting": True} if ending.is_lasting else {}),
        },
    )
    ended = {
        "peak_memory_bytes": run.exit_stats.peak_memory_bytes,
        "test_cycles": run.interventions.counted_test_runs,
    }
    run.events.append("run.end", "harness", ended)
    run.events.close()
    run.interventions.close()
