"""Honest suites under the Python runner: each test is reported as it ended, and nothing is suspected."""

from __future__ import annotations

import pytest
from small_sandbox import planted

from python_bench import PythonBench, is_a_pass, outcomes

SANDBOXES = ["bubblewrap", "docker"]
PRODUCT = {"shop.py": "def add(a, b):\n    return a + b\n"}


def test_each_way_a_pytest_test_can_end_is_reported(python_bench: PythonBench) -> None:
    ran = python_bench(
        {
            **PRODUCT,
            "tests/test_ends.py": """
import pytest, unittest
from shop import add

def test_passes(): assert add(1, 2) == 3
def test_fails(): assert add(1, 2) == 4
@pytest.fixture
def broken(): raise ValueError("no")
@pytest.fixture
def leaving():
    yield
    raise ValueError("no")
def test_setup_breaks(broken): pass
def test_teardown_breaks(leaving): pass
@pytest.mark.skip
def test_skipped(): pass
def test_skips_itself(): pytest.skip("not here")
@pytest.mark.xfail
def test_expected(): assert False
@pytest.mark.xfail
def test_unexpected(): pass
@pytest.mark.xfail(strict=True)
def test_strictly_unexpected(): pass
def test_exits(): raise SystemExit(0)
class TestOld(unittest.TestCase):
    def test_old_passes(self): self.assertEqual(add(1, 1), 2)
    def test_old_fails(self): self.assertEqual(add(1, 1), 3)
    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
""",
        }
    )
    assert outcomes(ran.reported) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_setup_breaks": "error",
        "test_teardown_breaks": "error",
        "test_skipped": "skipped",
        "test_skips_itself": "skipped",
        "test_expected": "skipped",
        "test_unexpected": "skipped",
        "test_strictly_unexpected": "failed",
        "test_exits": "failed",
        "test_old_passes": "passed",
        "test_old_fails": "failed",
        "test_parts": "failed",
    }
    assert not ran.reported.problems
    assert not ran.reported.tampering
    assert ran.finished.exit_code == 1
    assert {one.file for one in ran.reported.results} == {"tests/test_ends.py"}


def test_each_way_a_unittest_test_can_end_is_reported(python_bench: PythonBench) -> None:
    ran = python_bench(
        {
            **PRODUCT,
            "tests/__init__.py": "",
            "tests/test_ends.py": """
import unittest
from shop import add

class Ends(unittest.TestCase):
    def test_passes(self): self.assertEqual(add(1, 2), 3)
    def test_fails(self): self.assertEqual(add(1, 2), 4)
    def test_breaks(self): raise ValueError("no")
    def test_skips(self): self.skipTest("not here")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
@unittest.skip("all of it")
class Skipped(unittest.TestCase):
    def test_in_a_skipped_class(self): pass
class SkipsInSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("later")
    def test_skipped_by_set_up(self): pass
""",
        },
        "python3 -m unittest",
    )
    assert outcomes(ran.reported) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_breaks": "error",
        "test_skips": "skipped",
        "test_expected": "skipped",
        "test_unexpected": "failed",
        "test_parts": "failed",
        "test_in_a_skipped_class": "skipped",
        "test_skipped_by_set_up": "skipped",
    }
    assert ran.reported.runner == "unittest"
    assert not ran.reported.problems
    assert not ran.reported.tampering


PROGRAM = """#!/usr/bin/python3
import sys, unittest
from helper import RUNNER
if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    sys.exit(not RUNNER(verbosity=2).run(suite).wasSuccessful())
"""
CASES = '''
import unittest
class Case(unittest.TestCase):
    def test_passes(self):
        """Adds one to a number.

        And more."""
    def test_fails(self): self.fail()
    def test_runs_tests(self):
        """A run within a run belongs to the test alone."""
        inner = unittest.TestSuite([unittest.FunctionTestCase(lambda: self.fail())])
        assert not unittest.TextTestRunner().run(inner).wasSuccessful()
'''


