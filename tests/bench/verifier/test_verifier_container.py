"""Artifacts for a verifier with a system of its own: what is taken out of the agent's, as data."""

from __future__ import annotations

import io
import os
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from authoring import Author, Steelyard
from steelyard.bench.run_check import Bench
from steelyard.bench.verifier.container import is_excluded, leading_to
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.evidence.change.importer import Caps, import_folder
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.cache import Cache
from steelyard.graders.catalogue import installed_catalogue
from steelyard.sandboxes.base import Facts, FileOverlay, SandboxSpec
from steelyard.sandboxes.docker import archive
from steelyard.sandboxes.fake import Answer, FakeBackend, FakeSandbox
from steelyard.sandboxes.init.frames import Request


@pytest.mark.parametrize(
    ("path", "patterns", "is_left"),
    [
        ("out/a.tmp", ("*.tmp",), True),
        ("out/a.txt", ("*.tmp",), False),
        ("out/node_modules/x/y", ("node_modules",), True),
        ("out/deep/build/x", ("build/x",), True),
        ("out/build/x", ("out/build",), False),
        ("out/build", ("out/build/",), True),
        ("out", (), False),
    ],
)
def test_what_is_excluded_is_a_name_or_the_end_of_a_path(
    path: str, patterns: tuple[str, ...], *, is_left: bool
) -> None:
    assert is_excluded(path, patterns) is is_left


def test_only_what_leads_to_an_artifact_is_written_and_no_link_in_its_place() -> None:
    changed = [
        FileOverlay("app", "symlink", target="app"),
        FileOverlay("app/out", "symlink", target="/tests"),
        FileOverlay("app/out/link", "symlink", target="x"),
        FileOverlay("app/note", "file"),
        FileOverlay("app/other", "file"),
        FileOverlay("logs", "file"),
        FileOverlay("proc/1", "dir"),
    ]
    overlays = leading_to(["app/out", "app/note", "logs/artifacts", "proc/1"], changed)
    assert [(one.path, one.kind) for one in overlays] == [
        ("app", "gone"),
        ("app/out", "gone"),
        ("app/out/link", "symlink"),
        ("app/note", "file"),
        ("logs", "gone"),
    ]


def tar_of(*entries: tuple[str, bytes, dict[str, Any]]) -> tarfile.TarFile:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content, keys in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in keys.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content))
    packed.seek(0)
    return tarfile.open(fileobj=packed, mode="r|")


def taken(
    tmp_path: Path, tar: tarfile.TarFile, *, file_bytes: int = 100, exclude: tuple[str, ...] = ()
) -> Path:
    into = tmp_path / "into"
    into.mkdir(exist_ok=True)
    caps = archive.Caps(50, file_bytes, 1000)
    archive.unpack_whole(tar, into, archive.UnpackRules(caps, partial(is_excluded, patterns=exclude)))
    return into


def test_a_file_and_a_folder_come_by_their_own_names(tmp_path: Path) -> None:
    folder = {"type": tarfile.DIRTYPE}
    taken(tmp_path, tar_of(("note.txt", b"note", {})))
    into = taken(
        tmp_path, tar_of(("out/", b"", folder), ("out/a", b"a", {}), ("out/b.o", b"b", {})), exclude=("*.o",)
    )
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*")) == ["note.txt", "out", "out/a"]


def test_nothing_of_a_tar_leads_out_or_is_a_device(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine\n")
    into = taken(
        tmp_path,
        tar_of(
            ("../outside", b"theirs", {}),
            ("out", b"", {"type": tarfile.SYMTYPE, "linkname": ".."}),
            ("out/outside", b"theirs", {}),
            ("null", b"", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}),
            ("hard", b"", {"type": tarfile.LNKTYPE, "linkname": "../outside"}),
            ("pipe", b"", {"type": tarfile.FIFOTYPE}),
        ),
    )
    assert (tmp_path / "outside").read_text() == "mine\n"
    assert not (into / "null").exists()
    assert not (into / "hard").exists()
    assert not (into / "out").is_symlink()


