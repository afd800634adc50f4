"""The real tools in real sandboxes, where this machine has them; their recorded reports are read in any case."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.filesystem.owner import run_uid
from steelyard.sandboxes.base import Limits, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend

LIMITS = Limits(cpu=2, memory_mb=2048, guaranteed_mb=64, disk_mb=256, tmp_mb=256, processes=256)
RunTool = Callable[..., SuiteReport]


def needs(*programs: str) -> pytest.MarkDecorator:
    """A sandbox has what is in /usr, and nothing of anybody's home."""
    missing = [name for name in programs if shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") is None]
    return pytest.mark.skipif(bool(missing), reason=f"not on this machine: {', '.join(missing)}")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunTool:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))

    def go(command: str, files: dict[str, str], env: dict[str, str] | None = None) -> SuiteReport:
        root = tmp_path / "layer"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if os.geteuid() == 0:
            for path in (root, *root.rglob("*")):
                os.chown(path, run_uid(), run_uid())
        suite = Suite(command, timeout_s=240)
        with BubblewrapBackend().start(SandboxSpec(layers=(root,), limits=LIMITS, env=env or {})) as sandbox:
            return runner_for(suite).run(sandbox, suite).reported

    return go


def outcomes(reported: SuiteReport) -> dict[str, str]:
    assert reported.channel == "report_file"
    assert reported.problems == ()
    return {one.id: one.outcome for one in reported.results}


@needs("prove")
def test_each_test_of_prove_is_read(run: RunTool) -> None:
    cart = "use Test::More tests => 2;\nok(1, 'adds');\nis(2 - 1, 2, 'removes');\n"
    other = "use Test::More tests => 1;\nok(1, 'adds');\n"
    assert outcomes(run("prove -r t", {"t/cart.t": cart, "t/deep/other.t": other})) == {
        "t/cart.t::adds": "passed",
        "t/cart.t::removes": "failed",
        "t/deep/other.t::adds": "passed",
    }


@needs("prove")
def test_a_perl_that_leaves_early_is_a_problem(run: RunTool) -> None:
    cart = "use Test::More tests => 2;\nok(1, 'adds');\nexit 0;\n"
    assert run("prove t", {"t/cart.t": cart}).problems


@needs("ctest", "cmake", "cc", "make")
def test_each_test_of_ctest_is_read(run: RunTool) -> None:
    lists = "cmake_minimum_required(VERSION 3.21)\nproject(cart C)\nenable_testing()\nadd_executable(cart cart.c)\n"
    lists += "add_test(NAME adds COMMAND cart 0)\nadd_test(NAME removes COMMAND cart 1)\n"
    main = "#include <stdlib.h>\nint main(int c, char **v) { return c < 2 || atoi(v[1]); }\n"
    command = "cmake -B build && cmake --build build && ctest --test-dir build"
    assert outcomes(run(command, {"CMakeLists.txt": lists, "cart.c": main})) == {
        "adds": "passed",
        "removes": "failed",
    }


@needs("bats")
def test_each_test_of_bats_is_read(run: RunTool) -> None:
    cart = '@test "adds" { [ $((1 + 1)) = 2 ]; }\n@test "removes" { [ $((2 - 1)) = 2 ]; }\n'
    assert outcomes(run("bats test", {"test/cart.bats": cart})) == {
        "cart.bats::adds": "passed",
        "cart.bats::removes": "failed",
    }


@needs("rspec")
def test_each_test_of_rspec_is_read(run: RunTool) -> None:
    cart = 'RSpec.describe "cart" do\n  it("adds") { expect(2).to eq(2) }\n  it("removes") { expect(1).to eq(2) }\nend\n'
    assert outcomes(run("rspec", {"spec/cart_spec.rb": cart})) == {
        "spec/cart_spec.rb::cart adds": "passed",
        "spec/cart_spec.rb::cart removes": "failed",
    }


@needs("go")
def test_each_test_of_go_is_read(run: RunTool) -> None:
    cart = 'package cart\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {}\nfunc TestRemove(t *testing.T) { t.Fatal("no") }\n'
    files = {"go.mod": "module example.com/shop\n\ngo 1.19\n", "cart/cart_test.go": cart}
    env = {"GOCACHE": "/tmp/go-cache", "GOPATH": "/tmp/go", "GOFLAGS": "-mod=mod"}
    assert outcomes(run("go test ./...", files, env)) == {
        "example.com/shop/cart::TestAdd": "passed",
        "example.com/shop/cart::TestRemove": "failed",
    }
