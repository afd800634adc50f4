"""Code under test that rebinds names of the tests or parts of the reporter: each is tampering, also when it is put back.

The tested function is slow or wrong in every case. The second half has tests that rebind names themselves: they pass.
"""

from __future__ import annotations

import pytest

from python_bench import PythonBench, is_a_pass

SANDBOXES = ["bubblewrap"]
SHOP = frozenset({"shop.py"})
PYTEST, UNITTEST = "python3 -m pytest -q", "python3 -m unittest"
BOTH = pytest.mark.parametrize("command", [PYTEST, UNITTEST], ids=["pytest", "unittest"])

# A test of a time limit, in which the tested function is slow by the clock of the machine.
TIMED = """import time
import unittest
from time import perf_counter

from helpers import near
from shop import add

LIMIT = 0.01


def measure(action):
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


class Fast(unittest.TestCase):
    def check(self, value, expected):
        self.assertEqual(value, expected)

    def test_module(self):
        begun = time.perf_counter()
        got = add(2, 3)
        elapsed = time.perf_counter() - begun
        self.check(got, 5)
        self.assertTrue(elapsed < LIMIT)

    def test_function(self):
        begun = perf_counter()
        add(2, 3)
        elapsed = perf_counter() - begun
        self.assertTrue(near(elapsed, 0, abs(LIMIT)))

    def test_helper(self):
        assert measure(lambda: add(2, 3)) < LIMIT
"""
HELPERS = "def near(a, b, most):\n    return abs(a - b) < most\n"
SLOW = "import sys, time\nwait = time.sleep\n\n\ndef add(a, b):\n    strike(sys._getframe(1))\n    wait(0.02)\n    return a + b\n\n\n"
CLOCK = """
class Clock:
    def __getattr__(self, name): return getattr(time, name)
    def perf_counter(self): return 0.0
"""
NAMES = "    while 'LIMIT' not in frame.f_globals: frame = frame.f_back\n    names = frame.f_globals\n"
REBINDING = {
    "the clock module": CLOCK + "def strike(frame):\n" + NAMES + "    names['time'] = Clock()\n",
    "the clock function": "def strike(frame):\n" + NAMES + "    names['perf_counter'] = lambda: 0.0\n",
    "a clock function of the interpreter": (
        "import itertools\ndef strike(frame):\n"
        + NAMES
        + "    names['perf_counter'] = itertools.repeat(0.0).__next__\n"
    ),
    "every clock at the import": (
        CLOCK
        + "frame = sys._getframe()\nwhile 'unittest' not in frame.f_globals or 'near' not in frame.f_globals:\n"
        "    frame = frame.f_back\nframe.f_globals['time'] = Clock()\nframe.f_globals['perf_counter'] = lambda: 0.0\n"
        "def strike(frame): pass\n"
    ),
    "the limit": "def strike(frame):\n" + NAMES + "    names['LIMIT'] = 100\n",
    "a helper of the module": "def strike(frame):\n" + NAMES + "    names['measure'] = lambda action: 0\n",
    "a helper that was imported": "def strike(frame):\n" + NAMES + "    names['near'] = lambda *a: True\n",
    "a name in the module of helpers": (
        "def strike(frame):\n    import helpers\n    helpers.near.__globals__['abs'] = lambda n: 0\n"
    ),
    "a builtin, for the test alone": "def strike(frame):\n" + NAMES + "    names['abs'] = lambda n: 100\n",
    "all builtins, for the test alone": (
        "def strike(frame):\n" + NAMES + "    names['__builtins__'] = dict(vars(__import__('builtins')))\n"
    ),
    "the code of a helper": (
        "def strike(frame):\n" + NAMES + "    names['measure'].__code__ = (lambda action: 0).__code__\n"
    ),
    "a method of the class of tests": (
        "def strike(frame):\n" + NAMES + "    names['Fast'].check = lambda *a: None\n"
    ),
    "an assertion, for the class of tests": (
        "def strike(frame):\n" + NAMES + "    names['Fast'].assertTrue = lambda *a: None\n"
    ),
    "an assertion, for one test": (
        "def strike(frame):\n"
        "    while 'self' not in frame.f_locals: frame = frame.f_back\n"
        "    frame.f_locals['self'].assertTrue = lambda *a: None\n"
    ),
    "an assertion, for one test, by another assertion": (
        "def strike(frame):\n"
        "    while 'self' not in frame.f_locals: frame = frame.f_back\n"
        "    test = frame.f_locals['self']\n"
        "    test.assertTrue = test.assertIsNotNone\n"
    ),
    "an assertion, for the class, by a function of the interpreter": (
        "def strike(frame):\n" + NAMES + "    names['Fast'].assertTrue = print\n"
        "    names['Fast'].check = names['unittest'].TestCase.assertLessEqual\n"
    ),
    "the code of a helper, by a library": (
        "import contextlib\ndef strike(frame):\n" + NAMES + "    with contextlib.ExitStack() as stack:\n"
        "        stack.callback(setattr, names['measure'], '__code__', (lambda action: 0).__code__)\n"
    ),
    "the clock, put back by itself": (
        "class Clock:\n"
        "    def __init__(self, names): self.names = names\n"
        "    def perf_counter(self):\n        self.names['time'] = time\n        return 0.0\n"
        "def strike(frame):\n" + NAMES + "    names['time'] = Clock(names)\n"
    ),
    "an assertion of everybody, put back by itself": (
        "import unittest\nreal = unittest.TestCase.assertTrue\n"
        "def calm(*a): unittest.TestCase.assertTrue = real\n"
        "def strike(frame): unittest.TestCase.assertTrue = calm\n"
    ),
    "the code of an assertion, put back by itself": (
        "import unittest\nreal = unittest.TestCase.assertTrue.__code__\n"
        "def calm(self, expr, msg=None): type(self).assertTrue.__code__ = CODE\n"
        "def strike(frame):\n"
        "    unittest.TestCase.assertTrue.__globals__['CODE'] = real\n"
        "    unittest.TestCase.assertTrue.__code__ = calm.__code__\n"
    ),
}


