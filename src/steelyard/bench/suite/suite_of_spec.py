"""What a grader says about its tests -> the suite that a runner starts."""

from __future__ import annotations

from typing import Literal

from steelyard.bench.execution_spec import SuiteSpec
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.suite import Suite


def suite_of(spec: SuiteSpec, isolation: Literal["suite", "process"] = "suite") -> Suite:
    env, argv, cwd = command_words(spec.command)
    return Suite(
        command=spec.command,
        argv=argv,
        env=env,
        cwd=cwd,
        timeout_s=spec.timeout_s,
        report=spec.report,
        isolation=isolation,
        declared=spec.declared,
    )
