"""Who works and who verifies in a Harbor task -> `user` of a contract's environment and of its verifiers.

[agent] user, [verifier] user    a name or a number of the image
neither                          the USER of the Dockerfile, else root; of a `docker_image` it is not known here

Without an image all commands run as the sandbox's own user, whatever the task says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.contract.parse.yaml_source import Source
from steelyard.errors import ContractFault
from steelyard.importers.harbor.dockerfile import DockerfileError, user_of
from steelyard.importers.harbor.model import HarborTask, Phase
from steelyard.importers.reading import fault, read_text
from steelyard.importers.task import Options

ROOT = {"root", "0", 0}


class Users:
    """Of one task."""

    def __init__(self, task: HarborTask, source: Source, folder: Path, options: Options) -> None:
        self._task = task
        self._source = source
        self._has_image = options.sandbox != "bubblewrap"
        built = self._has_image and task.environment.docker_image is None
        self._own = _user_in(folder) if built else None

    def agent(self) -> dict[str, Any]:
        user = self._user_key(self._task.agent)
        for number, step in enumerate(self._task.steps):
            if step.agent.user is not None and self._user_key(step.agent) != user:
                place = ("steps", number, "agent", "user")
                message = "every agent of a task is the same user here"
                raise fault(
                    self._source.where(place), f"steps[{number}].agent.user", message, "say it in [agent]"
                )
        return user

    def verifier(self, step: Phase | None = None) -> dict[str, Any]:
        is_own = step is not None and step.user is not None
        return self._user_key(step if is_own and step is not None else self._task.verifier)

    def _user_key(self, phase: Phase) -> dict[str, Any]:
        user = self._own if phase.user is None else phase.user
        return {"user": user} if self._has_image and user is not None and user not in ROOT else {}


def _user_in(folder: Path) -> str | None:
    try:
        return user_of(read_text(folder, "environment/Dockerfile"))
    except (ContractFault, DockerfileError):  # the part that reads all of it says what is wrong
        return None
