"""Parts of a task that are read one after the other -> every problem of all of them at once."""

from __future__ import annotations

from types import TracebackType

from steelyard.errors import ContractFault, Problem


class FaultCollector:
    """Keeps the faults of each `with` block; `raise_all` raises them all.

    with found:
        reach = reach_of(task)
    with found:
        container = container_of(task)
    found.raise_all()
    """

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, ContractFault):
            return False
        self._problems += error.problems
        return True

    def raise_all(self) -> None:
        """Raise what was found, each problem once: two parts may read the same file."""
        if self._problems:
            raise ContractFault([*dict.fromkeys(self._problems)])
