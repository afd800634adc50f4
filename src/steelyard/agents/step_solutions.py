"""The solutions of a contract's steps, where they are scripts: that of a step is at /solution while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from steelyard.agents.base import Ending, StageRole, Turn
from steelyard.agents.process import SOLUTION, ProcessAgent, Solution
from steelyard.bench.transfer.hidden_files import files_as_overlays
from steelyard.contract.contract import Contract
from steelyard.contract.model import ScriptReference
from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, Mount

ALL = "/solutions"  # one folder a step, by its number
_BRING = 'rm -rf -- "$2"/* "$2"/.[!.]* && cp -a "$1/." "$2/"'


@dataclass(frozen=True)
class StepSolutions(ProcessAgent):
    """What every sound contract with steps must pass; a step without a script needs nothing to be done."""

    contract: Contract
    name: str = "reference"
    stage_role: ClassVar[StageRole] = "exempt"

    def _scripts(self) -> dict[int, ScriptReference]:
        references = enumerate((step.reference for step in self.contract.steps), start=1)
        return {number: one for number, one in references if isinstance(one, ScriptReference)}

    def parameters(self) -> Mapping[str, Any]:
        files = self.contract.files
        return {"scripts": {str(at): files[one.script].sha256 for at, one in self._scripts().items()}}

    def extra_mounts(self) -> tuple[Mount, ...]:
        overlays = tuple(
            replace(piece, path=f"{number}/{piece.path}")
            for number, one in self._scripts().items()
            for piece in files_as_overlays(self.contract.files_beside(one.script))
        )
        return Mount(ALL, overlays, read_only=True), Mount(SOLUTION)

    def work(self, turn: Turn) -> Ending:
        reference = self._scripts().get(turn.number)
        if reference is None:
            return Ending("completed", "the reference does nothing in this step")
        argv = ("/bin/sh", "-c", _BRING, "bring", f"{ALL}/{turn.number}", SOLUTION)
        delivery = turn.sandbox.run(Command(argv, cwd="/", timeout_s=60))
        if delivery.exit_code != 0:
            raise InfraFault(f"the solution could not be delivered: {delivery.stderr.text.strip()}")
        return Solution(self.contract, reference).work(replace(turn, number=1))