@BOTH
@pytest.mark.parametrize("code", REBINDING.values(), ids=REBINDING)
def test_rebinding_what_the_tests_use_is_tampering(
    python_bench: PythonBench, command: str, code: str
) -> None:
    files = {"shop.py": SLOW + code, "tests/helpers.py": HELPERS, "tests/test_fast.py": TIMED}
    command = f"PYTHONPATH=tests {command}" + (" tests.test_fast" if command == UNITTEST else "")
    ran = python_bench(files, command, changed=SHOP)
    assert ran.reported.tampering, ran.reported
    assert not is_a_pass(ran.reported)


def test_the_report_says_which_name_of_which_file_was_rebound(python_bench: PythonBench) -> None:
    files = {"shop.py": SLOW + REBINDING["the clock module"], "helpers.py": HELPERS, "test_fast.py": TIMED}
    reported = python_bench(files, changed=SHOP).reported
    assert reported.tampering == ("`time` in test_fast.py was rebound",)


TEST = "import unittest\nfrom shop import add\n\nclass Adds(unittest.TestCase):\n    def test_adds(self): self.assertEqual(add(2, 3), 5)\n"
FIND = """
import sys
def reporters():
    import gc
    gc.unfreeze()
    return [one for one in gc.get_objects() if type(one).__name__ in ("Watcher", "Watched")]
def add(a, b):
    strike()
    return a - b
"""
QUIET = """
def quiet(real):
    def say(*words):
        if words[0] not in ("tampering", "problem", "raised"):
            real(*(("finish", words[1], "passed", "") if words[0] == "finish" else words))
    return say
"""
ON_THE_REPORTER = {
    "what it says": (QUIET + "def strike():\n    for one in reporters(): one.say = quiet(one.say)\n"),
    "what it says, in its dictionary": (
        QUIET + "def strike():\n    for one in reporters(): vars(one)['say'] = quiet(one.say)\n"
    ),
    "what it says, for the class": (
        QUIET + "def strike():\n"
        "    for one in reporters():\n        say = quiet(one.say)\n        type(one).say = property(lambda self: say)\n"
    ),
    "its notes": (
        "def strike():\n    for one in reporters():\n"
        "        if type(one).__name__ == 'Watcher':\n            one.now.worse = lambda *a: None\n"
        "        else:\n            one.addFailure = lambda test, error: one.addSuccess(test)\n"
    ),
    "the class of its notes": (
        "def strike():\n    for one in reporters():\n"
        "        if type(one).__name__ == 'Watcher':\n"
        "            class Better(type(one.now)):\n                __slots__ = ()\n"
        "                def worse(self, *a): pass\n                def verdict(self): return 'passed', ''\n"
        "            one.now.__class__ = Better\n"
        "        else:\n"
        "            class Best(type(one)):\n                def addFailure(self, test, error): self.addSuccess(test)\n"
        "            one.__class__ = Best\n"
    ),
    "its way to see a phase": (
        "def strike():\n    for one in reporters(): one.phase = one.became = lambda *a: None\n"
    ),
    "failures as successes, put back by itself": (
        "def strike():\n    for one in reporters():\n"
        "        def calm(test, error):\n            del one.addFailure\n            one.addSuccess(test)\n"
        "        one.addFailure = calm\n"
    ),
    "the count of failures": (
        "class Zero(int):\n    def __add__(self, other): return self\n"
        "def strike():\n    import gc\n    for one in gc.get_objects():\n"
        "        if type(one).__name__ == 'Session': one.testsfailed = Zero(0)\n"
    ),
}


