"""A loaded contract -> a copy in the cache, by its digest; a digest -> the contract again, without its author's folder.

    <cache>/contracts/<digest>/          mode 700: it holds hidden files and the reference
      stored.json                        {"schema": "steelyard.stored_contract/1", "id": "...", "snapshot": "<key in the cache>"}
      contract/contract.yaml             as it was written, with what its suite shares
      contract/...                       every file that the contract names

The repository is not copied: its snapshot is in the same cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from steelyard.contract.catalogue import Catalogue, ContractFile
from steelyard.contract.contract import Contract
from steelyard.contract.load import FILE, examine_contract
from steelyard.contract.snapshot.snapshot import read_snapshot
from steelyard.deferred.data_class import dataclass
from steelyard.errors import ContractFault, OperatorFault, Problem
from steelyard.filesystem.cache import Cache

SCHEMA = "steelyard.stored_contract/1"
KIND = "contracts"


class _Quoting(yaml.SafeDumper):
    """Quotes every string, so that no reader takes one for a number, a date or a boolean."""


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


@dataclass(frozen=True, slots=True)
class ContractStore:
    """The contracts that were run with this cache."""

    cache: Cache

    def keep(self, contract: Contract) -> None:
        """Copy the contract into the cache, unless it is there."""

        def build(folder: Path) -> None:
            folder.chmod(0o700)
            _write_contract(contract, folder / "contract")
            stored = {"schema": SCHEMA, "id": contract.id, "snapshot": contract.snapshot.folder.name}
            (folder / "stored.json").write_bytes(orjson.dumps(stored))

        # Not durable: a copy that a power cut damaged is found by its record and made again.
        self.cache.build(KIND, contract.digest, build, durable=False)

    def load(self, digest: str, catalogue: Catalogue) -> Contract:
        """The contract of that digest; raises OperatorFault when it cannot be had from the cache."""
        folder = self._lookup(KIND, digest)
        if folder is None:
            raise OperatorFault(
                f"the cache {self.cache.root} has no contract with the digest {digest[:12]}; name its folder with --contract"
            )
        stored = orjson.loads((folder / "stored.json").read_bytes())
        snapshot = self._lookup("snapshots", stored["snapshot"])
        if snapshot is None:
            raise OperatorFault(
                f"the repository of {stored['id']} is no longer in the cache {self.cache.root}; name the contract with --contract"
            )
        path = folder / "contract"
        contract = examine_contract(path, catalogue, self.cache, snapshot=read_snapshot(snapshot)).contract
        if contract.digest != digest:
            raise OperatorFault(
                f"{stored['id']} was kept as {digest[:12]} and reads as {contract.digest[:12]} now: another version of "
                "Steelyard or of a grader kept it; name it with --contract"
            )
        return contract

    def _lookup(self, kind: str, key: str) -> Path | None:
        try:
            return self.cache.found(kind, key)
        except ValueError:  # a name that no folder of a cache has
            return None


def _write_contract(contract: Contract, folder: Path) -> None:
    folder.mkdir()
    text = yaml.dump(dict(contract.written), Dumper=_Quoting, sort_keys=False, allow_unicode=True)
    (folder / FILE).write_text(text, encoding="utf-8")
    for name, brief in _brief_files(contract):
        _at(folder, name).write_bytes(brief.encode())
    for name, file in contract.files.items():
        _copy(file, _at(folder, name))


def _brief_files(contract: Contract) -> list[tuple[str, str]]:
    """Files that hold briefs, by name; the digest has their text, so they are not among the contract's files."""
    written: Mapping[str, Any] = contract.written
    steps = zip(written.get("steps") or (), contract.steps, strict=False)
    named = [(step.get("brief_file"), loaded.brief) for step, loaded in steps]
    return [(name, brief) for name, brief in ((written.get("brief_file"), contract.brief), *named) if name]


def _at(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _copy(file: ContractFile, target: Path) -> None:
    if file.mode == "link":
        target.symlink_to(os.readlink(file.path))  # noqa: PTH115  # Path would tidy the bytes
    else:
        shutil.copyfile(file.path, target)
        target.chmod(int(file.mode, 8))
        with target.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
                raise ContractFault(Problem(str(file.path), "", "changed after the contract was loaded"))