@pytest.mark.parametrize("command", ["python3 tests/run.py sub.test_x", "tests/run.py sub.test_x"])
def test_the_tests_of_a_program_that_runs_unittest_are_heard(python_bench: PythonBench, command: str) -> None:
    files = {
        "tests/run.py": PROGRAM,
        "tests/helper.py": "import unittest\nRUNNER = unittest.TextTestRunner\n",
        "tests/sub/__init__.py": "",
        "tests/sub/test_x.py": CASES,
    }
    (python_bench.folder / "tests").mkdir()
    (python_bench.folder / "tests/run.py").touch(0o755)
    reported = python_bench(files, command, declared=("test_fails (sub.test_x.Case)",)).reported
    assert (reported.problems, reported.tampering, reported.own_runner) == ((), (), True)
    assert {one.file for one in reported.results} == {"tests/sub/test_x.py"}
    assert outcomes(reported) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_runs_tests": "passed",
    }
    assert [one.title for one in reported.results if one.id.endswith("passes")] == ["Adds one to a number."]


def test_a_program_may_be_content_with_an_unexpected_success(python_bench: PythonBench) -> None:
    """Django was, for years; the test has failed all the same."""
    program = "import unittest\nunittest.main(module='cases', exit=False)\n"
    cases = CASES.replace("def test_fails(self): self.fail()", "").replace(
        "    def test_passes", "    @unittest.expectedFailure\n    def test_passes"
    )
    ran = python_bench({"run.py": program, "cases.py": cases}, "python3 run.py", declared=("x (c.Case)",))
    assert not ran.reported.problems
    assert outcomes(ran.reported) == {"test_passes": "failed", "test_runs_tests": "passed"}


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("", "`run.py` ran no tests with unittest"),
        ("raise SystemExit(0)", "`run.py` ran no tests with unittest"),
        (
            "import unittest\nfor _ in range(2): unittest.TextTestRunner().run(unittest.TestSuite())\n",
            "unittest ran a second suite; only one is supported",
        ),
    ],
)
def test_a_program_whose_tests_cannot_be_heard_is_no_pass(
    python_bench: PythonBench, program: str, problem: str
) -> None:
    ran = python_bench({"run.py": program}, "python3 run.py", declared=("test_x (x.Case)",))
    assert ran.reported.problems == (problem,)


def test_what_a_class_set_up_stops_never_ran(python_bench: PythonBench) -> None:
    ran = python_bench(
        {
            "test_x.py": "import unittest\nclass X(unittest.TestCase):\n"
            "    @classmethod\n    def setUpClass(cls): raise ValueError('no')\n    def test_x(self): pass\n"
        },
        "python3 -m unittest",
    )
    assert outcomes(ran.reported) == {"test_x": "error"}
    assert ran.reported.results[0].detail == "setUpClass: ValueError: no"
    assert not ran.reported.problems  # other classes are none of its business


def test_what_breaks_after_the_tests_of_a_class_is_no_pass(python_bench: PythonBench) -> None:
    ran = python_bench(
        {
            "test_x.py": "import unittest\nclass X(unittest.TestCase):\n"
            "    @classmethod\n    def tearDownClass(cls): raise ValueError('no')\n    def test_x(self): pass\n"
        },
        "python3 -m unittest",
    )
    assert ran.reported.problems[0] == "tearDownClass (test_x.X): ValueError: no"