@BOTH
@pytest.mark.parametrize("code", ON_THE_REPORTER.values(), ids=ON_THE_REPORTER)
def test_rebinding_parts_of_the_reporter_is_no_pass(
    python_bench: PythonBench, command: str, code: str
) -> None:
    ran = python_bench({"shop.py": FIND + code, "test_x.py": TEST}, command, changed=SHOP)
    assert not is_a_pass(ran.reported), ran.reported


def test_the_garbage_collector_does_not_show_the_reporter(python_bench: PythonBench) -> None:
    code = FIND.replace("    gc.unfreeze()\n", "") + "def strike(): assert reporters() == []\n"
    ran = python_bench({"shop.py": code.replace("a - b", "a + b"), "test_x.py": TEST}, changed=SHOP)
    assert is_a_pass(ran.reported), ran.reported


def test_a_test_that_raised_cannot_be_reported_as_passed(python_bench: PythonBench) -> None:
    """The supervisor has heard of the exception before the code under test can change what is noted about it."""
    code = (
        "import gc, sys\ngc.unfreeze()\nTold = next(one for one in gc.get_objects() if type(one) is type and one.__name__ == 'Told')\n"
        "class Quiet(Exception):\n    def __str__(self):\n        for one in list(gc.get_objects()):\n"
        "            if type(one) is CaseOutcome: one.outcome = 'passed'; one.pending = None\n        return ''\n"
        "def add(a, b): raise Quiet\n"
    )
    ran = python_bench({"shop.py": code, "test_x.py": TEST}, changed=SHOP)
    assert not is_a_pass(ran.reported), ran.reported


