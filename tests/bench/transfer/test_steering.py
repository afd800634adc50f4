"""What of a change steers the runner and stays off the bench, and which honest work looks like it and does not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import iniconfig
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.transfer.steering import Steering, may_steer
from steelyard.bench.transfer.steering_parts import PARTS, same_part
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.tree import Entry

PYPROJECT = '[project]\nname = "a"\nversion = "1"\n\n[tool.pytest.ini_options]\naddopts = "-x"\n'
SETUP_CFG = "[metadata]\nname = a\n\n[tool:pytest]\naddopts = -x\n\n[flake8]\nmax-line-length = 99\n"
PACKAGE = '{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}, "dependencies": {"x": "^1"}}'
BASELINE = {
    "pyproject.toml": PYPROJECT,
    "setup.cfg": SETUP_CFG,
    "package.json": PACKAGE,
    "gradle.properties": "version=1\norg.gradle.jvmargs=-Xmx1g\n",
    "shop/__init__.py": "",
    "shop/cart.py": "x = 1\n",
    "shop/test_inside.py": "def test_x(): pass\n",
    "django/test/__init__.py": "from .client import Client\n",
    "lib/__init__.py": "",
    "src/tool.py": "",
    "tests/test_cart.py": "def test_cart(): pass\n",
    "tests/cases.py": "CARTS = []\n",
    "tests/fixtures/carts.py": "CARTS = []\n",
    "tests/billing/test_invoice.py": "",
    "shop/tests/test_shop.py": "",
    "shop/tests/samples.py": "",
    "qa/test_all.py": "",
    "qa/rig.py": "",
    "plain/tests/test_x.py": "",
    "vendored/node_modules/left-pad/index.js": "",
}
HIDDEN = ("tests/test_hidden.py", "checks/probe.py", "acceptance")

Files = Mapping[str, str | None]


def steered(before: Files, after: Files, links: Mapping[str, str] | None = None) -> set[str]:
    """The places of a change from `before` to `after` (None: deleted) that steer."""
    contents: dict[str, bytes] = {}

    def side(text: str | None) -> Entry | None:
        if text is None:
            return None
        data = text.encode(errors="surrogateescape")
        name = hashlib.sha256(data).hexdigest()
        contents[name] = data
        return Entry("file", "644", len(data), name)

    entries = [ChangeEntry(path, side(before.get(path)), side(text)) for path, text in after.items()]
    entries += [
        ChangeEntry(path, side(before.get(path)), Entry("symlink", target=to))
        for path, to in (links or {}).items()
    ]
    steering = Steering(before.keys(), [entry.path for entry in entries], HIDDEN, contents.get)
    return {found.where for entry in entries if (found := steering.of(entry))}


def edited(path: str, old: str, new: str) -> Files:
    assert old in BASELINE[path]
    return {path: BASELINE[path].replace(old, new)}


CHEATS: dict[str, Files] = {
    "options for pytest": edited("pyproject.toml", '"-x"', '"--collect-only"'),
    "one more option": edited("pyproject.toml", "[tool.pytest", '[tool.pytest.more]\na = "b"\n[tool.pytest'),
    "the options are taken away": edited("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-x"\n', ""),
    "the file is taken away": {"pyproject.toml": None},
    "a plugin by entry point": edited("pyproject.toml", "[tool", '[project.entry-points.pytest11]\na = "shop.evil"\n[tool'),
    "a plugin of coverage": edited("pyproject.toml", "[tool", '[tool.coverage.run]\nplugins = ["evil"]\n[tool'),
    "options in a file that cannot be read": edited("pyproject.toml", "version", "version = = "),
    "options in a file that is not UTF-8": {"pyproject.toml": PYPROJECT + "\udcff"},
    "options in another file for them": edited("setup.cfg", "addopts = -x", "addopts = --co"),
    "an alias of setup.py test": edited("setup.cfg", "[metadata]", "[aliases]\ntest = clean\n[metadata]"),
    "a section that only pytest's parser sees": edited("setup.cfg", "name = a", "name = a\n\x0c[tool:pytest]\npython_files = z"),
    "a header that is none": edited("setup.cfg", "addopts = -x", "addopts = -x\n  [x]\npython_files = z"),
    "a header with more behind it": edited("setup.cfg", "addopts = -x", "addopts = -x\n[x] y\npython_files = z"),
    "the script for tests": edited("package.json", "node --test", "true"),
    "a script before the tests": edited("package.json", '"test":', '"pretest": "sh evil", "test":'),
    "settings of jest": edited("package.json", '"name"', '"jest": {"testMatch": []}, "name"'),
    "a key that is there twice": edited("package.json", '"name"', '"scripts": {"test": "true"}, "name"'),
    "the runner from a folder": edited("package.json", '"x": "^1"', '"x": "^1", "mocha": "file:./evil"'),
    "the runner by another name": edited("package.json", '"x": "^1"', '"x": "^1", "jest": "npm:evil@1"'),
    "a program named like the runner": edited("package.json", '"name"', '"bin": {"jest": "./evil.js"}, "name"'),
    "an import that stands for assert": edited("package.json", '"name"', '"imports": {"#assert": "./evil.js"}, "name"'),
    "a package.json that is not one": {"package.json": "[]"},
    "a package.json as deep as the sea": {"package.json": '{"a":' * 100_000},
    "an agent in gradle's machine": edited("gradle.properties", "-Xmx1g", "-javaagent:evil.jar"),
    "the same, spelled otherwise": edited("gradle.properties", "version", "\\u006frg.gradle.daemon=x\nversion"),
    "new options beside the tests": {"tests/pyproject.toml": PYPROJECT},
    "new options where a hidden file goes": {"checks/setup.cfg": SETUP_CFG},
    "code in the package of the tests": {"tests/__init__.py": "import os\nos._exit(0)\n"},
    "code in a new package of tests": {"tests/unit/__init__.py": "import evil\n"},
    "code in a coding of its own": {"tests/__init__.py": "# coding: utf-7\n# +AAo-import evil\n"},
    "code between two strings": {"tests/__init__.py": '"""\n# """\nimport evil\n# """\n"""\n# """\n'},
    "a library in the root": {"json.py": "x"},
    "a library as a package": {"argparse/__init__.py": "x"},
    "a library as an extension": {"random.cpython-311-x86_64-linux-gnu.so": "x"},
    "a library in src": {"src/random.py": "x"},
    "a library that says that src is a package": {"src/__init__.py": "", "src/typing.py": "x"},
    "a library beside the tests": {"tests/types.py": "x"},
    "a library in another folder of tests": {"plain/tests/json.py": "x"},
    "a library where a hidden file goes": {"checks/subprocess.py": "x"},
    "a library in a hidden folder": {"acceptance/json.py": "x"},
    "new options in a hidden folder": {"acceptance/setup.cfg": SETUP_CFG},
    "a helper of the tests in the root": {"cases.py": "x"},
    "a helper of the tests in src": {"src/cases.py": "x"},
    "a helper of the tests as a package": {"cases/__init__.py": "x"},
    "a helper of the tests as an extension": {"lib/cases.abi3.so": "x"},
    "a helper of the tests in a package": {"fixtures/carts.py": "x"},
    "a package of helpers": {"fixtures/__init__.py": "x"},
    "a helper of tests in a package": {"samples.py": "x"},
    "a hidden helper": {"probe.py": "x"},
    "a helper beside tests that have no folder": {"rig.py": "x"},
    "pytest": {"pytest.py": "x"},
    "a library of pytest's": {"pluggy/__init__.py": "x"},
    "a package in place of a test": {"tests/test_cart/__init__.py": ""},
    "an extension in place of a test": {"tests/test_cart.abi3.so": "x"},
    "a package in place of a hidden test": {"tests/test_hidden/__init__.py": ""},
    "start-up code as a package": {"sitecustomize/__init__.py": "x"},
    "start-up code as an extension": {"shop/usercustomize.cpython-311-x86_64-linux-gnu.so": "x"},
    "metadata of a plugin": {"x/evil.egg-info/entry_points.txt": "x"},
    "a mock for every test": {"__mocks__/chai.js": "x"},
    "an agent of maven's": {".mvn/jvm.config": "-javaagent:evil.jar"},
    "the wrapper of gradle": {"gradlew": "exit 0"},
    "another toolchain": {"rust-toolchain.toml": '[toolchain]\npath = "evil"\n'},
    "a workspace of go": {"go.work": "use ./evil"},
    "a plugin of minitest": {"lib/minitest/evil_plugin.rb": "x"},
    "a loader of yarn": {".pnp.cjs": "x"},
}  # fmt: skip