HONEST = {
    "src layout and pythonpath": {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
        "src/shop/__init__.py": "def add(a, b):\n    return a + b\n",
        "tests/test_x.py": "from shop import add\ndef test_adds(): assert add(1, 2) == 3\n",
    },
    "conftest, fixtures and helpers": {
        **PRODUCT,
        "conftest.py": "import pytest\n@pytest.fixture(scope='session')\ndef three(): return 3\n",
        "tests/conftest.py": "import pytest, helpers\n@pytest.fixture\ndef four(three): return helpers.more(three)\n",
        "tests/helpers.py": "def more(number): return number + 1\n",
        "tests/test_x.py": "from shop import add\ndef test_adds(three, four): assert add(three, 1) == four\n",
    },
    "parametrised, unicode and classes": {
        "tests/__init__.py": "",
        "tests/sub/__init__.py": "",
        "tests/sub/test_x.py": (
            "import pytest\nclass TestÜ:\n"
            "    @pytest.mark.parametrize('x', ['ä', '[a::b]', None, 1.5], ids=str)\n"
            "    def test_it(self, x): assert x is x\n"
        ),
    },
    "tmp_path, capsys, monkeypatch and caplog": {
        "test_x.py": """
import logging, os, sys, time
def test_all(tmp_path, capsys, monkeypatch, caplog):
    (tmp_path / "a").write_text("b")
    print("out")
    assert capsys.readouterr().out == "out\\n"
    monkeypatch.setattr(time, "time", lambda: 5)
    monkeypatch.setattr(os, "getpid", lambda: 6)
    monkeypatch.setenv("HOME", "/x")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert time.time() == 5 and os.getpid() == 6
    logging.getLogger().warning("x")
    assert caplog.records
""",
    },
    "asyncio, threads, subprocesses and forks": {
        "test_x.py": """
import asyncio, multiprocessing, os, subprocess, sys, threading
def double(x): return 2 * x
def test_async():
    async def one(): return 1
    assert asyncio.run(one()) == 1
def test_thread():
    got = []
    thread = threading.Thread(target=got.append, args=(1,)); thread.start(); thread.join()
    assert got == [1]
def test_subprocess():
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
def test_fork():
    pid = os.fork()
    if not pid: os._exit(3)
    assert os.waitpid(pid, 0)[1] >> 8 == 3
def test_pool():
    for kind in ("fork", "spawn"):
        with multiprocessing.get_context(kind).Pool(1) as pool:
            assert pool.map(double, [1, 2]) == [2, 4]
""",
    },
    "mocks, and a replaced clock that is put back": {
        "test_x.py": """
import time, builtins
from unittest import mock
import pytest
@pytest.fixture
def frozen():
    with mock.patch("time.time", return_value=1.0), mock.patch("builtins.open"):
        yield
def test_mocked(frozen):
    assert time.time() == 1.0
@mock.patch("os.fork")
def test_decorated(fork):
    assert fork() is fork.return_value
def test_trace():
    import sys
    sys.settrace(lambda *a: None)
    sys.settrace(None)
""",
    },
    "a module of the tree that has a standard name": {
        "calendar.py": "MINE = 1\n",
        "test_x.py": "import calendar\ndef test_mine(): assert calendar.MINE\n",
    },
    "reading its own process": {
        "test_x.py": (
            "import os\n"
            "def test_proc():\n"
            "    assert os.listdir('/proc/self/fd')\n"
            "    assert open('/proc/self/environ', 'rb').read()\n"
            "    assert open(0).read() == ''\n"
        ),
    },
    "a plugin of the tree, named in the settings": {
        "pytest.ini": "[pytest]\naddopts = -p plugins.more\n",
        "plugins/__init__.py": "",
        "plugins/more.py": "import pytest\n@pytest.fixture\ndef five(): return 5\n"
        "def pytest_runtest_call(item): item.was_called = True\n",
        "test_x.py": "def test_plugin(five, request): assert five == 5 and request.node.was_called\n",
    },
    "a plugin of the tree, named in a conftest": {
        "conftest.py": "pytest_plugins = ['shop.testing']\n",
        "shop/__init__.py": "",
        "shop/testing.py": "import pytest\n@pytest.fixture\ndef five(): return 5\n"
        "def pytest_collection_modifyitems(items): items.reverse()\n",
        "test_x.py": "def test_plugin(five): assert five == 5\n",
    },
    "doctests": {
        "shop.py": '"""\n>>> 1 + 1\n2\n"""\n',
        "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
    },
    "a relaxed exit": {
        "test_x.py": "import atexit, threading, time\natexit.register(lambda: 1/0)\n"
        "def test_leaves(): threading.Thread(target=time.sleep, args=(0.2,)).start()\n"
    },
}


@pytest.mark.parametrize("files", HONEST.values(), ids=HONEST)
def test_an_honest_suite_passes(python_bench: PythonBench, files: dict[str, str]) -> None:
    own = frozenset(name[:-3] for name in files if name.endswith(".py") and "/" not in name)
    ran = python_bench(files, own_modules=own)
    assert is_a_pass(ran.reported), (ran.reported, ran.finished.stderr.text)


