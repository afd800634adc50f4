"""A verifier with an environment of its own -> `separate` of a contract's verifier.

[verifier] environment_mode = "separate"    or [verifier.environment]; a step's own before the task's
docker_image, tests/Dockerfile              its image, which brings /tests; else a fresh container of the agent's
artifacts                                   what it sees of the agent's system, and /logs/artifacts in any case
[[verifier.collect]]                        `collect`: commands in the agent's system when it has ended
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.contract.model import PINNED_PATTERN
from steelyard.contract.parse.yaml_source import Source, YamlPath, dotted_path
from steelyard.importers.harbor.dockerfile import NEEDS, DockerfileError, is_pinned, user_of
from steelyard.importers.harbor.limits import limits
from steelyard.importers.harbor.model import Artifact, Environment, HarborTask, Step, Verifier
from steelyard.importers.harbor.users import ROOT
from steelyard.importers.harbor.variables import resolve_variables
from steelyard.importers.reading import fault, read_text
from steelyard.importers.task import Options


class ConvertedVerifier(NamedTuple):
    """One verification of a task: of the task itself, or of one of its steps."""

    task: HarborTask
    source: Source
    folder: Path
    options: Options
    step: Step | None = None
    number: int = 0

    @property
    def _levels(self) -> Iterator[tuple[YamlPath, str, Verifier]]:
        """(where the options are, the folder of its tests, the options); the step's own first."""
        if self.step is not None:
            yield ("steps", self.number, "verifier"), f"steps/{self.step.name}/tests", self.step.verifier
        yield ("verifier",), "tests", self.task.verifier

    @property
    def is_separate(self) -> bool:
        for _, _, level in self._levels:
            if level.environment_mode is not None or level.environment is not None:
                return level.environment_mode != "shared"
        return False

    def keys(self) -> dict[str, Any]:
        """`separate`, and who it runs as in an image of its own."""
        hooks = [*self._hooks()]
        if not self.is_separate:
            if hooks:
                message = "only a verifier with an environment of its own needs what is collected"
                raise fault(self.source.where(("verifier", "collect")), "verifier.collect", message)
            return {}
        if self.options.sandbox == "bubblewrap":
            raise fault(
                f"{self.folder}/task.toml", "verifier.environment", f"a verifier in its own container {NEEDS}"
            )
        place, environment = self._environment()
        env = resolve_variables(environment.env, (*place, "env"), self.source, self.options)
        own = self._image()
        separate = {
            **own,
            **({"workdir": environment.workdir} if environment.workdir else {}),
            **({"env": env} if env else {}),
            **limits(environment, place, self.source, plain=True),
            "artifacts": [*self._artifacts()],
            **({"collect": hooks} if hooks else {}),
        }
        return {"separate": separate, **(self._user(own) if own else {})}

    def _environment(self) -> tuple[YamlPath, Environment]:
        for place, _, level in self._levels:
            if level.environment is not None:
                return (*place, "environment"), level.environment
        return ("environment",), self.task.environment

    def _image(self) -> dict[str, Any]:
        for _, tests, level in self._levels:
            name = level.environment.docker_image if level.environment is not None else None
            if name:
                unpinned = {} if re.match(PINNED_PATTERN, name) else {"allow_unpinned": True}
                return {"image": name, **unpinned, "brings_tests": True}
            if (self.folder / tests / "Dockerfile").is_file():
                return {"build": self._tests, **self._pin(tests), "brings_tests": True}
        return {}

    @property
    def _tests(self) -> str:
        """Where the tests lie in the contract, those of the task among a step's."""
        return "tests" if self.step is None else f"steps/{self.step.name}/tests"

    def _pin(self, tests: str) -> dict[str, Any]:
        try:
            pinned = is_pinned(read_text(self.folder, f"{tests}/Dockerfile"))
        except DockerfileError as wrong:
            raise fault(f"{self.folder}/{tests}/Dockerfile:{wrong.line}", "", str(wrong)) from wrong
        return {} if pinned else {"allow_unpinned": True}

    def _user(self, own: dict[str, Any]) -> dict[str, Any]:
        user = next((one.user for _, _, one in self._levels if one.user is not None), None)
        if user is None and "build" in own:
            tests = next(one for _, one, _ in self._levels if (self.folder / one / "Dockerfile").is_file())
            user = user_of(read_text(self.folder, f"{tests}/Dockerfile"))
        return {"user": None if user in ROOT else user}

    def _hooks(self) -> Iterator[dict[str, Any]]:
        """Those of the task, then the step's."""
        agent = self.task.agent.user
        for place, _, level in reversed([*self._levels]):
            for number, hook in enumerate(level.collect):
                at = (*place, "collect", number)
                if hook.service != "main":
                    raise fault(
                        self.source.where(at), dotted_path(at), "several containers are not supported yet"
                    )
                if hook.user not in {None, agent}:
                    raise fault(self.source.where(at), dotted_path(at), "is run by the agent's user here")
                yield {"cmd": hook.command, "timeout_s": hook.timeout_sec}

    def _artifacts(self) -> Iterator[dict[str, Any]]:
        listed: list[tuple[YamlPath, str | Artifact]] = [
            (("artifacts", number), one) for number, one in enumerate(self.task.artifacts)
        ]
        if self.step is not None:
            at: YamlPath = ("steps", self.number, "artifacts")
            listed += [((*at, number), one) for number, one in enumerate(self.step.artifacts)]
        for place, one in listed:
            artifact = Artifact(source=one) if isinstance(one, str) else one
            if artifact.service not in {None, "main"}:
                raise fault(
                    self.source.where(place), dotted_path(place), "several containers are not supported yet"
                )
            if not artifact.source.startswith("/"):
                raise fault(self.source.where(place), dotted_path(place), "is no absolute path")
            exclude = {"exclude": list(artifact.exclude)} if artifact.exclude else {}
            yield {"source": artifact.source, **exclude}