@pytest.mark.parametrize("change", CHEATS.values(), ids=CHEATS.keys())
def test_what_steers_stays_off_the_bench(change: Files) -> None:
    found = steered(BASELINE, change)
    assert found
    assert found <= {*change}


HONEST: dict[str, Files] = {
    "a version and a dependency": edited("pyproject.toml", 'version = "1"', 'version = "2"\ndependencies = ["attrs"]'),
    "another tool": edited("pyproject.toml", "[tool", "[tool.ruff]\nline-length = 99\n[tool"),
    "options written otherwise": edited("pyproject.toml", 'addopts = "-x"', "addopts='-x' # stop early"),
    "a linter's section": edited("setup.cfg", "99", "120"),
    "metadata": edited("setup.cfg", "name = a", "name = b\nversion = 2"),
    "a dependency": edited("package.json", '"^1"', '"^2"'),
    "the runner in a newer version": edited("package.json", '"x": "^1"', '"x": "^1", "mocha": "^11.0.0"'),
    "an import of one's own": edited("package.json", '"name"', '"imports": {"#utils": "./utils.js"}, "name"'),
    "a program of one's own": edited("package.json", '"name"', '"bin": {"shop": "./shop.js"}, "name"'),
    "keys in another order": {"package.json": PACKAGE.replace('"name": "a", ', "").replace("}}", '}, "name": "a"}')},
    "a version for gradle": edited("gradle.properties", "version=1", "version=2"),
    "a new package in a new folder": {"packages/new/package.json": PACKAGE, "packages/new/index.js": ""},
    "a new project in a new folder": {"tools/new/pyproject.toml": PYPROJECT},
    "a package of tests": {"tests/__init__.py": ""},
    "a package of tests with a word": {"tests/unit/__init__.py": '# Licence\n"""Tests of units."""\n'},
    "a package that is called test": {"django/test/__init__.py": "from .client import Client, RequestFactory\n"},
    "a module of a package": {"shop/json.py": "x", "shop/types.py": "x", "shop/logging/__init__.py": "x"},
    "a module of a package with tests inside": {"shop/random.py": "x"},
    "a module of a package called lib": {"lib/types.py": "x"},
    "a module of a new package": {"new/__init__.py": "", "new/calendar.py": "x"},
    "a new folder for tests": {"test/test_more.py": "x", "test/__init__.py": ""},
    "data in a folder named like a library": {"json/data.json": "{}", "types/index.d.ts": ""},
    "a script of another language": {"select.js": "x", "queue.rs": "x", "json.md": "x", "code.sh": "x"},
    "an extension of one's own": {"shop/_fast.cpython-311-x86_64-linux-gnu.so": "x"},
    "a test": {"tests/test_more.py": "x"},
    "a module that a test is about": {"cart.py": "x", "src/hidden.py": "x"},
    "a package that a folder of tests is about": {"billing/__init__.py": "x", "billing/invoice.py": "x"},
    "a module of a package named like a helper": {"shop/cases.py": "x", "src/shop/cases.py": "x"},
    "a script named like a helper": {"cases.js": "x", "cases.txt": "x", "cases/data.json": "{}"},
    "a patch of what is vendored": {"vendored/node_modules/left-pad/index.js": "better"},
    "a version of node": {".nvmrc": "20", ".node-version": "20"},
    "a module about environments": {"shop/venv/build.py": "x"},
}  # fmt: skip