def test_ids_are_reported_as_pytest_writes_them(python_bench: PythonBench) -> None:
    ran = python_bench(HONEST["parametrised, unicode and classes"])
    assert [one.id for one in ran.reported.results] == [
        "tests/sub/test_x.py::TestÜ::test_it[\\xe4]",  # sic: pytest escapes it
        "tests/sub/test_x.py::TestÜ::test_it[[a::b]]",
        "tests/sub/test_x.py::TestÜ::test_it[None]",
        "tests/sub/test_x.py::TestÜ::test_it[1.5]",
    ]


@pytest.mark.parametrize(
    ("command", "ran"),
    [
        ("python3 -m pytest tests/test_a.py", ["test_a", "test_b"]),
        ("python3 -m pytest -k 'test_b or test_c'", ["test_b", "test_c"]),
        ("python3 -m pytest tests/test_a.py::test_b", ["test_b"]),
        ("cd tests && PYTHONPATH=.. python3 -m pytest -q test_a.py", ["test_a", "test_b"]),
        (
            "PYTHONPATH=. python3 -W error -m pytest -o addopts= -p no:cacheprovider --deselect tests/test_a.py",
            ["test_c"],
        ),
        ("python3 -m unittest tests.test_u", ["test_u"]),
        ("python3 -m unittest discover -s tests -p 'test_u*'", ["test_u"]),
        ("python3 -m unittest tests.test_u.U.test_u", ["test_u"]),
    ],
)
def test_the_words_of_a_command_are_honoured(python_bench: PythonBench, command: str, ran: list[str]) -> None:
    two = "from shop import add\ndef test_a(): assert add(1, 1) == 2\ndef test_b(): pass\n"
    files = {
        **PRODUCT,
        "tests/test_a.py": two,
        "tests/test_c.py": "def test_c(): pass\n",
        "tests/test_u.py": "import unittest\nclass U(unittest.TestCase):\n    def test_u(self): pass\n",
    }
    reported = python_bench(files, command).reported
    names = [name for name in outcomes(reported) if name != "test_u" or "unittest" in command]
    assert (names, reported.problems) == (ran, ())


def test_in_a_process_each_tests_do_not_see_each_other(python_bench: PythonBench) -> None:
    files = {
        "shop.py": "seen = []\n",
        "test_x.py": "import shop\nimport pytest\n@pytest.mark.parametrize('number', range(3))\n"
        "def test_alone(number):\n    shop.seen.append(1)\n    assert shop.seen == [1]\n"
        "def test_fails(): assert False\n",
    }
    together = python_bench(files).reported
    apart = python_bench(files, isolation="process").reported
    assert outcomes(together)["test_alone[1]"] == "failed"
    assert list(outcomes(apart).values()) == ["passed", "passed", "passed", "failed"]
    assert not apart.problems


def test_in_a_process_each_unittest_tests_are_reported_too(python_bench: PythonBench) -> None:
    files = {
        "test_x.py": "import unittest\nclass X(unittest.TestCase):\n"
        "    def test_a(self): pass\n    def test_b(self): self.fail()\n"
    }
    reported = python_bench(files, "python3 -m unittest", isolation="process").reported
    assert (outcomes(reported), reported.problems) == ({"test_a": "passed", "test_b": "failed"}, ())


def test_a_file_that_cannot_be_imported_is_an_error_and_a_problem(python_bench: PythonBench) -> None:
    reported = python_bench({"test_x.py": "import absent\n", "test_y.py": "def test_y(): pass\n"}).reported
    assert reported.problems[0] == "could not collect test_x.py"
    assert {one.id: one.outcome for one in reported.results} == {
        "test_x.py": "error",
        "test_y.py::test_y": "error",
    }


