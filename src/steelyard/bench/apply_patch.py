"""A patch -> a Change, applied by git inside a sandbox and imported as data.

No patch is ever applied on the host: it may name any path and use any trick that git knows.
"""

from __future__ import annotations

import time
from dataclasses import replace

from steelyard.contract.patches.patch_forms import patch_forms
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import Command, Sandbox
from steelyard.sandboxes.catalogue import backend

# A repository of our own beside the tree, so that no attribute of the tree turns a byte; laid out by hand, because
# `git init` takes as long as the patch does.
_SCRIPT = """
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_DIR={git_dir}
mkdir -p "$GIT_DIR/objects" "$GIT_DIR/refs" "$GIT_DIR/info"
echo 'ref: refs/heads/none' > "$GIT_DIR/HEAD"
echo '* -text -filter -ident -working-tree-encoding' > "$GIT_DIR/info/attributes"
exec git --work-tree=/workspace -c core.bare=false -c core.fileMode=true -c core.symlinks=true apply --whitespace=nowarn -
"""
TIMEOUT_S = 120
LINE_ENDS = "the headers of the patch end in CRLF: the CR of each line was left out, as patch does"


@dataclass(frozen=True, slots=True)
class PatchResult:
    """What became of a patch; `refused` says why it does not apply, exactly and without fuzz."""

    change: Change
    refused: str
    command: str
    exit: int | None
    log: str
    start: int
    end: int


def apply_patch(environment: Environment, patch: bytes, blobs: Blobs) -> PatchResult:
    """Apply the first form of the patch that applies exactly; raises InfraFault when git did not run."""
    if not patch.strip():
        start = time.monotonic_ns()
        return PatchResult(Change(environment.contract.snapshot.root), "", "git apply", 0, "", start, start)
    first: PatchResult | None = None
    for form in patch_forms(patch):
        applied = _apply(environment, form, blobs)
        if not applied.refused:
            note = LINE_ENDS if b"\r\n" in patch and b"\r\n" not in form else ""
            return replace(applied, log=f"{note}\n{applied.log}".strip())
        first = first or applied
    assert first is not None
    return first


def _apply(environment: Environment, patch: bytes, blobs: Blobs) -> PatchResult:
    root = environment.contract.snapshot.root
    start = time.monotonic_ns()
    with _with_git(environment) as sandbox:
        finished = sandbox.run(
            Command(("/bin/sh", "-c", script(sandbox.facts.isolation)), stdin=patch, timeout_s=TIMEOUT_S)
        )
        sandbox.stop()
        log = finished.stderr.text.strip()
        if finished.not_started or finished.lost:
            raise InfraFault(f"git apply did not run: {finished.not_started or 'its sandbox died'}")
        refused = "" if finished.exit_code == 0 else _reason(log)
        # Git applies all or nothing, but a tree that a failed apply touched is not worth trusting.
        change = (
            Change(root)
            if refused
            else import_workspace(
                sandbox.captured_tree(),
                baseline_root=root,
                blobs=blobs,
                generated=environment.contract.spec.generated,
            )
        )
    return PatchResult(change, refused, "git apply", finished.exit_code, log, start, time.monotonic_ns())


def script(isolation: str) -> str:
    """Without isolation /tmp belongs to all users and runs of the machine; the folder above the workspace is the sandbox's."""
    return _SCRIPT.format(git_dir='"$PWD/../steelyard.git"' if isolation == "none" else "/tmp/steelyard.git")  # noqa: S108  # a sandbox's own


def _reason(log: str) -> str:
    """The first line that git prints. Its advice on an input without a diff names an option that `grade` does not have."""
    first = (log.splitlines() or ["git apply did not finish"])[0]
    return "it has no hunk: it is not a diff" if "No valid patches in input" in first else first


def _with_git(environment: Environment) -> Sandbox:
    """A sandbox with the tree of the snapshot; an image need not have git, and a patch is the same in any sandbox that has."""
    sandbox = environment.backend.start(environment.sandbox_spec())
    if (
        environment.image is None
        or sandbox.run(Command(("git", "--version"), timeout_s=TIMEOUT_S)).exit_code == 0
    ):
        return sandbox
    sandbox.close()
    return backend("bubblewrap").start(
        replace(environment.sandbox_spec(), image="", workdir="", read_only=False)
    )
