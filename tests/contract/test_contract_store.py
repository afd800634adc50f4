"""A contract that was run can be loaded again by its digest, when the author's folder is gone."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from contract_folders import Git, Writer
from small_catalogue import SMALL

from steelyard.contract.contract import Contract
from steelyard.contract.contract_store import ContractStore
from steelyard.errors import ContractFault, OperatorFault
from steelyard.filesystem.cache import Cache

HIDDEN: dict[str, Any] = {
    "checks": [{"id": "accept", "cmd": "make test", "inject": [{"src": "hidden", "dest": "tests"}]}]
}


def kept(writer: Writer) -> Contract:
    """The contract, loaded from the cache alone."""
    contract = writer.load()
    store = ContractStore(writer.store)
    store.keep(contract)
    shutil.rmtree(writer.folder)
    again = store.load(contract.digest, SMALL)
    assert again.digest == contract.digest
    return again


def test_a_kept_contract_has_its_digest_and_its_snapshot(writer: Writer) -> None:
    writer.write()
    again = kept(writer)
    assert (again.id, again.brief) == ("demo", "Mend it.")
    assert (again.snapshot.tree / "a.py").read_text() == "print(1)\n"


def test_hidden_files_keep_their_bytes_modes_and_links(writer: Writer) -> None:
    writer.write({"hidden/t.sh": "exit 0\n", "hidden/data/x": b"\x00\xff"}, oracle=HIDDEN)
    (writer.folder / "hidden/t.sh").chmod(0o755)
    (writer.folder / "hidden/link").symlink_to("data/x")
    again = kept(writer)
    assert {name: file.mode for name, file in again.files.items()} == {
        "hidden/t.sh": "755",
        "hidden/data/x": "644",
        "hidden/link": "link",
    }
    assert again.files["hidden/data/x"].path.read_bytes() == b"\x00\xff"


def test_a_brief_in_a_file_is_kept(writer: Writer) -> None:
    writer.write({"texts/brief.md": "Mend the pump.\n"}, brief=..., brief_file="texts/brief.md")
    assert kept(writer).brief == "Mend the pump.\n"


def test_what_a_suite_shares_is_kept(writer: Writer) -> None:
    writer.write()
    suite = writer.folder.parent / "suite.yaml"
    suite.write_text("budget: {wall_s: 77}\n")
    contract = writer.load()
    ContractStore(writer.store).keep(contract)
    suite.unlink()
    assert ContractStore(writer.store).load(contract.digest, SMALL).spec.budget.wall_s == 77


@pytest.mark.parametrize(
    "text",
    ["on", "1_000", "0o17", "2026-03-07", "~", "null", "1e3", "a\nb: c\n", "x\u2028\x85", "\U0001f600", " "],
)
def test_a_string_stays_the_same_string(writer: Writer, text: str) -> None:
    writer.write(brief=f"Say {text}", environment={"env": {"WORD": text}})
    again = kept(writer)
    assert again.spec.environment.env["WORD"] == text


def test_a_commit_with_its_history_is_kept(writer: Writer, repository: Git) -> None:
    commit = repository.commit({"a.py": "1\n"})
    writer.write(repository={"git": str(repository.folder), "commit": commit, "history": "full"})
    contract = writer.load()
    ContractStore(writer.store).keep(contract)
    shutil.rmtree(repository.folder)
    again = ContractStore(writer.store).load(contract.digest, SMALL)
    assert (again.digest, again.snapshot.commit) == (contract.digest, commit)


def test_only_the_owner_may_look_into_a_kept_contract(writer: Writer) -> None:
    writer.write()
    contract = writer.load()
    ContractStore(writer.store).keep(contract)
    folder = writer.store.path("contracts", contract.digest)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_damaged_copy_is_not_used(writer: Writer) -> None:
    writer.write()
    contract = writer.load()
    store = ContractStore(writer.store)
    store.keep(contract)
    (writer.store.path("contracts", contract.digest) / "contract/contract.yaml").write_text("id: other\n")
    with pytest.raises(OperatorFault, match="has no contract with the digest"):
        store.load(contract.digest, SMALL)
    store.keep(contract)
    assert store.load(contract.digest, SMALL).id == "demo"


@pytest.mark.parametrize("digest", ["0" * 64, "None", "../../etc", ""])
def test_an_unknown_digest_asks_for_the_contract(tmp_path: Path, digest: str) -> None:
    with pytest.raises(OperatorFault, match="name its folder with --contract"):
        ContractStore(Cache(tmp_path)).load(digest, SMALL)


def test_a_snapshot_that_is_gone_asks_for_the_contract(writer: Writer) -> None:
    writer.write()
    contract = writer.load()
    ContractStore(writer.store).keep(contract)
    shutil.rmtree(writer.store.root / "snapshots")
    with pytest.raises(OperatorFault, match="the repository of demo is no longer in the cache"):
        ContractStore(writer.store).load(contract.digest, SMALL)


def test_a_hidden_file_that_changed_after_loading_is_refused(writer: Writer) -> None:
    writer.write({"hidden/t.sh": "exit 1\n"}, oracle=HIDDEN)
    contract = writer.load()
    (writer.folder / "hidden/t.sh").write_text("exit 0\n")
    with pytest.raises(ContractFault, match="changed after the contract was loaded"):
        ContractStore(writer.store).keep(contract)