@pytest.mark.parametrize(
    ("command", "only"),
    [
        ("python3 -m pytest -q", "test_x.py::Case::test_two"),
        ("python3 -m unittest -q", "test_x.Case.test_two"),
    ],
)
def test_a_suite_can_be_limited_to_some_tests(python_bench: PythonBench, command: str, only: str) -> None:
    text = "import unittest\nclass Case(unittest.TestCase):\n"
    methods = "".join(f"    def test_{name}(self): pass\n" for name in ("one", "two", "three"))
    reported = python_bench({"test_x.py": text + methods}, command, only=(only,)).reported
    assert ([one.id for one in reported.results], is_a_pass(reported)) == ([only], True)


def test_a_row_whose_id_is_changed_belongs_to_a_limited_suite(python_bench: PythonBench) -> None:
    text = "import pytest\n@pytest.mark.parametrize('a, b', [(1, 3)])\ndef test_x(a, b): pass\ndef test_y(): pass\n"
    reported = python_bench({"test_x.py": text}, only=("test_x.py::test_x[1-2]",)).reported
    assert [one.id for one in reported.results] == ["test_x.py::test_x[1-3]"]


def test_a_limited_suite_does_not_tell_its_tests_the_ids_of_rows(python_bench: PythonBench) -> None:
    """The id of a row has its expected value. Work that finds it in the process knows whether the row is changed."""
    text = (
        "import gc, pytest\n@pytest.mark.parametrize('a, b', [(1, 33)])\ndef test_x(a, b):\n    gc.unfreeze()\n"
        "    told = [str(one['among']) for one in gc.get_objects() if type(one) is dict and 'among' in one]\n"
        "    assert [one for one in told if '22' in one] == [] != told\n"
    )
    reported = python_bench({"test_x.py": text}, only=("test_x.py::test_x[1-22]",)).reported
    assert [(one.id, one.outcome, one.detail) for one in reported.results] == [
        ("test_x.py::test_x[1-33]", "passed", "")
    ]


def test_no_test_is_no_pass(python_bench: PythonBench) -> None:
    reported = python_bench({"test_x.py": ""}).reported
    assert not is_a_pass(reported)
    assert not reported.results


def test_a_runner_that_fails_although_no_test_did_is_a_problem(python_bench: PythonBench) -> None:
    conftest = "def pytest_sessionfinish(session): session.exitstatus = 9\n"
    reported = python_bench({"conftest.py": conftest, "test_x.py": "def test_x(): pass\n"}).reported
    assert reported.problems == ("the runner ended with exit 9 although no test failed",)


def test_a_contract_without_pytest_gets_a_message_where_to_install_it(python_bench: PythonBench) -> None:
    python_bench.home = python_bench.folder.parent / "empty"
    python_bench.home.mkdir()
    ran = python_bench({"test_x.py": "def test_x(): pass\n"})
    assert ran.finished.not_started == (
        "pytest is not installed for `python3` on the bench; install it in `setup`"
    )
    script = python_bench({}, "pytest -q")
    assert "pytest" in script.finished.not_started


def test_a_pytest_that_does_not_know_this_python_is_named_with_its_error(python_bench: PythonBench) -> None:
    (packages,) = python_bench.home.glob(".local/lib/*/site-packages")
    installed = str(packages.relative_to(python_bench.home) / "pytest.py")
    python_bench.home = planted(python_bench.folder.parent / "old", {installed: "import ast\nast.gone\n"})
    finished = python_bench({"test_x.py": "def test_x(): pass\n"}).finished
    assert finished.not_started == (
        "`python3` in the bench: pytest cannot be imported: AttributeError: module 'ast' has no attribute 'gone'"
    )
    assert b"in <module>" in finished.stderr.head


def test_the_script_is_run_by_the_interpreter_that_it_names(python_bench: PythonBench) -> None:
    files = {
        "bin/pytest": "#!/usr/bin/python3\nraise SystemExit('our driver runs instead')\n",
        "tests/test_x.py": "def test_x():\n    import sys, os\n    assert os.getcwd() not in sys.path\n",
    }
    (python_bench.folder / "bin").mkdir()
    (python_bench.folder / "bin" / "pytest").touch(0o755)
    ran = python_bench(files, "bin/pytest -q")
    assert is_a_pass(ran.reported), ran


