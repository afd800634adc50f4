"""The agent's work and a verifier with a system of its own -> an environment of that system, and the artifacts to write into it.

    agent's image + change    a container in which nothing is ever run: artifacts are read out of it, as a tar
    the importer              files, folders, and links that stay among the artifacts; so many, and so large
    verifier's image          each at its own path by the rules for work in a system; /logs/artifacts below /logs

What is too large is the agent's failure. An artifact that is not there is not there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

from steelyard.bench.rebuild import laid_entries
from steelyard.bench.transfer.merged_settings import with_contents
from steelyard.bench.transfer.system.places import KERNEL, matches
from steelyard.bench.transfer.system.policy import system_policy
from steelyard.bench.verifier.options import Artifact, SeparateVerifier
from steelyard.contract.model import Memory
from steelyard.environment.image import find_or_build_image
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.change.importer import Caps, import_folder
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import is_within, printable
from steelyard.sandbox_paths import PUBLISHED
from steelyard.sandboxes.base import FileOverlay
from steelyard.sandboxes.docker import archive
from steelyard.sandboxes.docker.archive import UnpackRules

FETCHED = Caps(files=200_000, total_bytes=4 << 30, file_bytes=1 << 30)
TAKEN = archive.Caps(FETCHED.files, FETCHED.file_bytes, FETCHED.total_bytes)
TOO_LARGE = "the artifacts are larger than the limit for a verifier"
MAX_NOTES = 10
_LOGS = "logs/"


class Apart(NamedTuple):
    environment: Environment
    overlays: tuple[FileOverlay, ...]
    logs: tuple[FileOverlay, ...]  # below /logs
    notes: tuple[str, ...]


def apart(
    environment: Environment, changed: tuple[FileOverlay, ...], separate: SeparateVerifier, scratch: Path
) -> Apart:
    """`changed` is all that the agent changed: where nothing runs, nothing of it needs to stay behind."""
    tree = scratch / "tree"
    tree.mkdir()
    (scratch / "nothing").mkdir()
    _collect(environment, changed, separate.collected, tree)
    blobs = Blobs(scratch / "blobs")
    change = import_folder(tree, scratch / "nothing", baseline_root="", blobs=blobs, caps=FETCHED)
    if not change.complete:
        raise AgentFault(TOO_LARGE)
    own = _verifier_environment(environment, separate)
    kept = [one for one in change.entries if not _leads_out(one, separate.collected)]
    notes = [
        f"/{printable(one.path)} points out of the artifacts and was left out"
        for one in change.entries
        if one not in kept
    ]
    logs = [one for one in kept if is_within(one.path, PUBLISHED[1:])]
    split = system_policy(own, blobs).split(one for one in kept if not is_within(one.path, PUBLISHED[1:]))
    notes += [f"{one.where}: {one.why}" for one in (*change.findings, *split.findings)]
    published = laid_entries([replace(one, path=one.path.removeprefix(_LOGS)) for one in logs], blobs)
    overlays = with_contents(split.overlays, split.merged, own.cache)
    return Apart(own, overlays, published, tuple(notes[:MAX_NOTES]))


def _collect(
    environment: Environment, changed: Iterable[FileOverlay], artifacts: tuple[Artifact, ...], tree: Path
) -> None:
    """Only what concerns an artifact is written, and never where the kernel answers."""
    overlays = tuple(leading_to([one.source[1:] for one in artifacts], changed))
    with environment.backend.start(environment.sandbox_spec(overlays=overlays)) as sandbox:
        for one in artifacts:
            into = tree / posixpath.dirname(one.source)[1:]
            taking = UnpackRules(TAKEN, partial(is_excluded, patterns=one.exclude))
            sandbox.copy_out(one.source, into, taking)  # type: ignore[attr-defined]  # a container's only


def leading_to(sources: Sequence[str], changed: Iterable[FileOverlay]) -> Iterator[FileOverlay]:
    """What is at those paths, below and above them. A link at an artifact's path, or above it, leads to nothing that
    was declared, or in circles, on which the engine gives up: there is nothing then.
    """
    for one in changed:
        above = any(is_within(source, one.path) for source in sources)
        if matches(one.path, KERNEL) or not (above or any(is_within(one.path, source) for source in sources)):
            continue
        is_in_the_way = one.kind == "symlink" or (one.kind == "file" and one.path not in sources)
        yield FileOverlay(one.path, "gone") if above and is_in_the_way else one


def _verifier_environment(environment: Environment, separate: SeparateVerifier) -> Environment:
    """The same contract in another system: what it says of the agent's holds no longer."""
    contract, spec = environment.contract, environment.contract.spec
    given = spec.environment
    memory = separate.memory_mb
    changed = given.model_copy(
        update={
            "workdir": separate.workdir or (None if separate.image or separate.build else given.workdir),
            "env": separate.env,
            "user": None,
            "cpu": separate.cpu or given.cpu,
            "memory_mb": Memory(guaranteed=min(memory, 1024), limit=memory) if memory else given.memory_mb,
            "disk_mb": separate.disk_mb or given.disk_mb,
        }
    )
    exports = tuple(pattern for one in separate.artifacts for pattern in (one.source, f"{one.source}/**"))
    update = {"environment": changed, "exports": exports}
    other = replace(contract, spec=spec.model_copy(update=update))
    own = find_or_build_image(
        contract, separate.image, separate.build, allow_unpinned=separate.allow_unpinned
    )
    return replace(environment, contract=other, image=own or environment.image)


def _leads_out(entry: ChangeEntry, artifacts: Iterable[Artifact]) -> bool:
    """A link to something that no artifact has would show the verifier a file of its own."""
    if entry.new is None or entry.new.kind != "symlink":
        return False
    names = entry.new.target.split("/")
    down = dropwhile(lambda name: name in {"", ".", ".."}, names)
    if ".." in down:  # what it goes up from may be a link itself, and then that is elsewhere
        return True
    target = posixpath.normpath(posixpath.join("/", posixpath.dirname(entry.path), entry.new.target))
    return not any(is_within(target, one.source) for one in artifacts)


def is_excluded(path: str, patterns: Iterable[str]) -> bool:
    """As tar takes them: a pattern is a whole name on the way, or the path from somewhere on."""
    names = path.split("/")
    ends = ["/".join(names[start:]) for start in range(len(names))]
    return any(
        fnmatchcase(text, pattern.rstrip("/")) for pattern in patterns for text in (*names, path, *ends)
    )