def test_what_is_too_large_makes_the_import_incomplete(tmp_path: Path) -> None:
    into = taken(tmp_path, tar_of(("huge", b"x" * 200, {})))
    assert os.stat(into / "huge").st_blocks == 0  # noqa: PTH116  # it was not even written
    (tmp_path / "nothing").mkdir()
    caps = Caps(file_bytes=100)
    found = import_folder(
        into, tmp_path / "nothing", baseline_root="", blobs=Blobs(tmp_path / "blobs"), caps=caps
    )
    assert not found.complete


SYSTEM = {"sandbox": "docker", "scope": "system", "image": f"sha256:{'0' * 64}"}


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"separate": {"artifacts": [{"source": "/"}]}}, "is an absolute path below the root"),
        ({"separate": {"artifacts": [{"source": "/app/../tests"}]}}, "without `..`"),
        ({"separate": {"artifacts": [{"source": "/tests/x"}]}}, "belongs to the verifier"),
        ({"separate": {"artifacts": [{"source": "/proc"}]}}, "or the kernel"),
        ({"separate": {"image": "x:1"}}, "by its digest"),
        ({"separate": {"image": f"x@sha256:{'0' * 64}", "build": "grading"}}, "does not exist"),
        ({"separate": {"build": "tests"}}, "not a folder with a Dockerfile"),
        ({"separate": {"colect": []}}, "unknown key"),
        ({"separate": {}, "reward_path": "/logs/artifacts/reward.txt"}, "holds files of the agent"),
    ],
)
def test_options_that_a_verifier_container_cannot_have_are_refused(
    author: Author, steelyard: Steelyard, options: dict[str, Any], shown: str
) -> None:
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", **options}
    contract = author.write({"tests/test.sh": "true\n"}, oracle={"checks": [check]}, environment=SYSTEM)
    data = yaml.safe_load((contract / "contract.yaml").read_text())
    del data["repository"]
    (contract / "contract.yaml").write_text(yaml.safe_dump(data))
    assert shown in steelyard("check", contract).out


@pytest.mark.parametrize("options", [{"user": "ann"}, {"separate": {}}])
def test_users_and_systems_of_a_verifiers_own_need_a_whole_system(
    author: Author, steelyard: Steelyard, options: dict[str, Any]
) -> None:
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", **options}
    contract = author.write({"tests/test.sh": "true\n"}, oracle={"checks": [check]})
    assert "needs `scope: system`" in steelyard("check", contract).out


class Containers:
    """A backend of fake containers; `collected` has a variable of each of those out of which artifacts were taken."""

    def __init__(self) -> None:
        self.collected: list[str] = []

    def facts(self, spec: SandboxSpec) -> Facts:
        return FakeBackend(answer).facts(spec)

    def start(self, spec: SandboxSpec) -> FakeSandbox:
        collected, system = self.collected, spec.env.get("SYSTEM", "")

        class Container(FakeSandbox):
            def copy_out(self, place: str, into: Path, taking: archive.UnpackRules) -> None:
                del place, into, taking
                collected.append(system)

        return Container(answer)


def answer(request: Request) -> Answer:
    """The verifier's only reward is a reward.txt that no process was seen to write."""
    is_reading = "read" in request.argv
    is_reward = is_reading and "/logs/verifier/reward.txt" in request.argv
    return Answer(stdout=b"1\n") if is_reward else Answer(exit_code=3 if is_reading else 0)


def test_trusted_work_for_a_verifier_container_is_taken_out_of_the_system_of_the_work(
    author: Author, tmp_path: Path
) -> None:
    """A reward whose writer was not seen is compared with that of a trusted tree, which has artifacts of its own."""
    separate = {"separate": {"env": {"SYSTEM": "verifier"}}}
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", **separate}
    folder = author.write(
        {"tests/test.sh": "true\n"},
        oracle={"checks": [check]},
        environment={**SYSTEM, "env": {"SYSTEM": "work"}},
    )
    data = yaml.safe_load((folder / "contract.yaml").read_text())
    del data["repository"]
    (folder / "contract.yaml").write_text(yaml.safe_dump(data))
    cache = Cache(tmp_path / "store")
    contract = load_contract(folder, installed_catalogue(), cache)
    containers = Containers()
    Bench(Environment(contract, containers, "docker", (), None, cache), (), {}).run(contract.checks[0])
    assert containers.collected == ["work", "work"]
