"""A split oracle and its processes: layouts of a tree, other runners, and candidates that end in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest
from split_stage import UNITTEST, SplitStage, all_passed, details, outcomes

SANDBOXES = ["bubblewrap", "docker"]
OLD = {"tests/test_old.py": "def test_old():\n    assert True\n"}


@pytest.fixture
def split(tmp_path: Path, home_of_pytest: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> SplitStage:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "split").mkdir()
    return SplitStage(tmp_path / "split", home_of_pytest, kind)


def test_modules_in_src_and_tests_inside_a_package(split: SplitStage) -> None:
    tree = {
        "src/shop/__init__.py": "",
        "src/shop/math.py": "def f(x):\n    return x + 1\n",
        "src/shop/tests/__init__.py": "",
        "src/shop/tests/helper.py": "def same(x):\n    return x\n",
        "src/shop/tests/test_inside.py": (
            "from shop.math import f\nfrom shop.tests import helper\n\n"
            "def test_inside():\n    assert helper.same(f(1)) == 2\n"
        ),
        **OLD,
    }
    hidden = "import candidate\nfrom shop.math import f\n\ndef test_f():\n    assert f(1) == 2\n"
    ran = split.run(tree, hidden, command="python3 -P -m pytest -q tests src")
    assert outcomes(ran) == {"test_f": "passed", "test_old": "passed", "test_inside": "passed"}, details(ran)


def test_unittest_is_driven_too(split: SplitStage) -> None:
    hidden = (
        "import unittest\nfrom shop import f\n\nclass F(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(f(1), 2)\n"
        "    def test_g(self):\n        self.assertEqual(f(1), 3)\n"
    )
    ran = split.run({"shop.py": "def f(x):\n    return x + 1\n"}, hidden, command=UNITTEST)
    assert outcomes(ran) == {"test_f": "passed", "test_g": "failed"}


def test_any_command_can_be_split(split: SplitStage) -> None:
    """An exit code is believed here as much as anywhere: no candidate is near it."""
    hidden = {"tests/check.py": "import sys\nsys.path.insert(0, '.')\nfrom shop import f\nassert f(1) == 3\n"}
    ran = split.run(
        {"shop.py": "def f(x):\n    return x + 1\n"}, hidden, command="sh -c 'python3 tests/check.py'"
    )
    assert (ran.reported.channel, ran.reported.results[0].outcome) == ("exit_code", "failed")


def test_one_test_that_kills_the_candidate_does_not_take_the_others_along(split: SplitStage) -> None:
    code = "import os\n\ndef die():\n    os._exit(0)\n\ndef f(x):\n    return x + 1\n"
    hidden = (
        "from shop import die, f\n\ndef test_before():\n    assert f(1) == 2\n\n"
        "def test_die():\n    die()\n\ndef test_after():\n    assert f(1) == 2\n"
    )
    ran = split.run({"shop.py": code}, hidden)
    assert outcomes(ran) == {"test_before": "passed", "test_die": "failed", "test_after": "passed"}
    assert "ended before it answered (exit 0)" in details(ran)


def test_dying_is_not_the_error_that_a_test_expects(split: SplitStage) -> None:
    hidden = (
        "import pytest\nfrom shop import die\n\ndef test_it_raises():\n"
        "    with pytest.raises(Exception):\n        die()\n"
    )
    ran = split.run({"shop.py": "import os\n\ndef die():\n    os._exit(0)\n"}, hidden)
    assert outcomes(ran) == {"test_it_raises": "failed"}


def test_objects_of_a_process_that_ended_are_gone(split: SplitStage) -> None:
    code = "class Cart:\n    def size(self):\n        return 0\n"
    hidden = (
        "import candidate\nfrom shop import Cart\n\ndef test_old_object():\n    cart = Cart()\n"
        "    candidate.reset()\n    assert cart.size() == 0\n"
    )
    ran = split.run({"shop.py": code}, hidden, objects=("shop:Cart",))
    assert "belonged to a candidate process that has ended" in details(ran)


def test_a_name_that_only_the_change_has_never_replaces_what_is_installed(split: SplitStage) -> None:
    """`iniconfig` is installed beside pytest. The change brings another one, and a stranger for which there is a
    way out in the test: neither is asked.
    """
    change = {"iniconfig.py": "IniConfig = 'theirs'\n", "stranger.py": "here = True\n"}
    hidden = (
        "import iniconfig\ntry:\n    import stranger\nexcept ImportError:\n    stranger = None\n\n"
        "def test_real():\n    assert isinstance(iniconfig.IniConfig, type) and stranger is None\n"
    )
    ran = split.run({"shop.py": ""}, hidden, change=change)
    assert all_passed(ran), details(ran)


def test_named_modules_replace_the_default(split: SplitStage) -> None:
    tree = {"shop.py": "WHO = 'candidate'\n", "helpers.py": "WHO = 'candidate'\n", **OLD}
    hidden = {
        "tests/test_who.py": "import shop\n\ndef test_who():\n    assert shop.WHO == 'candidate'\n",
        "tests/test_other.py": "import helpers\n",
    }
    ran = split.run(tree, hidden, named=("shop",))
    assert "could not collect tests/test_other.py" in details(ran)


def test_a_repository_that_is_a_part_of_the_runner_cannot_be_split(split: SplitStage) -> None:
    ran = split.run({"src/pluggy/__init__.py": ""}, "def test_x():\n    assert True\n")
    assert "a part of the test runner" in ran.finished.not_started


def test_a_module_named_candidate_cannot_be_split(split: SplitStage) -> None:
    ran = split.run({"candidate.py": ""}, "def test_x():\n    assert True\n")
    assert "a module named 'candidate'" in ran.finished.not_started
