"""Which interpreter of this machine a Python client gets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steelyard.agents.installation.runtime import find_python
from steelyard.errors import MissingCapability

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize("version", ["", OWN])
def test_the_interpreter_that_runs_steelyard_serves_its_own_version(version: str) -> None:
    assert find_python(version) == sys.executable


def test_an_interpreter_that_does_not_start_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shim of pyenv is on the path for every version, and starts the chosen ones only."""
    shim, real = tmp_path / "shims" / "python2.99", tmp_path / "versions" / "2.99.1" / "bin" / "python2.99"
    for path, answer in ((shim, "exit 127"), (real, "echo 1")):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{answer}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert find_python("2.99") == str(real)


def test_a_version_that_this_machine_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    with pytest.raises(MissingCapability, match=r"install Python 2\.98"):
        find_python("2.98")