GOOD = "def add(a, b):\n    return a + b\n"
HONEST = {
    "a global counter": (
        "counter = 0\ndef bump():\n    global counter\n    counter += 1\n"
        "def test_a():\n    bump()\n    assert add(1, counter) == 2\ndef test_b():\n    bump()\n    assert counter == 2\n"
    ),
    "a fixture that binds a global": (
        "import pytest\nshop = None\n@pytest.fixture(autouse=True)\ndef bound():\n    global shop\n    import shop\n    yield\n    shop = None\n"
        "def test_a(): assert shop.add(1, 2) == 3\n"
    ),
    "setup_module": (
        "client = None\ndef setup_module(module):\n    module.client = add\ndef test_a(): assert client(1, 2) == 3\n"
    ),
    "mock.patch of a name of its own": (
        "import time\nfrom unittest import mock\n@mock.patch('test_x.time')\ndef test_a(clock):\n"
        "    clock.time.return_value = 7\n    assert time.time() == 7\n@mock.patch(__name__ + '.add', lambda a, b: 0)\n"
        "def test_b(): assert add(1, 2) == 0\ndef test_c():\n    with mock.patch(f'{__name__}.time'): assert time.time() != 7\n"
    ),
    "monkeypatch of a name of its own": (
        "import sys, time\nclass Clock:\n    def time(self): return 7\n"
        "def test_a(monkeypatch):\n    monkeypatch.setattr(sys.modules[__name__], 'time', Clock())\n    assert time.time() == 7\n"
        "def test_b(monkeypatch):\n    monkeypatch.setitem(globals(), 'add', lambda a, b: 0)\n    assert add(1, 2) == 0\n"
        "def test_c(request, monkeypatch):\n    monkeypatch.setattr(request.module, 'add', max)\n    assert add(1, 2) == 2\n"
    ),
    "a clock that stands still in the test": (
        "import time\nimport datetime\nfrom unittest import mock\nimport pytest\n@pytest.fixture\ndef still(monkeypatch):\n"
        "    monkeypatch.setattr(time, 'time', lambda: 7.0)\n    monkeypatch.setattr('time.perf_counter', lambda: 7.0)\n"
        "def test_a(still): assert time.time() == 7 == time.perf_counter()\n"
        "def test_b():\n    with mock.patch('time.time', return_value=7), mock.patch.object(time, 'sleep'): assert time.time() == 7\n"
        "def test_c():\n    with mock.patch('builtins.open'), mock.patch('builtins.print'): print(open('x'))\n"
    ),
    "tests made in a loop": (
        "for n in range(3):\n    def made(n=n): assert add(n, 1) == n + 1\n    globals()['test_%d' % n] = made\n"
    ),
    "warnings": (
        "import unittest, warnings\nclass A(unittest.TestCase):\n    def test_a(self):\n        warnings.warn('x')\n"
        "    def test_b(self):\n        with self.assertWarns(UserWarning): warnings.warn('y')\n"
        "def test_c():\n    warnings.warn('z')\n"
    ),
    "a lazy module that replaces itself": (
        "import importlib\nclass Lazy:\n    def __init__(self, name, names): self.__dict__.update(name=name, names=names)\n"
        "    def __getattr__(self, at):\n        self.names[self.name] = found = importlib.import_module(self.name)\n        return getattr(found, at)\n"
        "json = Lazy('json', globals())\ndef test_a(): assert json.dumps(add(1, 1)) == '2'\n"
    ),
    "names that the module imports twice": (
        "from time import time\nimport time\ntry:\n    import simplejson as json\nexcept ImportError:\n    import json\n"
        "import os.path as path, os\nfrom unittest import (\n    TestCase,  # a comment\n    mock,\n)\nfrom os import path as p, getcwd\n"
        "def test_a(): assert path is p is os.path and time.time() and json and mock and TestCase and getcwd()\n"
    ),
    "classes with attributes and methods that change": (
        "import unittest\nfrom unittest import mock\nclass A(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        cls.client = lambda *a: 1\n"
        "        cls.helper = staticmethod(lambda: 7)\n        unittest.TestCase.maxDiff = None\n"
        "    def helper(self): return 1\n    def setUp(self):\n        self.assertNear = self.assertAlmostEqual\n        self.fail = lambda *a: None\n"
        "    def test_a(self):\n        self.assertEqual(self.helper(), 7)\n        self.fail()\n"
        "    def test_b(self):\n        with mock.patch.object(A, 'helper', return_value=3):\n            self.assertEqual(self.helper(), 3)\n"
        "        with mock.patch.object(self, 'assertNear'): self.assertNear(1, 2)\n"
    ),
    "a helper whose code is replaced by the test": (
        "def helper(): return 1\ndef test_a():\n    helper.__code__ = (lambda: add(1, 1)).__code__\n    assert helper() == 2\n"
    ),
    "a subtest, an expected failure and a raised skip": (
        "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        for n in (1, 2):\n            with self.subTest(n=n): self.assertEqual(add(n, 0), n)\n"
        "    @unittest.expectedFailure\n    def test_b(self): self.assertEqual(add(1, 1), 3)\n"
        "    def test_c(self): self.skipTest('not here')\n"
    ),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_what_tests_rebind_themselves_is_no_tampering(python_bench: PythonBench, text: str) -> None:
    ran = python_bench({"shop.py": GOOD, "test_x.py": "from shop import add\n" + text}, changed=SHOP)
    assert is_a_pass(ran.reported), ran


CONFTEST = """import pytest
import helpers

@pytest.fixture(autouse=True)
def named(request, monkeypatch):
    monkeypatch.setattr(request.module, "name", request.node.name, raising=False)
    monkeypatch.setattr(helpers, "LEVEL", 3)
"""


def test_what_a_conftest_rebinds_is_no_tampering(python_bench: PythonBench) -> None:
    test = "import helpers\nname = None\ndef test_a():\n    assert name == 'test_a' and helpers.LEVEL == 3\n"
    files = {
        "tests/conftest.py": CONFTEST,
        "tests/helpers.py": "LEVEL = 1\n",
        "tests/test_x.py": test,
        "shop.py": GOOD,
    }
    ran = python_bench(files, changed=SHOP)
    assert is_a_pass(ran.reported), ran


def test_code_under_test_may_rebind_names_of_the_program(python_bench: PythonBench) -> None:
    """A setting of another module, whose file the change left alone."""
    files = {
        "settings.py": "LEVEL = 1\n",
        "shop.py": "import settings\ndef add(a, b):\n    settings.LEVEL += 1\n    settings.add = add\n    return a + b\n",
        "test_x.py": "import settings\nfrom shop import add\ndef test_a(): assert add(1, 1) == settings.LEVEL == 2\n",
    }
    ran = python_bench(files, changed=SHOP)
    assert is_a_pass(ran.reported), ran


LIBRARY_TEST = """import unittest

import colorsys
from os.path import exists

from shop import report


class Report(unittest.TestCase):
    def test_is_written(self):
        self.assertTrue(exists(report()))

    def test_grey(self):
        self.assertEqual(colorsys.rgb_to_hsv(0.5, 0.5, 0.5)[1], 0.0)
"""
PATCHED = {
    "a function by a lambda": "import os.path\nos.path.exists = lambda path: True\n",
    "a function that the tests name": "import colorsys\ncolorsys.rgb_to_hsv = lambda *parts: (0, 0.0, 0)\n",
    "a function by an object": (
        "import colorsys\nclass Any:\n    def __call__(self, *parts): return (0, 0.0, 0)\ncolorsys.rgb_to_hsv = Any()\n"
    ),
    "a function by a partial": (
        "import colorsys, functools\ndef fine(*parts): return (0, 0.0, 0)\n"
        "colorsys.rgb_to_hsv = functools.partial(fine)\n"
    ),
}


@BOTH
@pytest.mark.parametrize("how", PATCHED)
def test_a_library_function_that_the_change_replaces_is_tampering(
    how: str, command: str, python_bench: PythonBench
) -> None:
    """The tests check with the library; what the change puts in its place finds everything fine."""
    work = PATCHED[how] + "\n\ndef report():\n    return '/nowhere'\n"
    reported = python_bench(
        {"shop.py": work, "test_shop.py": LIBRARY_TEST}, f"{command} test_shop.py", changed=SHOP
    ).reported
    assert any("was replaced by the code under test" in one for one in reported.tampering), reported


@BOTH
def test_a_library_function_that_a_test_replaces_is_its_own_business(
    command: str, python_bench: PythonBench
) -> None:
    text = LIBRARY_TEST + "\n\ncolorsys.rgb_to_hsv = lambda *parts: (0, 0.0, 0)\n"
    files = {"shop.py": "def report():\n    return '/'\n", "test_shop.py": text}
    assert is_a_pass(python_bench(files, f"{command} test_shop.py", changed=SHOP).reported)