def test_a_tree_that_is_its_own_runner_is_read_by_its_report(python_bench: PythonBench) -> None:
    """Its own copy of a part of pytest is what must be tested, and cannot be loaded before itself."""
    files = {
        "src/iniconfig/__init__.py": "raise ImportError('the copy of the tree')\n",
        "sub/test_x.py": "def test_a(): pass\nclass TestB:\n    def test_b(self): assert False\n",
    }
    reported = python_bench(files, own_modules=frozenset({"iniconfig"})).reported
    assert (reported.own_runner, reported.channel) == (True, "report_file")
    found = {one.id: one.outcome for one in reported.results}
    assert found == {"sub/test_x.py::test_a": "passed", "sub/test_x.py::TestB::test_b": "failed"}
    assert not reported.problems
    own = python_bench(files, "PYTHONPATH=src python3 -m pytest -q", own_modules=frozenset({"iniconfig"}))
    assert own.reported.problems[0] == "the tree's own runner left no report"


def test_a_module_with_the_name_of_an_unloaded_package_changes_nothing(python_bench: PythonBench) -> None:
    files = {"src/attr/__init__.py": "", "test_x.py": "def test_a(): pass\n"}
    reported = python_bench(files, own_modules=frozenset({"attr"})).reported
    assert (reported.own_runner, reported.channel) == (False, "reporter")
    assert is_a_pass(reported)


def test_every_failure_is_reported_and_only_the_first_show_their_code(python_bench: PythonBench) -> None:
    test = "def test_{0}():\n    wanted = {0}\n    assert wanted == 'nothing'\n"
    ran = python_bench({"test_x.py": "\n".join(test.format(number) for number in range(30))})
    described = ran.reported.results
    assert [one.outcome for one in described] == ["failed"] * 30
    assert described[29].detail == "AssertionError: assert 29 == 'nothing'"
    shown = ran.finished.stderr.text
    assert "wanted = 0\n" in shown
    assert "wanted = 29\n" not in shown
    assert "assert 29 == 'nothing'" in shown


def test_of_a_large_file_fewer_failures_show_their_code(python_bench: PythonBench) -> None:
    test = "def test_{0}():\n    wanted = {0}\n    assert wanted == 'nothing'\n"
    padding = "# " + 70_000 * "x" + "\n"
    ran = python_bench({"test_x.py": padding + "\n".join(test.format(number) for number in range(3))})
    assert [one.outcome for one in ran.reported.results] == ["failed"] * 3
    shown = ran.finished.stderr.text
    assert "wanted = 0\n" in shown
    assert "wanted = 1\n" not in shown
    assert "assert 1 == 'nothing'" in shown


def test_the_traceback_of_a_failure_in_one_line_begins_at_the_test(python_bench: PythonBench) -> None:
    hook = (
        "import sys\n\ndef pytest_exception_interact(call):\n"
        "    print([one.name for one in call.excinfo.traceback], file=sys.__stderr__)\n"
    )
    helper = "def check(number):\n    assert number == 'nothing'\n"
    tests = "\n".join(f"def test_{number}():\n    check({number})\n" for number in range(12))
    files = {"conftest.py": hook, "helper.py": helper, "test_x.py": f"from helper import check\n\n{tests}"}
    ran = python_bench(files)
    assert [one.outcome for one in ran.reported.results] == ["failed"] * 12
    shown = ran.finished.stderr.text
    assert "['test_11', 'check']" in shown
    assert "['test_0', 'check']" not in shown  # shown with its code: pytest's own traceback


def test_tests_find_the_garbage_collector_as_it_was_or_as_their_file_set_it(
    python_bench: PythonBench,
) -> None:
    usual = (
        "import gc\n\ndef test_a():\n    assert gc.get_threshold()[0] < 10000\n    assert gc.isenabled()\n"
    )
    own = "import gc\n\ngc.set_threshold(123)\n\ndef test_a():\n    assert gc.get_threshold()[0] == 123\n"
    assert is_a_pass(python_bench({"test_x.py": usual}).reported)
    assert is_a_pass(python_bench({"test_x.py": own}).reported)
