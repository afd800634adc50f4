"""Which scripts of the snapshot come from the baseline because a check starts them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authoring import DEFAULT_FILES, Author
from steelyard.bench.transfer.around_change import oracle_data
from steelyard.bench.transfer.check_scripts import CheckScripts
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import Entry
from steelyard.graders.catalogue import installed_catalogue

FILES = {
    "repo/tests/run.sh": '. ./tests/lib.sh\n[ "$(sh add.sh 2 3)" = 5 ]\n',
    "repo/tests/lib.sh": "sh tests/deep.sh\n",
    "repo/tests/deep.sh": "true\n",
    "repo/tests/other.sh": "true\n",
}
CHECK = {"id": "c", "cmd": "sh tests/run.sh"}
WITH_REFERENCE = {"checks": [CHECK], "reference": "reference.patch"}
Scripts = Callable[..., CheckScripts]


@pytest.fixture
def scripts(author: Author, tmp_path: Path) -> Scripts:
    """Nothing runs here, so there is no backend."""

    def make(oracle: dict[str, Any], files: dict[str, str] | None = None, **keys: Any) -> CheckScripts:
        cache = Cache(tmp_path / "store")
        folder = author.write({**FILES, **(files or {})}, oracle=oracle, **keys)
        contract = load_contract(folder, installed_catalogue(), cache)
        backend: Any = None
        return CheckScripts(contract, oracle_data(Environment(contract, backend, "fake", (), None, cache)))

    return make


def edited(path: str) -> ChangeEntry:
    return ChangeEntry(path, Entry("file", "644", 1, "a" * 64), Entry("file", "644", 1, "b" * 64))


@pytest.mark.parametrize("path", ["tests/run.sh", "tests/lib.sh", "tests/deep.sh"])
def test_a_script_that_a_check_starts_and_the_reference_leaves_alone_is_the_baselines(
    scripts: Scripts, path: str
) -> None:
    finding = scripts(WITH_REFERENCE).left_behind(edited(path))
    assert finding is not None
    assert (finding.id, finding.severity, finding.where) == ("check_script_changed", "warning", path)


@pytest.mark.parametrize("path", ["add.sh", "tests/other.sh", "README.md"])
def test_what_no_check_starts_or_is_not_called_like_a_check_is_work(scripts: Scripts, path: str) -> None:
    made = scripts(WITH_REFERENCE)
    assert made.left_behind(edited(path)) is None
    assert made.carried_finding(edited(path)) is None


@pytest.mark.parametrize("path", ["latest.sh", "contest.sh", "checkout.sh", "checksum.sh"])
def test_a_program_whose_name_only_has_the_letters_of_a_check_is_work(scripts: Scripts, path: str) -> None:
    check = {"id": "c", "cmd": f"sh {path}"}
    made = scripts({**WITH_REFERENCE, "checks": [check]}, {f"repo/{path}": "true\n"})
    assert made.left_behind(edited(path)) is None


@pytest.mark.parametrize(
    ("path", "is_work"),
    [
        ("src/validate.py", True),
        ("web/src/checker.js", True),
        ("src/check.sh", False),
        ("src/tests/check.py", False),
        ("validate.py", False),
    ],
)
def test_a_program_among_the_sources_is_work_whatever_its_name(
    scripts: Scripts, path: str, *, is_work: bool
) -> None:
    """The reference may have solved the task in another file."""
    check = {"id": "c", "cmd": f"{'sh' if path.endswith('.sh') else 'python3'} {path} in.txt"}
    made = scripts({**WITH_REFERENCE, "checks": [check]}, {f"repo/{path}": "true\n"})
    assert (made.left_behind(edited(path)) is None) == is_work
    assert made.carried_finding(edited(path)) is not None


def test_without_a_reference_the_script_is_carried_with_a_finding(scripts: Scripts) -> None:
    made = scripts({"checks": [CHECK]})
    assert made.left_behind(edited("tests/run.sh")) is None
    word = made.carried_finding(edited("tests/run.sh"))
    assert word is not None
    assert (word.id, word.where) == ("check_script_from_change", "tests/run.sh")


def test_a_script_that_the_brief_names_is_work(scripts: Scripts) -> None:
    made = scripts(WITH_REFERENCE, brief="Make tests/run.sh try more numbers.")
    assert made.left_behind(edited("tests/run.sh")) is None
    assert made.left_behind(edited("tests/lib.sh")) is not None


def test_a_script_that_the_reference_changes_is_work(scripts: Scripts) -> None:
    more = "diff --git a/tests/run.sh b/tests/run.sh\n--- a/tests/run.sh\n+++ b/tests/run.sh\n@@ -1 +1,2 @@\n . ./tests/lib.sh\n+true\n"
    files = {"reference.patch": DEFAULT_FILES["reference.patch"] + more}
    assert scripts(WITH_REFERENCE, files).left_behind(edited("tests/run.sh")) is None


def test_a_script_that_moves_away_is_the_baselines(scripts: Scripts) -> None:
    file = Entry("file", "644", 1, "a" * 64)
    moved = ChangeEntry("old/run.sh", file, file, renamed_from="tests/run.sh")
    assert scripts(WITH_REFERENCE).left_behind(moved) is not None


def test_a_hidden_script_at_the_same_path_is_the_checks_own(scripts: Scripts) -> None:
    check = {**CHECK, "inject": [{"src": "hidden.sh", "dest": "tests/run.sh"}]}
    made = scripts({**WITH_REFERENCE, "checks": [check]}, {"hidden.sh": "true\n"})
    assert made.carried_finding(edited("tests/run.sh")) is None


CASES = "for t in tests/cases/*.sh; do sh $t || exit 1; done\n"
NAMED_OTHERWISE = {
    "nice -n 5 sh tests/run.sh": ("tests/run.sh", {}),
    "python3.11 tests/check.py": ("tests/check.py", {"tests/check.py": "pass\n"}),
    "python3 -m tests.check": ("tests/check.py", {"tests/check.py": "pass\n"}),
    "make -f tests/check.mk": ("tests/check.mk", {"tests/check.mk": "all:\n"}),
    "sh < tests/run.sh": ("tests/run.sh", {}),
    "sh<tests/run.sh": ("tests/run.sh", {}),
    "sh tests/run.sh>/tmp/log": ("tests/run.sh", {}),
    "env -C tests sh ./run.sh": ("tests/run.sh", {}),
    "bash -c 'pushd tests; . ./run.sh'": ("tests/run.sh", {}),
    CASES: ("tests/cases/a.sh", {"tests/cases/a.sh": "true\n"}),
    "find tests -name '*.sh' -exec sh {} +": ("tests/cases/a.sh", {"tests/cases/a.sh": "true\n"}),
    "sh tests/all.sh": ("tests/cases/a.sh", {"tests/all.sh": CASES, "tests/cases/a.sh": "true\n"}),
    "sh tests/here.sh": (
        "tests/lib/assert.sh",
        {"tests/here.sh": '. "$HERE/lib/assert.sh"\n', "tests/lib/assert.sh": "true\n"},
    ),
    "python3 tests/ask.py": (
        "tests/cases.py",
        {"tests/ask.py": "from cases import CASES\n", "tests/cases.py": "CASES = []\n"},
    ),
    "python3 tests/near.py": (
        "tests/near/cases.py",
        {"tests/near.py": "from tests.near import cases\n", "tests/near/cases.py": "\n"},
    ),
    "npm run --silent ask": (
        "tests/ask.js",
        {"package.json": '{"scripts": {"ask": "node tests/ask.js"}}', "tests/ask.js": "\n"},
    ),
    "node tests/ask.js": (
        "tests/cases.js",
        {"tests/ask.js": "const cases = require('./cases');\n", "tests/cases.js": "\n"},
    ),
}


@pytest.mark.parametrize("command", NAMED_OTHERWISE)
def test_a_program_that_a_check_starts_or_loads_in_another_way_is_the_baselines(
    scripts: Scripts, command: str
) -> None:
    path, files = NAMED_OTHERWISE[command]
    made = scripts(
        {**WITH_REFERENCE, "checks": [{"id": "c", "cmd": command}]},
        {f"repo/{name}": text for name, text in files.items()},
    )
    assert made.left_behind(edited(path)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[ -f tests/env.sh ] && . tests/env.sh",
        "[ -f tests/env.sh ] && . ./env.sh",
        '. "$(dirname "$0")/env.sh"',
        'source "$HERE/env.sh"',
        "if [ -f tests/env ]; then . ./tests/env; fi",
    ],
)
def test_a_new_script_that_a_check_would_start_is_not_on_the_bench(scripts: Scripts, text: str) -> None:
    path = "tests/env.sh" if "env.sh" in text else "tests/env"
    added = ChangeEntry(path, None, Entry("file", "644", 1, "b" * 64))
    made = scripts(WITH_REFERENCE, {"repo/tests/run.sh": f"{text}\n"})
    finding = made.left_behind(added)
    assert finding is not None
    assert "not on the bench" in finding.why


PROGRAMS = {
    "repo/tests/check.py": "import os\nfrom util import right\ntry:\n    import own\nexcept ImportError: pass\n",
    "repo/tests/util.py": "from parts.more import right\n",
    "repo/tests/parts/more.py": "right = bool\n",
    "repo/check.py": "import add\n",
}
BY_PYTHON = {"checks": [{"id": "c", "cmd": "python3 -m tests.check && python3 check.py"}]}


@pytest.mark.parametrize(
    ("path", "is_loaded"),
    [
        ("tests/util/__init__.py", True),  # goes before util.py
        ("tests/util.abi3.so", True),
        ("tests/check/__main__.py", False),  # nothing without the next
        ("tests/check/__init__.py", True),
        ("tests/own.py", True),
        ("tests/threading.py", True),  # a module of the library loads it
        ("tests/parts/__init__.py", True),
        ("tests/parts.py", True),
        ("tests/__init__.py", True),
        ("tests.py", True),
        ("tests/test_more.py", False),
        ("tests/more/__init__.py", False),
        ("add.py", False),  # what check.py tests
        ("util/__init__.py", False),
    ],
)
def test_a_new_file_that_a_program_of_a_check_would_load_is_not_on_the_bench(
    scripts: Scripts, path: str, *, is_loaded: bool
) -> None:
    added = ChangeEntry(path, None, Entry("file", "644", 1, "b" * 64))
    made = scripts({**BY_PYTHON, "reference": "reference.patch"}, PROGRAMS)
    assert (made.left_behind(added) is not None) == is_loaded
    without = scripts(BY_PYTHON, PROGRAMS)
    assert without.left_behind(added) is None
    assert (without.carried_finding(added) is not None) == is_loaded


def test_a_link_to_a_folder_in_place_of_a_module_of_a_check_is_not_on_the_bench(scripts: Scripts) -> None:
    link = ChangeEntry("tests/util", None, Entry("symlink", "777", 1, "b" * 64))
    made = scripts({**BY_PYTHON, "reference": "reference.patch"}, PROGRAMS)
    assert made.left_behind(link) is not None


def test_a_new_module_of_a_check_that_the_reference_adds_is_work(scripts: Scripts) -> None:
    more = (
        "diff --git a/tests/own.py b/tests/own.py\n--- /dev/null\n+++ b/tests/own.py\n@@ -0,0 +1 @@\n+x = 1\n"
    )
    files = {**PROGRAMS, "reference.patch": DEFAULT_FILES["reference.patch"] + more}
    added = ChangeEntry("tests/own.py", None, Entry("file", "644", 1, "b" * 64))
    assert scripts({**BY_PYTHON, "reference": "reference.patch"}, files).left_behind(added) is None


def test_new_tests_of_the_work_are_carried(scripts: Scripts) -> None:
    made = scripts(
        {**WITH_REFERENCE, "checks": [{"id": "c", "cmd": CASES}]}, {"repo/tests/cases/a.sh": "true\n"}
    )
    added = ChangeEntry("tests/cases/b.sh", None, Entry("file", "644", 1, "b" * 64))
    assert made.left_behind(added) is None


def test_a_file_that_a_check_compares_with_is_the_baselines(scripts: Scripts) -> None:
    made = scripts(
        {**WITH_REFERENCE, "checks": [{"id": "c", "cmd": "sh add.sh 2 3 | diff - tests/out.txt"}]},
        {"repo/tests/out.txt": "5\n", "repo/tests/in.txt": "2 3\n"},
    )
    assert made.left_behind(edited("tests/out.txt")) is not None
    assert made.left_behind(edited("tests/in.txt")) is None


def test_a_module_of_the_product_that_a_check_starts_is_work(scripts: Scripts) -> None:
    """Its name says `check`, and it is not where tests are."""
    made = scripts(
        {**WITH_REFERENCE, "checks": [{"id": "c", "cmd": "python3 -m shop.checkout 2 3"}]},
        {"repo/shop/checkout.py": "pass\n"},
    )
    assert made.left_behind(edited("shop/checkout.py")) is None
