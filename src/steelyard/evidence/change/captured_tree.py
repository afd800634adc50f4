"""What a dead sandbox leaves: directory descriptors, and nothing that could still run."""

from __future__ import annotations

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class CapturedTree:
    """The workspace as the agent last saw it, the baseline it started from, and where to look.

    `workspace` and `baseline` are O_RDONLY directory descriptors resolved by the kernel (for an overlay:
    the merged view and the view of the lowers alone), so that overlay attributes need no interpretation
    that an agent may have planted. `touched` is the overlay's upper: every path that can differ has an
    entry there. Without it (no overlay) the two trees are compared in full.
    """

    workspace: int
    baseline: int
    touched: int | None = None
    redirects: str = ""  # xattr that marks a renamed lower directory in `touched`; "" when impossible
    # The tree is a whole system: no link leads out of it, repositories are files of it
    is_system: bool = False
    mounted: frozenset[str] = frozenset()  # paths at which folders of the host were mounted