@pytest.mark.parametrize("change", HONEST.values(), ids=HONEST.keys())
def test_honest_work_that_looks_like_it_is_carried(change: Files) -> None:
    assert steered(BASELINE, change) == set()


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("node_modules/chai/index.js", "node_modules"),
        ("tests/node_modules/chai/index.js", "tests/node_modules"),
        (".venv/bin/python", ".venv"),
        ("env/lib/python3.11/site-packages/x.py", "env/lib/python3.11/site-packages"),
        ("vendored/node_modules/mocha/index.js", "vendored/node_modules"),
        ("vendored/node_modules/.bin/jest", "vendored/node_modules"),
    ],
)
def test_what_is_installed_is_left_out_by_its_folder(path: str, folder: str) -> None:
    assert steered(BASELINE, {path: "x"}) == {folder}


def test_a_virtual_environment_is_known_by_its_configuration() -> None:
    found = steered(
        BASELINE, {"here/pyvenv.cfg": "home = /usr/bin", "here/bin/python": "x", "shop/cart.py": "y"}
    )
    assert found == {"here", "here/pyvenv.cfg"}


def test_a_link_is_as_good_as_the_file() -> None:
    links = {
        "json": "shop",
        "types.py": "shop/cart.py",
        "package.json": "evil.json",
        "tests/__init__.py": "../shop/cart.py",
    }
    assert steered(BASELINE, {}, links) == set(links)


def test_a_file_that_steers_is_not_moved_away() -> None:
    side = Entry("file", "644", len(PACKAGE), hashlib.sha256(PACKAGE.encode()).hexdigest())
    entry = ChangeEntry("attic/package.json", side, side, renamed_from="package.json")
    steering = Steering(BASELINE.keys(), entry.paths, HIDDEN, lambda _: PACKAGE.encode())
    assert steering.of(entry)


def test_a_module_that_the_baseline_has_may_be_changed_and_become_a_package() -> None:
    before = {**BASELINE, "json.py": "x"}
    assert steered(before, {"json.py": "y"}) == set()
    assert steered(before, {"json.py": None, "json/__init__.py": "x"}) == set()


def test_a_module_of_the_baseline_that_is_named_like_a_helper_may_be_changed() -> None:
    before = {**BASELINE, "cases.py": "x"}
    assert steered(before, {"cases.py": "y"}) == set()
    assert steered(before, {"cases.py": None, "cases/__init__.py": "x"}) == set()


def test_a_broken_file_may_be_mended() -> None:
    before = {**BASELINE, "pyproject.toml": "[project\n"}
    assert steered(before, {"pyproject.toml": '[project]\nname = "a"\n'}) == set()
    assert steered(before, {"pyproject.toml": PYPROJECT}) == {"pyproject.toml"}


@pytest.mark.parametrize("path", ["Makefile", "sub/pom.xml", "tsconfig.build.json", "build.rs", ".envrc"])
def test_what_does_real_work_is_carried_with_a_word(path: str) -> None:
    assert may_steer(path)
    assert steered(BASELINE, {path: "x"}) == set()


@given(st.sampled_from(sorted(PARTS)), st.binary(max_size=300))
def test_no_content_breaks_a_part(name: str, data: bytes) -> None:
    assert same_part(PARTS[name], None, data) in {True, False}


PIECES = (
    "[tool:pytest]",
    "[x]",
    "[pytest]",
    "addopts = -x",
    "a = b",
    "\n",
    "\r",
    "\x0b",
    "\x0c",
    "\u2028",
    " ",
    "#",
    ";",
    "]",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_pytest_reads_otherwise_in_setup_cfg_is_seen(text: str) -> None:
    """Against the parser that pytest uses: when the options that it finds differ, so do the parts."""
    options = pytest_options(text)
    if options is not None and options != {"addopts": "-x"}:
        assert not same_part(PARTS["setup.cfg"], SETUP_CFG.encode(), text.encode())


def pytest_options(text: str) -> dict[str, str] | None:
    """None: pytest would refuse the file."""
    try:
        sections = iniconfig.IniConfig("setup.cfg", data=text).sections
    except iniconfig.ParseError:
        return None
    return dict(sections.get("tool:pytest", {}))
